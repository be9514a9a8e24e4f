/** Pages of the window that the shell leads to. */
export type PageName = 'pool' | 'models' | 'chat' | 'logs';

/** What the window asks as soon as the page is there. */
export type PageQuestion = 'join';

/** The address of a page of the window: `http://127.0.0.1:4141/#/pool?ask=join`. */
export function pageLink(origin: string, page?: PageName, ask?: PageQuestion): string {
  if (page === undefined) return `${origin}/`;
  return `${origin}/#/${page}${ask === undefined ? '' : `?ask=${ask}`}`;
}
