import { expect, test, vi } from 'vitest';
import type { MemberState } from '../gateway/memberApi.ts';
import { pipeline } from '../gateway/testing/memberFixtures.ts';
import { ipcChannels } from './ipcChannels.ts';
import { standIn } from './testing/electronStandIn.ts';
import { start, theWindow, world } from './testing/shellHarness.ts';
import { gateway, snapshot } from './testing/snapshots.ts';

const idle = snapshot().state;
const serving = snapshot({ pipelines: [pipeline()] }).state;

test('the page follows the state over IPC, and a reloaded page starts anew', async () => {
  await start();
  const contents = theWindow().webContents;
  const send = (message: unknown) => standIn.sendToMain(contents, ipcChannels.toMember, message);
  const event = (value: MemberState) => [ipcChannels.toWindow, { kind: 'event', topic: 'state', value }];
  send({ kind: 'subscribe', topic: 'state' });
  world.state.update(() => serving);
  expect(contents.sent).toEqual([event(idle), event(serving)]);

  contents.navigate(`${gateway}/`);
  world.state.update(() => idle);
  expect(contents.sent).toHaveLength(2);
  send({ kind: 'call', id: 0, method: 'state', params: {} });
  await vi.waitFor(() => expect(contents.sent).toHaveLength(3));
  expect(contents.sent[2]).toEqual([ipcChannels.toWindow, { kind: 'result', id: 0, value: idle }]);
});

test.each(['render-process-gone', 'destroyed'])('nothing is sent to a page after %s', async (event) => {
  await start();
  const contents = theWindow().webContents;
  standIn.sendToMain(contents, ipcChannels.toMember, { kind: 'subscribe', topic: 'state' });
  if (event === 'render-process-gone') contents.crash('crashed');
  else contents.emit(event);
  world.state.update(() => serving);
  expect(contents.sent).toHaveLength(1);
});

test('only the main frame of the own page is heard, and only the contract', async () => {
  await start();
  const contents = theWindow().webContents;
  const subscribe = { kind: 'subscribe', topic: 'state' };
  standIn.sendToMain(contents, ipcChannels.toMember, subscribe, { url: `${gateway}/` });
  standIn.sendToMain(contents, ipcChannels.toMember, subscribe, null);
  standIn.sendToMain(contents, ipcChannels.toMember, { kind: 'eval', code: '1' });
  standIn.sendToMain(contents, ipcChannels.toMember, null);
  contents.mainFrame.url = 'http://127.0.0.1:4142/';
  standIn.sendToMain(contents, ipcChannels.toMember, subscribe);
  contents.mainFrame.url = 'about:blank';
  standIn.sendToMain(contents, ipcChannels.toMember, subscribe);
  expect(contents.sent).toEqual([]);
});
