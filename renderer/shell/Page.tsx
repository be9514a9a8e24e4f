import { type ReactNode, useEffect } from 'react';

interface PageProps {
  title: string;
  /** Beside the title. */
  actions?: ReactNode;
  /** Whether the page divides the height of the window itself instead of scrolling as a whole. */
  fills?: boolean;
  children: ReactNode;
}

/** The frame of every page: its title, what one can do there, and its content. */
export function Page({ title, actions, fills = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Roomful`;
  }, [title]);
  return (
    <main className="page">
      <div className="page-head">
        <div className="page-head-content">
          <h1>{title}</h1>
          <div className="row page-actions">{actions}</div>
        </div>
      </div>
      {fills ? (
        <div className="page-fill">{children}</div>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable with the keyboard
        <section className="page-scroll" aria-label={title} tabIndex={0}>
          <div className="page-content">{children}</div>
        </section>
      )}
    </main>
  );
}
