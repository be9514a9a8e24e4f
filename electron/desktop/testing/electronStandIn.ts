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
  isPackaged = false;
  sandboxed = false;
  userModelId = '';
  /** Schemes whose links come to the app. */
  readonly schemes: string[] = [];
  /** As the system keeps them, by program and arguments. */
  readonly loginItems = new Set<string>();
  wasOpenedAtLogin = false;

  requestSingleInstanceLock(): boolean {
    return this.holdsLock;
  }

  async whenReady(): Promise<void> {}

  enableSandbox(): void {
    this.sandboxed = true;
  }

  setAppUserModelId(id: string): void {
    this.userModelId = id;
  }

  setAsDefaultProtocolClient(scheme: string): boolean {
    this.schemes.push(scheme);
    return true;
  }

  getAppPath(): string {
    return '/app';
  }

  getLoginItemSettings(entry: E.LoginItemSettingsOptions = {}): E.LoginItemSettings {
    const openAtLogin = this.loginItems.has(loginItem(entry));
    return {
      openAtLogin,
      wasOpenedAtLogin: this.wasOpenedAtLogin,
      status: openAtLogin ? 'enabled' : 'not-registered',
      executableWillLaunchAtLogin: openAtLogin,
      launchItems: [],
    };
  }

  setLoginItemSettings(settings: E.Settings): void {
    if (settings.openAtLogin) this.loginItems.add(loginItem(settings));
    else this.loginItems.delete(loginItem(settings));
  }

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

function loginItem({ path = '', args = [] }: { path?: string; args?: string[] }): string {
  return [path, ...args].join(' ');
}

export const app = new StandInApp() satisfies Pick<
  E.App,
  | 'requestSingleInstanceLock'
  | 'whenReady'
  | 'quit'
  | 'exit'
  | 'getPath'
  | 'isPackaged'
  | 'enableSandbox'
  | 'setAppUserModelId'
  | 'setAsDefaultProtocolClient'
  | 'getAppPath'
  | 'getLoginItemSettings'
  | 'setLoginItemSettings'
>;

type StorageBackend = ReturnType<E.SafeStorage['getSelectedStorageBackend']>;

type WindowOpenHandler = Parameters<E.WebContents['setWindowOpenHandler']>[0];

export class WebContents
  extends EventEmitter
  implements
    Pick<
      E.WebContents,
      'send' | 'isDestroyed' | 'getURL' | 'setWindowOpenHandler' | 'reload' | 'forcefullyCrashRenderer'
    >
{
  reloads = 0;
  readonly #load: (url: string) => Promise<void>;

  readonly mainFrame = { url: 'about:blank' };
  /** What main sent to the page: channel and message. */
  readonly sent: [channel: string, message: unknown][] = [];
  openHandler: WindowOpenHandler | null = null;
  destroyed = false;

  constructor(load: (url: string) => Promise<void>) {
    super();
    this.#load = load;
  }

  reload(): void {
    this.reloads += 1;
    this.#load(this.getURL()).catch(() => {});
  }

  forcefullyCrashRenderer(): void {
    this.crash('killed');
  }

  /** As if the process of the page had ended. */
  crash(reason: E.RenderProcessGoneDetails['reason']): void {
    this.emit('render-process-gone', {}, { reason, exitCode: 1 });
  }

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

  /** Main goes to `url`; another fragment of the same page does not load it anew. */
  async load(url: string): Promise<void> {
    const isSameDocument = url.includes('#') && url.split('#')[0] === this.mainFrame.url.split('#')[0];
    this.emit('did-start-navigation', { url, isMainFrame: true, isSameDocument });
    this.mainFrame.url = url;
    await this.#load(url);
  }
}

type WindowMethods =
  | 'loadURL'
  | 'show'
  | 'hide'
  | 'focus'
  | 'isFocused'
  | 'isMinimized'
  | 'isMaximized'
  | 'maximize'
  | 'getNormalBounds'
  | 'restore'
  | 'close'
  | 'destroy'
  | 'isDestroyed';

export class BrowserWindow extends EventEmitter implements Pick<E.BrowserWindow, WindowMethods> {
  readonly webContents = new WebContents((url) => standIn.loadPage(this, url));
  readonly options: E.BrowserWindowConstructorOptions;
  visible: boolean;
  focused = false;
  minimized = false;
  maximized = false;
  bounds: E.Rectangle;

  constructor(options: E.BrowserWindowConstructorOptions = {}) {
    super();
    this.options = options;
    this.visible = options.show ?? true;
    const { x = 0, y = 0, width = 800, height = 600 } = options;
    this.bounds = { x, y, width, height };
    standIn.windows.push(this);
    app.emit('web-contents-created', {}, this.webContents);
  }

  async loadURL(url: string): Promise<void> {
    await this.webContents.load(url);
    this.emit('ready-to-show');
  }

  isFocused(): boolean {
    return this.focused && this.visible;
  }

  isDestroyed(): boolean {
    return this.webContents.destroyed;
  }

  isMaximized(): boolean {
    return this.maximized;
  }

  maximize(): void {
    this.maximized = true;
  }

  getNormalBounds(): E.Rectangle {
    return this.bounds;
  }

  /** As if it had been dragged there. */
  moveTo(bounds: E.Rectangle): void {
    this.bounds = bounds;
    this.emit('moved');
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

  popup(): void {
    standIn.poppedUp = this;
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

/** A question on the screen, until somebody answers it. */
export class MessageBox {
  readonly options: E.MessageBoxOptions;
  readonly answered: Promise<E.MessageBoxReturnValue>;
  #answer: (value: E.MessageBoxReturnValue) => void = () => {};

  constructor(options: E.MessageBoxOptions) {
    this.options = options;
    this.answered = new Promise((resolve) => {
      this.#answer = resolve;
    });
    options.signal?.addEventListener('abort', () => this.#close(options.cancelId ?? 0));
  }

  /** As a click on the button that is labelled so. */
  choose(button: string): void {
    const index = this.options.buttons?.indexOf(button) ?? -1;
    if (index < 0) throw new Error(`The question '${this.options.message}' has no button '${button}'.`);
    this.#close(index);
  }

  #close(response: number): void {
    const at = standIn.messageBoxes.indexOf(this);
    if (at >= 0) standIn.messageBoxes.splice(at, 1);
    this.#answer({ response, checkboxChecked: false });
  }
}

export const dialog = {
  showErrorBox: (title: string, content: string) => {
    standIn.errorBoxes.push({ title, content });
  },
  showMessageBox: (...args: [E.BaseWindow, E.MessageBoxOptions] | [E.MessageBoxOptions]) => {
    const box = new MessageBox(args.length === 2 ? args[1] : args[0]);
    standIn.messageBoxes.push(box);
    return box.answered;
  },
} satisfies Pick<E.Dialog, 'showErrorBox' | 'showMessageBox'>;

export const shell = {
  openExternal: async (url: string) => {
    standIn.openedOutside.push(url);
  },
} satisfies Pick<E.Shell, 'openExternal'>;

export const screen = {
  getPrimaryDisplay: () => Object.assign(Object.create(null), standIn.displays[0]),
  getAllDisplays: () => standIn.displays.map((display) => Object.assign(Object.create(null), display)),
} satisfies Pick<E.Screen, 'getPrimaryDisplay' | 'getAllDisplays'>;

export const powerMonitor = new EventEmitter();

export class Notification extends EventEmitter implements Pick<E.Notification, 'show' | 'title' | 'body'> {
  readonly title: string;
  readonly body: string;

  static isSupported(): boolean {
    return standIn.notifies;
  }

  constructor({ title = '', body = '' }: E.NotificationConstructorOptions) {
    super();
    this.title = title;
    this.body = body;
  }

  show(): void {
    standIn.notifications.push(this);
  }
}

type PermissionRequestHandler = Parameters<E.Session['setPermissionRequestHandler']>[0];
type PermissionCheckHandler = Parameters<E.Session['setPermissionCheckHandler']>[0];

type DevicePermissionHandler = Parameters<E.Session['setDevicePermissionHandler']>[0];

export const session = {
  defaultSession: Object.assign(new EventEmitter(), {
    setPermissionRequestHandler: (handler: PermissionRequestHandler) => {
      standIn.permissionRequestHandler = handler;
    },
    setPermissionCheckHandler: (handler: PermissionCheckHandler) => {
      standIn.permissionCheckHandler = handler;
    },
    setDevicePermissionHandler: (handler: DevicePermissionHandler) => {
      standIn.devicePermissionHandler = handler;
    },
  } satisfies Pick<
    E.Session,
    'setPermissionRequestHandler' | 'setPermissionCheckHandler' | 'setDevicePermissionHandler'
  >),
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

const DISPLAY: { id: number; workArea: E.Rectangle } = { id: 1, workArea: { x: 0, y: 0, width: 1920, height: 1040 } };

/** What tests look at and turn. */
export const standIn = {
  storage: { isAvailable: true, backend: 'gnome_libsecret' as StorageBackend },
  windows: [] as BrowserWindow[],
  trays: [] as Tray[],
  errorBoxes: [] as { title: string; content: string }[],
  messageBoxes: [] as MessageBox[],
  notifies: true,
  notifications: [] as Notification[],
  openedOutside: [] as string[],
  displays: [DISPLAY],
  clipboard: '',
  applicationMenu: null as Menu | null,
  poppedUp: null as Menu | null,
  permissionRequestHandler: null as PermissionRequestHandler,
  permissionCheckHandler: null as PermissionCheckHandler,
  devicePermissionHandler: null as DevicePermissionHandler,
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
    powerMonitor.removeAllListeners();
    session.defaultSession.removeAllListeners();
    Object.assign(app, {
      holdsLock: true,
      exitCode: null,
      isPackaged: false,
      sandboxed: false,
      userModelId: '',
      wasOpenedAtLogin: false,
    });
    app.schemes.length = 0;
    app.loginItems.clear();
    Object.assign(standIn, {
      storage: { isAvailable: true, backend: 'gnome_libsecret' },
      windows: [],
      trays: [],
      errorBoxes: [],
      messageBoxes: [],
      notifies: true,
      notifications: [],
      openedOutside: [],
      displays: [DISPLAY],
      clipboard: '',
      applicationMenu: null,
      poppedUp: null,
      permissionRequestHandler: null,
      permissionCheckHandler: null,
      devicePermissionHandler: null,
      paths: {},
      loadPage: async () => {},
    });
  },
};
