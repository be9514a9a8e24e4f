import { useSyncExternalStore } from 'react';
import type { IconName } from '../controls/Icon.tsx';

export const pages = [
  { id: 'pool', name: 'Pool', icon: 'pool' },
  { id: 'planner', name: 'Planner', icon: 'planner' },
  { id: 'models', name: 'Models', icon: 'models' },
  { id: 'chat', name: 'Chat', icon: 'chat' },
  { id: 'endpoint', name: 'Endpoint', icon: 'endpoint' },
  { id: 'settings', name: 'Settings', icon: 'settings' },
  { id: 'logs', name: 'Logs', icon: 'logs' },
] as const satisfies readonly { id: string; name: string; icon: IconName }[];

export type PageId = (typeof pages)[number]['id'];

/** What the fragment of the address says: `#/planner?room=...`. */
export interface Route {
  page: PageId;
  query: URLSearchParams;
}

/** Reads a fragment; what is not a page is the pool. */
export function parseRoute(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#\/?/, '').split('?', 2);
  const page = pages.find(({ id }) => id === path)?.id ?? 'pool';
  return { page, query: new URLSearchParams(query) };
}

export function hrefOf(page: PageId): string {
  return `#/${page}`;
}

/** Shows another page. */
export function goTo(page: PageId): void {
  window.location.hash = hrefOf(page);
}

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener);
  return () => window.removeEventListener('hashchange', listener);
}

export function usePage(): PageId {
  return useSyncExternalStore(subscribe, () => parseRoute(window.location.hash).page);
}
