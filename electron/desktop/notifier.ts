import { Notification } from 'electron';
import type { DesktopNews } from './desktopNews.ts';

export interface NotifierOptions {
  icon: string;
  /** Whether somebody wants to be told now. */
  isWanted(): boolean;
  onClick(news: DesktopNews): void;
}

/** More than this at once is a flood that helps nobody. */
const MOST_AT_ONCE = 3;

/** Tells news by the system's own notifications. */
export class Notifier {
  readonly #options: NotifierOptions;
  /** Or they would be forgotten, with their clicks, before anybody sees them. */
  readonly #shown = new Set<Notification>();

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  tell(news: readonly DesktopNews[]): void {
    const { icon, isWanted, onClick } = this.#options;
    if (news.length === 0 || !isWanted() || !Notification.isSupported()) return;
    for (const one of news.slice(0, MOST_AT_ONCE)) {
      const notification = new Notification({ title: one.title, body: one.body, icon });
      this.#shown.add(notification);
      notification.on('click', () => {
        this.#shown.delete(notification);
        onClick(one);
      });
      notification.on('close', () => this.#shown.delete(notification));
      notification.show();
    }
  }
}
