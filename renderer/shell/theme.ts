import { create } from 'zustand';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const KEY = 'roomful-theme';
const YEAR_S = 365 * 24 * 3600;

/** How the window looks; kept by the browser, in a cookie, since the port of the page may be another at every start. */
export const useTheme = create<{ theme: Theme }>()(() => ({ theme: keptTheme() }));

export function chooseTheme(theme: Theme): void {
  useTheme.setState({ theme });
  // biome-ignore lint/suspicious/noDocumentCookie: the theme is wanted before the first paint, and CookieStore is asynchronous
  document.cookie = `${KEY}=${theme}; Max-Age=${YEAR_S}; Path=/; SameSite=Strict`;
  showTheme();
}

/** Lets the page take on the colours that were chosen; `system` follows the machine. */
export function showTheme(): void {
  const { theme } = useTheme.getState();
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function keptTheme(): Theme {
  const kept = new RegExp(`(?:^|; )${KEY}=(\\w+)`).exec(document.cookie)?.[1];
  return themes.find((theme) => theme === kept) ?? 'system';
}
