import { join } from 'node:path';
import { clipboard, Menu, nativeImage, Tray } from 'electron';
import type { MemberState } from '../gateway/memberApi.ts';
import type { MemberStateStore } from '../gateway/window/memberState.ts';
import { trayView } from './trayView.ts';

export interface TrayOptions {
  state: MemberStateStore;
  /** Folder with `trayIdle.png` and the like, each with an `@2x` beside it. */
  icons: string;
  onOpen(): void;
  onQuit(): void;
  onFailure(error: unknown): void;
}

/** The icon in the tray and its menu, kept up to date for as long as the app runs. */
export function showTray({ state, icons, onOpen, onQuit, onFailure }: TrayOptions): void {
  const images = { idle: trayImage(icons, 'Idle'), serving: trayImage(icons, 'Serving') };
  const tray = new Tray(images.idle);
  const copyEndpoint = () => {
    clipboard.writeText(state.state.endpoint).catch(onFailure);
  };
  const show = (now: MemberState) => {
    const view = trayView(now);
    tray.setImage(images[view.icon]);
    tray.setToolTip(view.title);
    tray.setContextMenu(
      Menu.buildFromTemplate([
        { label: view.title, enabled: false },
        { type: 'separator' },
        { label: 'Open Roomful', click: onOpen },
        { label: 'Copy Endpoint Address', click: copyEndpoint },
        { type: 'separator' },
        { label: 'Quit Roomful', click: onQuit },
      ]),
    );
  };
  show(state.state);
  state.onChange(show);
  // On macOS a click opens the menu.
  if (process.platform !== 'darwin') tray.on('click', onOpen);
}

/** On macOS a template image, which the system colours for light and dark menu bars. */
function trayImage(icons: string, name: string) {
  const template = process.platform === 'darwin' ? 'Template' : '';
  return nativeImage.createFromPath(join(icons, `tray${name}${template}.png`));
}
