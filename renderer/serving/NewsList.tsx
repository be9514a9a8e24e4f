import { useServing } from './servingStore.ts';

const SHOWN = 12;

/** What happened last to members and pipelines. */
export function NewsList() {
  const news = useServing((store) => store.news);
  if (news.length === 0) return null;
  return (
    <section className="card" aria-label="What happened">
      <h2>What happened</h2>
      <ol className="news" aria-live="polite">
        {news.slice(0, SHOWN).map(({ at, text, tone }) => (
          <li key={`${at} ${text}`} data-tone={tone}>
            <time className="quiet small number" dateTime={new Date(at).toISOString()}>
              {new Date(at).toLocaleTimeString([], { timeStyle: 'medium' })}
            </time>
            <span>{text}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
