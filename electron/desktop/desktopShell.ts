import { join } from 'node:path';
import { app, clipboard, session } from 'electron';
import type { Autostart } from './autostart.ts';
import { desktopApi } from './desktopApi.ts';
import type { DesktopMember } from './desktopMember.ts';
import { desktopNews } from './desktopNews.ts';
import { DesktopSettingsFile } from './desktopSettings.ts';
import { DesktopTray } from './desktopTray.ts';
import { ask, reportFailure } from './dialogs.ts';
import { offerEditMenu } from './editMenu.ts';
import { guardContents, guardSession } from './guardContents.ts';
import { KeptFile } from './keptFile.ts';
import type { LaunchRequest } from './launchRequest.ts';
import { MainWindow } from './mainWindow.ts';
import { followMember, type MemberSnapshot } from './memberSnapshot.ts';
import { Notifier } from './notifier.ts';
import { OpenRequests } from './openRequests.ts';
import type { PageName, PageQuestion } from './pageLink.ts';
import type { Quitting } from './quitting.ts';
import { type TrayAction, trayView } from './trayView.ts';
import type { Updater } from './updater.ts';
import { watchChildren } from './watchChildren.ts';
import { watchPower } from './watchPower.ts';
import { serveWindowOverIpc } from './windowIpc.ts';
import { windowPlaceSchema } from './windowPlace.ts';

export interface DesktopShellOptions {
  member: DesktopMember;
  /** The bundled preload script. */
  preload: string;
  /** Folder of the app's and the tray's icons. */
  icons: string;
  /** Data folder, where the shell keeps its settings and where its window was. */
  home: string;
  autostart: Autostart;
  updater: Updater;
  quitting: Quitting;
}

/** What people see of the app around the window's page: tray, window, notifications, and what the system hands over. */
export class DesktopShell {
  readonly #options: DesktopShellOptions;
  readonly #window: MainWindow;
  readonly #notifier: Notifier;
  readonly #requests: OpenRequests;
  #snapshot: MemberSnapshot | null = null;
  #toldOfTray = false;

  private constructor(options: DesktopShellOptions, settings: DesktopSettingsFile, window: MainWindow) {
    this.#options = options;
    this.#window = window;
    const { member, icons, quitting } = options;
    this.#notifier = new Notifier({
      icon: join(icons, '256x256.png'),
      isWanted: () => settings.current.notifications && !window.isFocused && !quitting.isDecided,
      onClick: ({ page }) => this.open(page),
    });
    this.#requests = new OpenRequests({ api: member.api, show: (page) => window.show(page) });
  }

  /** Puts everything up but the window, which `open` shows. */
  static async start(options: DesktopShellOptions): Promise<DesktopShell> {
    const { member, preload, icons, home, autostart, updater, quitting } = options;
    const { gateway: origin, api } = member;
    const places = new KeptFile(join(home, 'window.json'), windowPlaceSchema);
    const place = await places.read();
    const settings = await DesktopSettingsFile.open(home, ({ updates }) => shell.#followUpdates(updates));
    const window = new MainWindow({
      origin,
      preload,
      icon: join(icons, '512x512.png'),
      place,
      // A place that is not kept is no harm.
      onPlace: (now) => void places.write(now).catch(() => {}),
      hidesOnClose: () => !quitting.isDecided,
      onHidden: () => shell.#tellOfTray(),
      onSessionEnd: () => quitting.shutDown(),
    });
    const shell = new DesktopShell(options, settings, window);
    guardSession(session.defaultSession, origin);
    app.on('web-contents-created', (_event, contents) => {
      guardContents(contents, { origin, onFailure: reportFailure });
      offerEditMenu(contents);
    });
    serveWindowOverIpc(desktopApi(api, { autostart, settings, updater }), origin);
    const tray = new DesktopTray({ icons, onAction: (action) => shell.#act(action) });
    followMember(api, (snapshot) => {
      tray.show(trayView(snapshot));
      if (shell.#snapshot !== null) shell.#notifier.tell(desktopNews(shell.#snapshot, snapshot));
      shell.#snapshot = snapshot;
    });
    watchPower(member, () => quitting.shutDown());
    watchChildren((news) => shell.#notifier.tell([news]));
    shell.#followUpdates(settings.current.updates);
    return shell;
  }

  /** Shows the window; what goes wrong is said in a box. */
  open(page?: PageName, question?: PageQuestion): void {
    if (this.#options.quitting.isDecided) return;
    this.#window.show(page, question).catch(reportFailure);
  }

  /** Does what a start of the app asks for. */
  take(request: LaunchRequest): void {
    if (this.#options.quitting.isDecided) return;
    if (!request.hidden) this.open();
    void this.#requests.take(request);
  }

  #act(action: TrayAction): void {
    const { member, quitting } = this.#options;
    if (quitting.isDecided) return;
    switch (action) {
      case 'open':
        this.open();
        break;
      case 'join':
        this.open('pool', 'join');
        break;
      case 'quit':
        app.quit();
        break;
      case 'copyEndpoint':
        clipboard.writeText(this.#snapshot?.state.endpoint ?? `${member.gateway}/v1`).catch(reportFailure);
        break;
      case 'leave':
        this.#leave().catch(reportFailure);
        break;
      case 'pause':
      case 'resume':
        member.api.call(action, {}).catch(reportFailure);
        break;
    }
  }

  async #leave(): Promise<void> {
    const { api } = this.#options.member;
    const name = this.#snapshot?.pool.status.pool?.name ?? 'the pool';
    const agreed = await ask({
      message: `Leave ${name}?`,
      detail: 'This machine shares nothing with it any more. To come back it needs a new invite.',
      action: 'Leave',
      otherwise: 'Cancel',
    });
    if (agreed) await api.call('leave', {});
  }

  /** Once a run: who closes the window may take the app to have ended. */
  #tellOfTray(): void {
    if (this.#toldOfTray) return;
    this.#toldOfTray = true;
    this.#notifier.tell([
      {
        title: 'Roomful goes on',
        body: 'Its icon in the tray, or another start, shows the window again.',
        page: 'pool',
      },
    ]);
  }

  #followUpdates(on: boolean): void {
    const { updater } = this.#options;
    if (!on || updater.unavailable !== null) {
      updater.stop();
      return;
    }
    updater.start({
      onReady: (version) =>
        this.#notifier.tell([
          { title: `Roomful ${version} is here`, body: 'It is installed when you quit Roomful.', page: 'pool' },
        ]),
      // Offline, for example; it is tried again, and nobody waits for it.
      onProblem: () => {},
    });
  }
}
