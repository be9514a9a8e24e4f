import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.ts';
import { processTree } from '../testing/processTree.ts';
import { ServedPair } from '../testing/servedPair.ts';
import type { TrustMember } from '../testing/trustMember.ts';

let pair: ServedPair;

const hosts = (): string[] =>
  processTree(process.pid)
    .map(({ command }) => command)
    .filter((command) => command.includes('stageHost'));

beforeEach(async () => {
  pair = await ServedPair.open();
  const { placement } = await pair.serve();
  expect(placement).toHaveLength(2);
  expect(hosts()).toHaveLength(2);
});

afterEach(() => pair.close());

const onGone = ({ trust }: TrustMember, drop: (id: string) => void): void => {
  trust.onChange((event) => {
    if (event.kind === 'RosterChanged') for (const id of event.gone) drop(id);
  });
};

test('the coordinator ends what has a stage on a removed member; nothing is left running anywhere', async () => {
  const { ada, bob, models } = pair;
  let dropped: Promise<void> = Promise.resolve();
  onGone(ada, (id) => {
    dropped = models.dropMember(id);
  });
  await ada.trust.remove(bob.id);
  await dropped;
  expect(models.list()).toEqual([]);
  await eventually(() => expect(hosts()).toEqual([]));
});

test('frames show who lives to those who take them, and that the stages compute', async () => {
  const { ada, bob, cyd, stages, seen } = pair;
  const computed = async (by: string, expected: boolean) =>
    eventually(() => expect(stages.get(by)?.takeComputed()).toBe(expected));
  for (const by of ['bob', 'cyd']) await computed(by, true);
  expect(seen).toContainEqual({ by: 'ada', member: bob.id });
  expect(seen).toContainEqual({ by: 'ada', member: cyd.id });
  expect(seen).toContainEqual({ by: 'bob', member: ada.id });
  expect(seen).toContainEqual({ by: 'cyd', member: bob.id });
  for (const by of ['bob', 'cyd']) await computed(by, false);
});

test('a member ends its stage beside that of a removed member by itself', async () => {
  const { ada, bob, cyd, stages } = pair;
  onGone(bob, (id) => stages.get('bob')?.dropMember(id));
  cyd.reachable = false;
  await ada.trust.remove(cyd.id);
  await eventually(() => expect(hosts()).toEqual([]));
  // The removed one has not even heard of it.
  expect(cyd.trust.pool).not.toBeNull();
  cyd.reachable = true;
});
