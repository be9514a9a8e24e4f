import { BrowserWindow, nativeTheme, screen } from 'electron';
import { CrashLimit } from './crashLimit.ts';
import { ask, reportFailure } from './dialogs.ts';
import { type PageName, type PageQuestion, pageLink } from './pageLink.ts';
import { LEAST_SIZE, type WindowPlace, windowBounds } from './windowPlace.ts';

export interface MainWindowOptions {
  /** Origin of the gateway that serves the page. */
  origin: string;
  /** The bundled preload script. */
  preload: string;
  icon: string;
  /** Where it was when it was seen last. */
  place: WindowPlace | null;
  /** It is somewhere else now. */
  onPlace(place: WindowPlace): void;
  /** While true, closing the window only hides it: the tray brings it back. */
  hidesOnClose(): boolean;
  onHidden(): void;
  /** Windows ends the session: there is no time for questions. */
  onSessionEnd(): void;
}

/** The one window; it is made when it is first shown and brought to the front afterwards. */
export class MainWindow {
  readonly #options: MainWindowOptions;
  readonly #crashes = new CrashLimit();
  #window: BrowserWindow | null = null;
  #place: WindowPlace | null;

  constructor(options: MainWindowOptions) {
    this.#options = options;
    this.#place = options.place;
  }

  /** Whether somebody looks at it. */
  get isFocused(): boolean {
    return this.#window?.isFocused() ?? false;
  }

  /** Brings it to the front, on a page where one is named. Rejects when the page cannot be loaded; the next call tries again. */
  async show(page?: PageName, question?: PageQuestion): Promise<void> {
    const { origin } = this.#options;
    const window = this.#window;
    if (window === null) {
      await this.#open(pageLink(origin, page, question));
      return;
    }
    if (window.isMinimized()) window.restore();
    window.show();
    window.focus();
    if (page !== undefined) await window.loadURL(pageLink(origin, page, question));
  }

  async #open(link: string): Promise<void> {
    const { origin, preload, icon } = this.#options;
    const main = screen.getPrimaryDisplay();
    const others = screen.getAllDisplays().filter(({ id }) => id !== main.id);
    const window = new BrowserWindow({
      title: 'Roomful',
      icon,
      ...windowBounds(
        this.#place,
        [main, ...others].map(({ workArea }) => workArea),
      ),
      minWidth: LEAST_SIZE.width,
      minHeight: LEAST_SIZE.height,
      show: false,
      autoHideMenuBar: true,
      // The page's own ground colour, so that it does not flash while it loads.
      backgroundColor: nativeTheme.shouldUseDarkColors ? '#16181c' : '#f4f3f0',
      webPreferences: { preload, sandbox: true, contextIsolation: true, nodeIntegration: false, webviewTag: false },
    });
    this.#window = window;
    if (this.#place?.maximized) window.maximize();
    this.#follow(window);
    try {
      await window.loadURL(link);
    } catch (cause) {
      window.destroy();
      throw new Error(`The window could not be loaded from ${origin}; is another program using that port?`, { cause });
    }
  }

  #follow(window: BrowserWindow): void {
    const { hidesOnClose, onHidden, onSessionEnd } = this.#options;
    const notePlace = () => this.#notePlace(window);
    window.once('ready-to-show', () => window.show());
    // Not while it is moved: these come once it rests, or as often as the system says on Linux.
    window.on('resized', notePlace);
    window.on('moved', notePlace);
    window.on('maximize', notePlace);
    window.on('unmaximize', notePlace);
    window.on('close', (event) => {
      notePlace();
      if (!hidesOnClose()) return;
      event.preventDefault();
      window.hide();
      onHidden();
    });
    window.on('closed', () => {
      this.#window = null;
    });
    window.on('session-end', onSessionEnd);
    window.webContents.on('render-process-gone', (_event, { reason }) => {
      if (reason !== 'clean-exit') this.#recover(window).catch(reportFailure);
    });
    this.#watchResponse(window);
  }

  #notePlace(window: BrowserWindow): void {
    this.#place = { bounds: window.getNormalBounds(), maximized: window.isMaximized() };
    this.#options.onPlace(this.#place);
  }

  /** Loads a page that has crashed again; what it shows is the member's, so that nothing is lost. */
  async #recover(window: BrowserWindow): Promise<void> {
    if (!this.#crashes.mayReload(Date.now())) {
      const again = await ask({
        message: 'The window crashes again and again.',
        detail: 'What is being served goes on. The log may say why; the tray opens the window later.',
        action: 'Load It Again',
        otherwise: 'Close the Window',
      });
      if (!again) {
        window.destroy();
        return;
      }
      this.#crashes.forget();
    }
    if (!window.isDestroyed()) window.webContents.reload();
  }

  #watchResponse(window: BrowserWindow): void {
    let waiting: AbortController | null = null;
    window.on('unresponsive', () => {
      if (waiting !== null) return;
      const asked = new AbortController();
      waiting = asked;
      ask(
        {
          message: 'The window does not answer.',
          detail: 'What is being served goes on.',
          action: 'Load It Again',
          otherwise: 'Wait',
        },
        asked.signal,
      )
        .then((again) => {
          // Its end is handled like a crash, which loads it again.
          if (again && !window.isDestroyed()) window.webContents.forcefullyCrashRenderer();
        })
        .catch(reportFailure)
        .finally(() => {
          waiting = null;
        });
    });
    window.on('responsive', () => waiting?.abort());
  }
}
