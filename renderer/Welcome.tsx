interface WelcomeProps {
  view: 'idle' | 'connecting' | 'locked';
}

/** Says what to do next while there is nothing to show. */
export function Welcome({ view }: WelcomeProps) {
  return (
    <main className="welcome">
      {view === 'idle' && (
        <>
          <h2>No model is serving yet</h2>
          <p>Serve a model on this machine and on its neighbours; its layers and a chat will appear here.</p>
          <p>To try it now with the small model that comes along, run this in the folder of Roomful:</p>
          <pre>npm run demo</pre>
        </>
      )}
      {view === 'connecting' && <p className="quiet">Waiting for the member on this machine …</p>}
      {view === 'locked' && (
        <>
          <h2>This page needs a fresh link</h2>
          <p>
            A link opens the window once, so that nobody else on this machine can use it after you. Copy the newest link
            that Roomful printed, or start it again for another one.
          </p>
        </>
      )}
    </main>
  );
}
