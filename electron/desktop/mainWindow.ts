import { BrowserWindow, nativeTheme } from 'electron';
import { guardContents } from './guardContents.ts';

export interface MainWindowOptions {
  /** Origin of the gateway that serves the page. */
  origin: string;
  /** The bundled preload script. */
  preload: string;
  icon: string;
  /** While true, closing the window only hides it: the tray brings it back. */
  hidesOnClose(): boolean;
}

/** The one window; it is made when it is first shown and brought to the front afterwards. */
export class MainWindow {
  readonly #options: MainWindowOptions;
  #window: BrowserWindow | null = null;

  constructor(options: MainWindowOptions) {
    this.#options = options;
  }

  /** Rejects when the page cannot be loaded; the next call tries again. */
  async show(): Promise<void> {
    if (this.#window !== null) {
      if (this.#window.isMinimized()) this.#window.restore();
      this.#window.show();
      this.#window.focus();
      return;
    }
    const { origin, preload, icon, hidesOnClose } = this.#options;
    const window = new BrowserWindow({
      title: 'Roomful',
      icon,
      width: 1180,
      height: 780,
      minWidth: 720,
      minHeight: 480,
      show: false,
      autoHideMenuBar: true,
      // The page's own ground colour, so that it does not flash while it loads.
      backgroundColor: nativeTheme.shouldUseDarkColors ? '#16181c' : '#f4f3f0',
      webPreferences: { preload, sandbox: true, contextIsolation: true, nodeIntegration: false, webviewTag: false },
    });
    this.#window = window;
    guardContents(window.webContents, origin);
    window.once('ready-to-show', () => window.show());
    window.on('close', (event) => {
      if (!hidesOnClose()) return;
      event.preventDefault();
      window.hide();
    });
    window.on('closed', () => {
      this.#window = null;
    });
    try {
      await window.loadURL(`${origin}/`);
    } catch (cause) {
      window.destroy();
      throw new Error(`The window could not be loaded from ${origin}; is another program using that port?`, { cause });
    }
  }
}
