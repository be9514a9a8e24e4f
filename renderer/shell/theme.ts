import { create } from 'zustand';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const KEY = 'roomful-theme';

/** How the window looks; kept by the browser. */
export const useTheme = create<{ theme: Theme }>()(() => ({ theme: keptTheme() }));

export function chooseTheme(theme: Theme): void {
  useTheme.setState({ theme });
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // A browser that keeps nothing shows the choice until it is closed.
  }
  showTheme();
}

/** Lets the page take on the colours that were chosen; `system` follows the machine. */
export function showTheme(): void {
  const { theme } = useTheme.getState();
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function keptTheme(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return themes.find((theme) => theme === kept) ?? 'system';
  } catch {
    return 'system';
  }
}
