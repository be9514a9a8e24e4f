/**
 * Which steps that have not come back a slot's content comes from: those that computed some of it, there or in the slot that it
 * was copied from. Where one fails none of these slots is certain any more.
 */
export class StepsBehind {
  readonly #steps = new Map<number, Set<number>>();

  /** A step has been sent that adds to the slot. */
  sent(step: number, slot: number): void {
    const steps = this.#steps.get(slot);
    if (steps === undefined) this.#steps.set(slot, new Set([step]));
    else steps.add(step);
  }

  /** The slot holds a copy of another one, and nothing else. */
  copied(from: number, to: number): void {
    this.#steps.set(to, new Set(this.#steps.get(from)));
  }

  /** Nothing in the slot is gone on from. */
  emptied(slot: number): void {
    this.#steps.delete(slot);
  }

  /** A step has come back; gives the slots that hold something of it. */
  back(step: number): number[] {
    return [...this.#steps].flatMap(([slot, steps]) => (steps.delete(step) ? [slot] : []));
  }
}
