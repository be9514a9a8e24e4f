import { compareEpochs } from '../../wire/epoch.ts';
import type { MembershipEffect, MembershipEvent } from '../membershipEvents.ts';
import type { MembershipState } from '../membershipState.ts';
import { TICK_MS } from '../membershipTimings.ts';
import type { MembershipView } from '../membershipView.ts';
import { reduceMembership } from '../reduceMembership.ts';
import type { NetworkEnd, Untimed } from './simulatedNetwork.ts';
import type { SimulatedTime } from './simulatedTime.ts';

/** One run of a member: the real reducer under a clock that can stop. */
export class SimulatedProcess implements NetworkEnd {
  readonly id: string;
  state: MembershipState;
  running = true;
  asleep = false;
  /** How often it was told of a twin. */
  twins = 0;
  readonly #time: SimulatedTime;
  readonly #perform: (effect: MembershipEffect, before: MembershipView) => void;
  /** Stopped: what happens to it meanwhile waits here. */
  #backlog: (() => void)[] | null = null;
  #clockLag = 0;

  constructor(
    time: SimulatedTime,
    state: MembershipState,
    perform: (process: SimulatedProcess, effect: MembershipEffect, before: MembershipView) => void,
  ) {
    this.id = state.own.member;
    this.state = state;
    this.#time = time;
    this.#perform = (effect, before) => perform(this, effect, before);
  }

  get stopped(): boolean {
    return this.#backlog !== null;
  }

  tick(): void {
    if (!this.running) return;
    this.take({ type: 'tick', wall: 1e12 + this.#time.now });
    this.#time.after(TICK_MS, () => this.tick());
  }

  take(event: Untimed<MembershipEvent>): void {
    if (!this.running) return;
    if (this.#backlog !== null) {
      // A timer that is due more than once fires once.
      if (event.type !== 'tick') this.#backlog.push(() => this.take(event));
      return;
    }
    const before = this.state;
    const { state, effects } = reduceMembership(before, { ...event, at: this.#time.now - this.#clockLag });
    this.state = state;
    const wentBack = before.epoch !== null && (state.epoch === null || compareEpochs(state.epoch, before.epoch) < 0);
    if (wentBack) throw new Error(`The epoch of ${this.id} went back.`);
    for (const effect of effects) this.#perform(effect, before.view);
  }

  /** SIGSTOP for that long, ms: its clock goes on, and its kernel takes what comes. */
  stop(ms: number): void {
    if (this.#backlog !== null) return;
    this.#backlog = [];
    this.#time.after(ms, () => {
      const backlog = this.#backlog ?? [];
      this.#backlog = null;
      for (const run of backlog) run();
    });
  }

  /** A closed lid for that long, ms: its clock stands still, and nothing reaches it. */
  sleep(ms: number): void {
    if (this.#backlog !== null) return;
    this.asleep = true;
    this.#clockLag += ms;
    this.stop(ms);
    this.#time.after(ms, () => {
      this.asleep = false;
    });
  }
}
