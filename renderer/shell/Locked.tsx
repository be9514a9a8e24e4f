import { Empty } from '../controls/Empty.tsx';

/** Instead of every page, until this browser has opened a fresh link. */
export function Locked() {
  return (
    <main className="page locked">
      <h1 className="for-screen-readers">Roomful</h1>
      <Empty icon="close" title="This page needs a fresh link">
        <p>
          A link opens the window once, so that nobody else on this machine can use it after you. Copy the newest link
          that Roomful printed, or run <code>roomful up --open</code> for another one.
        </p>
      </Empty>
    </main>
  );
}
