import { expect, test, vi } from 'vitest';
import { formatInvite } from '../pool/trust/inviteToken.ts';
import { app, standIn } from './testing/electronStandIn.ts';
import { called, settled, show, start, theQuestion, theTray, theWindow, world } from './testing/shellHarness.ts';
import { gateway, pool } from './testing/snapshots.ts';

const invite = formatInvite({
  pool: pool.id,
  poolName: pool.name,
  secret: new Uint8Array(16),
  expiresAtMs: Date.now() + 60_000,
  hosts: ['127.0.0.1'],
  port: 4000,
});
const link = invite.replace('roomful1:', 'roomful://join/');
const preventable = () => ({ preventDefault: vi.fn() });

test.each<[string, () => Promise<void>]>([
  ['on the command line', () => start({ args: ['--no-sandbox', link] })],
  [
    'of a second start',
    async () => {
      await start();
      app.emit('second-instance', {}, ['/app/roomful', '--flag', link], '/');
    },
  ],
  [
    'from macOS',
    async () => {
      await start();
      app.emit('open-url', preventable(), link);
    },
  ],
  [
    'from macOS before the app is ready',
    async () => {
      const starting = start();
      app.emit('open-url', preventable(), link);
      await starting;
    },
  ],
])('an invite %s asks first, with the name and the fingerprint of the pool', async (_name, give) => {
  await give();
  const box = await theQuestion();
  expect(box.options.message).toBe('Join the pool “The room”?');
  expect(box.options.detail).toContain('Fingerprint: aaaa aaaa');
  expect(box.options).toMatchObject({ defaultId: 1, cancelId: 1, buttons: ['Join', 'Cancel'] });
  expect(world.calls).toEqual([]);
  box.choose('Join');
  await called(`join ${link}`);
  await vi.waitFor(() => expect(theWindow().webContents.getURL()).toBe(`${gateway}/#/pool`));
});

test('who says no joins nothing', async () => {
  await start({ args: [link] });
  (await theQuestion()).choose('Cancel');
  await settled();
  expect(world.calls).toEqual([]);
});

test('a page that opens link after link gets one question', async () => {
  await start();
  for (let count = 0; count < 5; count += 1) app.emit('open-url', preventable(), link);
  await theQuestion();
  await settled();
  expect(standIn.messageBoxes).toHaveLength(1);
});

test.each([
  ['a damaged link', 'roomful://join/abc', 'damaged'],
  ['another command', 'roomful://quit/', 'no invite token'],
])('%s is said and joins nothing', async (_name, bad, reason) => {
  await start();
  app.emit('open-url', preventable(), bad);
  await vi.waitFor(() => expect(standIn.errorBoxes[0]?.content).toContain(reason));
  expect(standIn.messageBoxes).toEqual([]);
});

test('in a pool already, the link says that it has to be left first', async () => {
  await start();
  show({ pool: { id: 'b', name: 'Our room' } });
  app.emit('open-url', preventable(), link);
  await vi.waitFor(() => expect(standIn.errorBoxes[0]?.content).toContain('Leave it before you join The room'));
});

test.each<[string, () => Promise<void>]>([
  ['on the command line', () => start({ args: ['/models/a.gguf'] })],
  [
    'of a second start, from its folder',
    async () => {
      await start();
      app.emit('second-instance', {}, ['/app/roomful', 'a.gguf'], '/models');
    },
  ],
  [
    'from macOS',
    async () => {
      await start();
      app.emit('open-file', preventable(), '/models/a.gguf');
    },
  ],
])('a model %s is taken in', async (_name, give) => {
  await give();
  await called('import /models/a.gguf');
  expect(theWindow().webContents.getURL()).toBe(`${gateway}/#/models`);
});

test('what is no model is said in one box, and the others are taken in', async () => {
  await start({ args: ['/broken.gguf', '/a.gguf', '/also-broken.gguf'] });
  await vi.waitFor(() => expect(standIn.errorBoxes).toHaveLength(1));
  expect(standIn.errorBoxes[0]?.content).toBe('/broken.gguf is no GGUF.\n/also-broken.gguf is no GGUF.');
  expect(world.calls).toContain('import /a.gguf');
});

test('an installed app takes the links of its scheme; a checkout does not', async () => {
  await start();
  expect(app.schemes).toEqual([]);
  standIn.reset();
  app.isPackaged = true;
  await start();
  expect(app.schemes).toEqual(['roomful']);
  expect(app.userModelId).toBe('dev.roomful.desktop');
});

test('a start at login shows no window until it is wanted', async () => {
  await start({ args: ['--hidden'] });
  expect(standIn.windows).toHaveLength(0);
  theTray().choose('Open Roomful');
  await settled();
  expect(theWindow().visible).toBe(true);
});
