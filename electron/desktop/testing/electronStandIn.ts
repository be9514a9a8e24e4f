/**
 * Stands in for 'electron' in tests (an alias of vitest), as far as desktop/ uses it. Every object is checked against
 * Electron's own types, so that it cannot offer what Electron does not. Tests drive it through `standIn`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter } from 'node:events';
import type * as E from 'electron';

/** An event whose default can be prevented, as Electron passes it. */
class PreventableEvent {
  defaultPrevented = false;
  preventDefault(): void {
    this.defaultPrevented = true;
  }
}

class StandInApp extends EventEmitter {
  /** False in a second instance. */
  holdsLock = true;
  /** Set once the app has ended. */
  exitCode: number | null = null;

  requestSingleInstanceLock(): boolean {
    return this.holdsLock;
  }

  async whenReady(): Promise<void> {}

  quit(): void {
    if (this.exitCode !== null) return;
    const event = new PreventableEvent();
    this.emit('before-quit', event);
    if (!event.defaultPrevented) this.exit(0);
  }

  exit(code = 0): void {
    if (this.exitCode !== null) return;
    this.exitCode = code;
    for (const window of [...standIn.windows]) window.destroy();
    this.emit('quit');
  }

  getPath(name: Parameters<E.App['getPath']>[0]): string {
    const path = standIn.paths[name];
    if (path === undefined) throw new Error(`The test set no path '${name}'.`);
    return path;
  }
}

export const app = new StandInApp() satisfies Pick<
  E.App,
  'requestSingleInstanceLock' | 'whenReady' | 'quit' | 'exit' | 'getPath'
>;

type StorageBackend = ReturnType<E.SafeStorage['getSelectedStorageBackend']>;

type WindowOpenHandler = Parameters<E.WebContents['setWindowOpenHandler']>[0];

export class WebContents
  extends EventEmitter
  implements Pick<E.WebContents, 'send' | 'isDestroyed' | 'getURL' | 'setWindowOpenHandler'>
{
  readonly mainFrame = { url: 'about:blank' };
  /** What main sent to the page: channel and message. */
  readonly sent: [channel: string, message: unknown][] = [];
  openHandler: WindowOpenHandler | null = null;
  destroyed = false;

  send(channel: string, message: unknown): void {
    this.sent.push([channel, message]);
    this.emit('stand-in:sent', channel, message);
  }

  isDestroyed(): boolean {
    return this.destroyed;
  }

  getURL(): string {
    return this.mainFrame.url;
  }

  setWindowOpenHandler(handler: WindowOpenHandler): void {
    this.openHandler = handler;
  }

  /** As if the page, or a link in it, went to `url`; false when that was prevented. */
  navigate(url: string): boolean {
    const event = Object.assign(new PreventableEvent(), { url });
    this.emit('will-frame-navigate', event);
    if (!event.defaultPrevented) this.#goTo(url);
    return !event.defaultPrevented;
  }

  #goTo(url: string): void {
    this.emit('did-start-navigation', { url, isMainFrame: true, isSameDocument: false });
    this.mainFrame.url = url;
  }
}

type WindowMethods = 'loadURL' | 'show' | 'hide' | 'focus' | 'isMinimized' | 'restore' | 'close' | 'destroy';

export class BrowserWindow extends EventEmitter implements Pick<E.BrowserWindow, WindowMethods> {
  readonly webContents = new WebContents();
  readonly options: E.BrowserWindowConstructorOptions;
  visible: boolean;
  focused = false;
  minimized = false;

  constructor(options: E.BrowserWindowConstructorOptions = {}) {
    super();
    this.options = options;
    this.visible = options.show ?? true;
    standIn.windows.push(this);
  }

  async loadURL(url: string): Promise<void> {
    this.webContents.emit('did-start-navigation', { url, isMainFrame: true, isSameDocument: false });
    this.webContents.mainFrame.url = url;
    await standIn.loadPage(this, url);
    this.emit('ready-to-show');
  }

  show(): void {
    this.visible = true;
  }

  hide(): void {
    this.visible = false;
  }

  focus(): void {
    this.focused = true;
  }

  isMinimized(): boolean {
    return this.minimized;
  }

  restore(): void {
    this.minimized = false;
  }

  /** As the close button does. */
  close(): void {
    const event = new PreventableEvent();
    this.emit('close', event);
    if (!event.defaultPrevented) this.destroy();
  }

  destroy(): void {
    this.webContents.destroyed = true;
    this.webContents.emit('destroyed');
    standIn.windows.splice(standIn.windows.indexOf(this), 1);
    this.emit('closed');
    if (standIn.windows.length === 0) app.emit('window-all-closed');
  }
}
export class Menu {
  items: E.MenuItemConstructorOptions[] = [];

  static buildFromTemplate(template: E.MenuItemConstructorOptions[]): Menu {
    const menu = new Menu();
    menu.items = template;
    return menu;
  }

  static setApplicationMenu(menu: Menu | null): void {
    standIn.applicationMenu = menu;
  }
}

export class Tray extends EventEmitter {
  image: string;
  toolTip = '';
  menu: Menu | null = null;

  constructor(image: { path: string }) {
    super();
    this.image = image.path;
    standIn.trays.push(this);
  }

  setImage(image: { path: string }): void {
    this.image = image.path;
  }

  setToolTip(toolTip: string): void {
    this.toolTip = toolTip;
  }

  setContextMenu(menu: Menu | null): void {
    this.menu = menu;
  }

  /** As a click on the item that is labelled so. */
  choose(label: string): void {
    const item = this.menu?.items.find((one) => one.label === label);
    if (item?.click === undefined) throw new Error(`The tray has no item '${label}' to click.`);
    Reflect.apply(item.click, undefined, []);
  }
}

export const nativeImage = { createFromPath: (path: string) => ({ path }) };

export const nativeTheme = { shouldUseDarkColors: false } satisfies Pick<E.NativeTheme, 'shouldUseDarkColors'>;

export const clipboard = {
  writeText: async (text: string) => {
    standIn.clipboard = text;
  },
} satisfies Pick<E.Clipboard, 'writeText'>;

export const dialog = {
  showErrorBox: (title: string, content: string) => {
    standIn.errorBoxes.push({ title, content });
  },
} satisfies Pick<E.Dialog, 'showErrorBox'>;

type PermissionRequestHandler = Parameters<E.Session['setPermissionRequestHandler']>[0];
type PermissionCheckHandler = Parameters<E.Session['setPermissionCheckHandler']>[0];

export const session = {
  defaultSession: {
    setPermissionRequestHandler: (handler: PermissionRequestHandler) => {
      standIn.permissionRequestHandler = handler;
    },
    setPermissionCheckHandler: (handler: PermissionCheckHandler) => {
      standIn.permissionCheckHandler = handler;
    },
  } satisfies Pick<E.Session, 'setPermissionRequestHandler' | 'setPermissionCheckHandler'>,
};

export const ipcMain = new EventEmitter();

/** A real child process with the manners of Electron's: its id is known once it runs, and it tells only its exit code. */
class UtilityProcess extends EventEmitter implements Pick<E.UtilityProcess, 'postMessage' | 'kill' | 'pid' | 'stderr'> {
  pid: number | undefined;
  readonly stderr: ChildProcess['stderr'];
  readonly #child: ChildProcess;

  constructor(path: string, args: string[], options: E.ForkOptions) {
    super();
    this.#child = fork(path, args, {
      execArgv: options.execArgv ?? [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.stderr = this.#child.stderr;
    this.#child.on('spawn', () => {
      this.pid = this.#child.pid;
      this.emit('spawn');
    });
    this.#child.on('message', (message) => this.emit('message', message));
    this.#child.on('close', (code) => {
      this.pid = undefined;
      this.emit('exit', code ?? 1);
    });
  }

  postMessage(message: object): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  kill(): boolean {
    return this.#child.kill();
  }
}

export const utilityProcess = {
  fork: (path: string, args: string[] = [], options: E.ForkOptions = {}) => new UtilityProcess(path, args, options),
};

/** What tests look at and turn. */
/** As the system's store; "seals" by turning the text around. */
export const safeStorage = {
  isEncryptionAvailable: () => standIn.storage.isAvailable,
  getSelectedStorageBackend: () => standIn.storage.backend,
  encryptString: (text) => Buffer.from([...text].reverse().join('')),
  decryptString: (sealed) => [...sealed.toString()].reverse().join(''),
} satisfies Pick<
  E.SafeStorage,
  'isEncryptionAvailable' | 'getSelectedStorageBackend' | 'encryptString' | 'decryptString'
>;

export const standIn = {
  storage: { isAvailable: true, backend: 'gnome_libsecret' as StorageBackend },
  windows: [] as BrowserWindow[],
  trays: [] as Tray[],
  errorBoxes: [] as { title: string; content: string }[],
  clipboard: '',
  applicationMenu: null as Menu | null,
  permissionRequestHandler: null as PermissionRequestHandler,
  permissionCheckHandler: null as PermissionCheckHandler,
  paths: {} as Record<string, string>,
  /** Shows the page somewhere; nowhere unless a test does. */
  loadPage: async (_window: BrowserWindow, _url: string): Promise<void> => {},

  /** A message of a page to main, from its main frame unless another is given. */
  sendToMain(sender: WebContents, channel: string, message: unknown, senderFrame: unknown = sender.mainFrame): void {
    ipcMain.emit(channel, { sender, senderFrame }, message);
  },

  /** As if the app had just been started. */
  reset(): void {
    for (const window of [...standIn.windows]) window.destroy();
    app.removeAllListeners();
    ipcMain.removeAllListeners();
    app.holdsLock = true;
    app.exitCode = null;
    Object.assign(standIn, {
      storage: { isAvailable: true, backend: 'gnome_libsecret' },
      windows: [],
      trays: [],
      errorBoxes: [],
      clipboard: '',
      applicationMenu: null,
      permissionRequestHandler: null,
      permissionCheckHandler: null,
      paths: {},
      loadPage: async () => {},
    });
  },
};
