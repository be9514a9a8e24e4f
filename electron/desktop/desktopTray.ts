import { join } from 'node:path';
import { Menu, type MenuItemConstructorOptions, type NativeImage, nativeImage, Tray } from 'electron';
import type { TrayAction, TrayItem, TrayState, TrayView } from './trayView.ts';

export interface DesktopTrayOptions {
  /** Folder with `trayIdle.png` and the like, each with an `@2x` beside it. */
  icons: string;
  onAction(action: TrayAction): void;
}

/** The icon in the tray and its menu. */
export class DesktopTray {
  readonly #tray: Tray;
  readonly #images: Record<TrayState, NativeImage>;
  readonly #onAction: DesktopTrayOptions['onAction'];
  #shown = '';

  constructor({ icons, onAction }: DesktopTrayOptions) {
    this.#images = trayImages(icons);
    this.#onAction = onAction;
    this.#tray = new Tray(this.#images.idle);
    // On macOS a click opens the menu.
    if (process.platform !== 'darwin') this.#tray.on('click', () => onAction('open'));
  }

  /** Shows another view; a menu that is open is left alone where nothing has changed. */
  show(view: TrayView): void {
    const text = JSON.stringify(view);
    if (text === this.#shown) return;
    this.#shown = text;
    this.#tray.setImage(this.#images[view.state]);
    this.#tray.setToolTip(view.title);
    this.#tray.setContextMenu(Menu.buildFromTemplate(view.items.map((item) => this.#menuItem(item))));
  }

  #menuItem(item: TrayItem): MenuItemConstructorOptions {
    if (item.kind === 'rule') return { type: 'separator' };
    if (item.kind === 'line') return { label: item.label, enabled: false };
    return { label: item.label, click: () => this.#onAction(item.action) };
  }
}

function trayImages(icons: string): Record<TrayState, NativeImage> {
  const image = (state: TrayState) => nativeImage.createFromPath(join(icons, trayImageName(state)));
  return {
    noPool: image('noPool'),
    idle: image('idle'),
    serving: image('serving'),
    working: image('working'),
    problem: image('problem'),
  };
}

/** On macOS a template image, which the system colours for light and dark menu bars. */
function trayImageName(state: TrayState): string {
  const template = process.platform === 'darwin' ? 'Template' : '';
  return `tray${state.charAt(0).toUpperCase()}${state.slice(1)}${template}.png`;
}
