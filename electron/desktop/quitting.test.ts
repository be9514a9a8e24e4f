import { expect, test, vi } from 'vitest';
import { pipeline, servingStage } from '../gateway/testing/memberFixtures.ts';
import type { DesktopMember } from './desktopMember.ts';
import { app, powerMonitor, standIn } from './testing/electronStandIn.ts';
import { ended, settled, show, start, theQuestion, theTray, theWindow, world } from './testing/shellHarness.ts';
import { pool } from './testing/snapshots.ts';

test('a shutdown ends everything without a question', async () => {
  await start();
  show({ pipelines: [pipeline()] });
  const event = { preventDefault: vi.fn() };
  powerMonitor.emit('shutdown', event);
  // The system is asked to wait for the end.
  expect(event.preventDefault).toHaveBeenCalledOnce();
  await ended();
  expect([app.exitCode, world.member.closed, standIn.messageBoxes.length]).toEqual([0, 1, 0]);
});

test('a logout that has begun is not called off', async () => {
  await start();
  world.member.close = () => new Promise(() => {});
  powerMonitor.emit('shutdown', { preventDefault: () => {} });
  const quit = { preventDefault: vi.fn() };
  app.emit('before-quit', quit);
  await settled();
  expect(quit.preventDefault).not.toHaveBeenCalled();
});

test('so does the end of a session on Windows', async () => {
  await start();
  show({ pipelines: [pipeline()] });
  theWindow().emit('session-end');
  await ended();
  expect(world.member.closed).toBe(1);
});

test('quit asks where layers on this machine serve somebody', async () => {
  await start();
  show({ pipelines: [pipeline()] });
  theTray().choose('Quit Roomful');
  const box = await theQuestion();
  expect(box.options.message).toBe('Quit and stop demo?');
  expect(box.options.detail).toContain('on another one');
  app.quit();
  await settled();
  expect(standIn.messageBoxes).toHaveLength(1);
  box.choose('Cancel');
  await settled();
  expect([app.exitCode, world.member.closed]).toEqual([null, 0]);

  theTray().choose('Quit Roomful');
  (await theQuestion()).choose('Quit');
  await ended();
  expect([app.exitCode, world.member.closed]).toEqual([0, 1]);
});

test('what others serve without this machine is no reason to ask', async () => {
  await start();
  const elsewhere = [servingStage('attic', 0, 3, 3)];
  show({ pool, pipelines: [pipeline({ driver: { id: 'attic', name: 'attic' }, placement: elsewhere })] });
  theTray().choose('Quit Roomful');
  await ended();
  expect(app.exitCode).toBe(0);
});

test('quit ends the member, with all its children, before the app', async () => {
  const order: string[] = [];
  world.member.close = async () => {
    await new Promise((resolve) => setTimeout(resolve));
    order.push('member');
  };
  await start();
  app.on('quit', () => order.push('app'));
  theTray().choose('Quit Roomful');
  app.quit();
  await ended();
  expect(order).toEqual(['member', 'app']);
  expect(app.exitCode).toBe(0);
});

test('quit while the member starts waits for it and ends it', async () => {
  let started: (member: DesktopMember) => void = () => {};
  const starting = start({
    startMember: () =>
      new Promise((resolve) => {
        started = resolve;
      }),
  });
  await vi.waitFor(() => expect(app.listenerCount('before-quit')).toBe(1));
  app.quit();
  await settled();
  expect(app.exitCode).toBeNull();
  started(world.member);
  await starting;
  await ended();
  expect(world.member.closed).toBe(1);
  expect(standIn.windows).toHaveLength(0);
});

test('a member that cannot close does not keep the app alive', async () => {
  world.member.close = () => Promise.reject(new Error('stuck'));
  await start();
  app.quit();
  await ended();
  expect(app.exitCode).toBe(1);
});
