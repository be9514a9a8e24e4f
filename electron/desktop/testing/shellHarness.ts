import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import type { LibraryState, MemberApi, MemberState, PoolState, PoolStatus } from '../../gateway/memberApi.ts';
import { Topic } from '../../gateway/testing/topic.ts';
import { localMemberApi, type MemberActions, MemberStateStore } from '../../gateway/window/memberState.ts';
import type { DesktopMember } from '../desktopMember.ts';
import { startDesktop } from '../startDesktop.ts';
import type { UpdateListeners, Updater } from '../updater.ts';
import { app, type BrowserWindow, type MessageBox, standIn, type Tray } from './electronStandIn.ts';
import { gateway, type Parts, snapshot } from './snapshots.ts';

interface World {
  home: string;
  state: MemberStateStore;
  pool: Topic<PoolState>;
  library: Topic<LibraryState>;
  member: { -readonly [K in keyof DesktopMember]: DesktopMember[K] } & { closed: number };
  /** What the shell has asked of the member, in order. */
  calls: string[];
  updater: Updater & { listeners: UpdateListeners | null };
}

/** The shell's surroundings: a member that notes what it is asked, on the stand-in for Electron; new before each test. */
export const world: World = newWorld();

beforeEach(async () => {
  standIn.reset();
  Object.assign(world, newWorld());
  world.home = await mkdtemp(join(tmpdir(), 'roomful-shell-'));
  vi.stubEnv('XDG_CONFIG_HOME', world.home);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(world.home, { recursive: true, force: true });
});

function newWorld(): World {
  const calls: string[] = [];
  const first = snapshot();
  const topics = {
    state: new MemberStateStore(first.state),
    pool: new Topic(first.pool),
    library: new Topic(first.library),
  };
  const does = (what: string) => async () => {
    calls.push(what);
  };
  return {
    home: '',
    ...topics,
    calls,
    member: {
      gateway,
      api: notingApi(topics, calls),
      sleep: does('sleep'),
      wake: does('wake'),
      checkPower: does('checkPower'),
      closed: 0,
      async close() {
        this.closed += 1;
      },
    },
    updater: {
      unavailable: null,
      listeners: null,
      start(listeners) {
        this.listeners = listeners;
      },
      stop() {
        this.listeners = null;
      },
    },
  };
}

function notingApi(topics: Pick<World, 'state' | 'pool' | 'library'>, calls: string[]): MemberApi {
  const status = async (): Promise<PoolStatus> => topics.pool.value.status;
  const note = (what: string) => {
    calls.push(what);
    return status();
  };
  const actions: Partial<MemberActions> = {
    status,
    pause: () => note('pause'),
    resume: () => note('resume'),
    leave: () => note('leave'),
    join: ({ token }) => note(`join ${token}`),
    importModel: async ({ path }) => {
      calls.push(`import ${path}`);
      if (path.includes('broken')) throw new Error(`${path} is no GGUF.`);
      return { models: [] };
    },
  };
  return localMemberApi(topics, actions);
}

interface StartOptions {
  startMember?: () => Promise<DesktopMember>;
  args?: string[];
}

export async function start({ startMember, args = [] }: StartOptions = {}): Promise<void> {
  const { home, updater, member } = world;
  await startDesktop({
    startMember: startMember ?? (async () => member),
    preload: '/app/preload.cjs',
    icons: '/app/icons',
    home,
    updater,
    args,
  });
  // The window loads in the background.
  await settled();
}

/** What the member shows from now on. */
export function show(parts: Parts): void {
  const now = snapshot(parts);
  world.pool.set(now.pool);
  world.library.set(now.library);
  world.state.update((): MemberState => now.state);
}

export function theWindow(): BrowserWindow {
  const [window] = standIn.windows;
  if (window === undefined) throw new Error('There is no window.');
  return window;
}

export function theTray(): Tray {
  const [tray] = standIn.trays;
  if (tray === undefined) throw new Error('There is no tray icon.');
  return tray;
}

/** The question that is on the screen, or comes. */
export function theQuestion(): Promise<MessageBox> {
  return vi.waitFor(() => {
    const [box] = standIn.messageBoxes;
    if (box === undefined) throw new Error('Nothing is asked.');
    return box;
  });
}

/** What was begun and waits for nothing outside has been done. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export async function ended(): Promise<void> {
  await vi.waitFor(() => expect(app.exitCode).not.toBeNull());
}

export async function called(what: string): Promise<void> {
  await vi.waitFor(() => expect(world.calls).toContain(what));
}
