/** What the past weighs when another draft is judged. */
const DECAY = 0.97;
/** What is believed before any draft was judged, as if so many had been. */
const PRIOR = { accepted: 1.4, judged: 2 };

/** How often drafts are accepted, the latest counting most. */
export class Acceptance {
  #accepted = PRIOR.accepted;
  #judged = PRIOR.judged;

  /** A step came back with `accepted` of its `drafted` drafts; those behind the first rejected one were not judged. */
  observe(drafted: number, accepted: number): void {
    for (let draft = 0; draft < Math.min(drafted, accepted + 1); draft += 1) {
      this.#accepted = this.#accepted * DECAY + (draft < accepted ? 1 : 0);
      this.#judged = this.#judged * DECAY + 1;
    }
  }

  /** Probability that a draft is accepted when those before it were. */
  get probability(): number {
    return this.#accepted / this.#judged;
  }
}
