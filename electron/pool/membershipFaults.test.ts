import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formedPool, SimulatedPool } from './testing/simulatedPool.ts';

const seeds = fc.integer({ min: 1, max: 2 ** 31 });
const ids = ['a', 'b', 'c', 'd', 'e'];
const member = fc.constantFrom(...ids);
const ms = fc.integer({ min: 100, max: 8000 });
const fault = fc.oneof(
  fc.record({ type: fc.constantFrom('cut' as const, 'heal' as const, 'reset' as const), a: member, b: member }),
  fc.record({ type: fc.constant('split' as const), half: fc.subarray(ids, { minLength: 1, maxLength: 4 }) }),
  fc.record({ type: fc.constantFrom('kill' as const, 'restart' as const, 'leave' as const), a: member }),
  fc.record({ type: fc.constantFrom('stop' as const, 'sleep' as const), a: member, ms }),
  fc.record({ type: fc.constant('card' as const), a: member, pinned: fc.boolean(), abstains: fc.boolean() }),
  fc.record({ type: fc.constant('healAll' as const) }),
);
type Fault = typeof fault extends fc.Arbitrary<infer T> ? T : never;

function strike(pool: SimulatedPool, what: Fault): void {
  const runs = (id: string): boolean => pool.running().includes(id);
  switch (what.type) {
    case 'cut':
    case 'heal':
      pool[what.type](what.a, what.b);
      break;
    case 'reset':
      if (what.a !== what.b && runs(what.a) && runs(what.b)) pool.reset(what.a, what.b);
      break;
    case 'split':
      pool.split(what.half);
      break;
    case 'kill':
    case 'restart':
    case 'leave':
      pool[what.type](what.a);
      break;
    case 'stop':
    case 'sleep':
      pool[what.type](what.a, what.ms);
      break;
    case 'card':
      pool.card(what.a, { pinned: what.pinned, abstains: what.abstains });
      break;
    case 'healAll':
      pool.healAll();
  }
}

test('once it is over every connected part has one leader, the same view, and keeps both; no epoch ever goes back', () => {
  const weather = fc.record({
    delayMs: fc.integer({ min: 1, max: 120 }),
    loss: fc.double({ min: 0, max: 0.3, noNaN: true }),
    repeat: fc.double({ min: 0, max: 0.3, noNaN: true }),
  });
  const story = fc.array(fc.record({ waitMs: fc.integer({ min: 0, max: 4000 }), what: fault }), { maxLength: 14 });
  fc.assert(
    fc.property(seeds, weather, story, (seed, conditions, steps) => {
      const pool = new SimulatedPool(ids, seed).start();
      Object.assign(pool.weather, conditions);
      for (const { waitMs, what } of steps) {
        pool.run(waitMs);
        strike(pool, what);
      }
      pool.weather.loss = 0;
      // Who wakes far from its pool looks for it longest.
      pool.run(8000).run(24_000);
      const settled = pool.history.length;
      pool.run(5000);
      expect(pool.history.length).toBe(settled);
      for (const component of pool.components()) {
        const leader = pool.leaderFor(component);
        expect(component).toContain(leader);
        for (const by of component) {
          expect(pool.viewOf(by).epoch).toEqual(pool.viewOf(component[0] ?? '').epoch);
          expect(pool.viewOf(by).members.map(({ id }) => id)).toEqual(ids);
          for (const id of ids) {
            const allowed = component.includes(id) ? ['alive', 'suspect'] : ['lost', 'left'];
            expect(allowed, `${id} as ${by} sees it`).toContain(pool.livenessOf(id, by));
          }
        }
      }
    }),
    { numRuns: 60 },
  );
});

test('slow, repeated and overtaking messages, restarts and sliders make no healthy member lost, and depose no leader', () => {
  const calm = fc.oneof(
    fc.record({ type: fc.constant('restart' as const), a: fc.constantFrom('b', 'c', 'd') }),
    fc.record({ type: fc.constant('stop' as const), a: member, ms: fc.integer({ min: 100, max: 700 }) }),
    fc.record({ type: fc.constant('reset' as const), a: member, b: member }),
    fc.record({ type: fc.constant('card' as const), a: member, pinned: fc.boolean(), abstains: fc.constant(false) }),
  );
  const story = fc.array(fc.record({ waitMs: fc.integer({ min: 300, max: 3000 }), what: calm }), { maxLength: 12 });
  fc.assert(
    fc.property(seeds, story, (seed, steps) => {
      const pool = formedPool(5, seed);
      Object.assign(pool.weather, { delayMs: 250, repeat: 0.3 });
      const { epoch } = pool.viewOf('a');
      for (const { waitMs, what } of steps) {
        pool.run(waitMs);
        strike(pool, what);
      }
      pool.run(5000);
      const restarted = new Set<string>(steps.flatMap(({ what }) => (what.type === 'restart' ? [what.a] : [])));
      expect(pool.losses.filter(({ lost }) => !restarted.has(lost))).toEqual([]);
      for (const id of ids) expect(pool.viewOf(id)).toMatchObject({ coordinator: 'a', epoch });
    }),
    { numRuns: 40 },
  );
});
