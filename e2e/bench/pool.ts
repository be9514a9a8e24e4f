import type { LanMember } from '../lan/testing/lanMember.ts';
import { LanPool } from '../lan/testing/lanPool.ts';
import type { BenchReport } from './report.ts';

const ROUNDS = 3;
const LOOK_MS = 10;
const GIVE_UP_MS = 60_000;
/** How long a member stands still after the others have lost it, ms. */
const ASLEEP_MS = 1500;

/** What the issue that brought the pool promises, ms. */
const promised = {
  join: 5000,
  kill: 1000,
  silence: 3500,
  leader: 4000,
  wake: 5000,
};

/**
 * Three members in three network namespaces, each `roomful up`: how long it takes from `roomful join` to everyone seeing
 * everyone, until the others see what befalls one, and until it is back. Needs Linux and root.
 */
export async function poolBench(): Promise<BenchReport> {
  const measured = new Measured();
  await inPool(['--no-mdns'], async (pool) => {
    for (let round = 0; round < ROUNDS; round += 1) await join(pool, measured, 'by address');
  });
  await inPool([], async (pool) => {
    for (let round = 0; round < ROUNDS; round += 1) await join(pool, measured, 'with mDNS', round === ROUNDS - 1);
    for (let round = 0; round < ROUNDS; round += 1) {
      await killLeader(pool, measured);
      await sleepAndWake(pool, measured);
      await cutAndHeal(pool, measured);
    }
  });
  return {
    title: `A pool of three members on a LAN of namespaces, ms of ${ROUNDS} rounds`,
    columns: ['what', 'median', 'least', 'most', 'must be'],
    rows: measured.rows(),
  };
}

class Measured {
  readonly #times = new Map<string, { ms: number[]; mustBe: string }>();

  add(what: string, ms: number, most: number | null): void {
    const known = this.#times.get(what) ?? { ms: [], mustBe: most === null ? '' : `under ${most}` };
    known.ms.push(ms);
    this.#times.set(what, known);
    process.stderr.write(`${what}: ${Math.round(ms)} ms\n`);
  }

  rows(): BenchReport['rows'] {
    return [...this.#times].map(([what, { ms, mustBe }]) => {
      const sorted = ms.map(Math.round).sort((a, b) => a - b);
      const [least = 0] = sorted;
      return { what, median: sorted[sorted.length >> 1] ?? 0, least, most: sorted.at(-1) ?? 0, 'must be': mustBe };
    });
  }
}

async function inPool(args: string[], measure: (pool: LanPool) => Promise<void>): Promise<void> {
  const pool = await LanPool.start({ members: 3, args });
  try {
    await measure(pool);
  } finally {
    await pool.close();
  }
}

async function join(pool: LanPool, measured: Measured, how: string, stays = false): Promise<void> {
  const [first, ...others] = pool.members;
  if (first === undefined) throw new Error('There is nobody to make a pool.');
  await first.run('create', 'Bench');
  const tokens = await Promise.all(others.map(() => first.invite()));
  const since = performance.now();
  await Promise.all(others.map((other, index) => other.join(tokens[index] ?? '')));
  measured.add(`two join ${how}: the commands have ended`, performance.now() - since, null);
  await all(pool.members, allOf(pool, 'alive'));
  measured.add(`two join ${how}: everyone sees everyone`, performance.now() - since, promised.join);
  if (stays) return;
  await Promise.all(others.map((other) => other.run('leave')));
  await first.run('leave', '--abandon');
}

async function killLeader(pool: LanPool, measured: Measured): Promise<void> {
  await oneLeader(pool.members);
  const victim = pool.members.find(({ id }) => id === pool.members[0]?.leader());
  if (victim === undefined) throw new Error('Nobody leads.');
  const others = pool.members.filter((member) => member !== victim);
  const since = performance.now();
  const killed = victim.kill();
  await all(others, allOf(pool, 'alive', [victim, 'lost']));
  measured.add('kill -9 of the leader is seen', performance.now() - since, promised.kill);
  await oneLeader(others);
  measured.add('one new leader after that', performance.now() - since, promised.leader);
  await killed;
  await victim.up();
  await all(pool.members, allOf(pool, 'alive'));
}

async function sleepAndWake(pool: LanPool, measured: Measured): Promise<void> {
  const { sleeper, others } = await follower(pool);
  const since = performance.now();
  sleeper.sleep();
  await all(others, allOf(pool, 'alive', [sleeper, 'lost']));
  measured.add('SIGSTOP is seen', performance.now() - since, promised.silence);
  await new Promise((resolve) => setTimeout(resolve, ASLEEP_MS));
  const awake = performance.now();
  sleeper.wake();
  await all(pool.members, allOf(pool, 'alive'));
  measured.add('SIGCONT: back, everyone sees everyone', performance.now() - awake, promised.wake);
}

async function cutAndHeal(pool: LanPool, measured: Measured): Promise<void> {
  const { sleeper: cut, others } = await follower(pool);
  const since = performance.now();
  await pool.lan.cut(cut.machine);
  await all(others, allOf(pool, 'alive', [cut, 'lost']));
  measured.add('a cut cable is seen', performance.now() - since, promised.silence);
  await oneLeader([cut]);
  const healed = performance.now();
  await pool.lan.heal();
  await all(pool.members, allOf(pool, 'alive'));
  await oneLeader(pool.members);
  measured.add('healed: everyone sees everyone, one leads', performance.now() - healed, null);
}

async function follower(pool: LanPool): Promise<{ sleeper: LanMember; others: LanMember[] }> {
  await oneLeader(pool.members);
  const sleeper = pool.members.find(({ id }) => id !== pool.members[0]?.leader());
  if (sleeper === undefined) throw new Error('Everybody leads.');
  return { sleeper, others: pool.members.filter((member) => member !== sleeper) };
}

/** `NAME STATE` of all, one of them in another state. */
function allOf(pool: LanPool, state: string, [other, otherState]: [LanMember?, string?] = []): string[] {
  return pool.members.map((member) => `${member.name} ${member === other ? otherState : state}`).sort();
}

function all(among: readonly LanMember[], seen: readonly string[]): Promise<void> {
  const wanted = seen.join();
  return until(() => among.every((by) => by.seen().join() === wanted), wanted);
}

function oneLeader(among: readonly LanMember[]): Promise<void> {
  const ids = among.map(({ id }) => id);
  return until(() => {
    const [leader, another] = new Set(among.map((by) => by.leader()));
    return another === undefined && leader !== undefined && ids.includes(leader);
  }, 'one leader');
}

async function until(holds: () => boolean, what: string): Promise<void> {
  const since = performance.now();
  while (!holds()) {
    if (performance.now() - since > GIVE_UP_MS) throw new Error(`Not so after ${GIVE_UP_MS} ms: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
