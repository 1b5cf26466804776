// What a harness says waits while an answer is on its way to it: it may have read the answer, and ended the turn, before this side knows
// that the answer was written. Without this the answer would be told as cleared although it was given.

/** Entries that wait; with more, nothing waits any longer. */
const MOST_HELD = 4096;

/** Things in their order, of which some have to wait. */
export class Held {
  readonly #isBusy: () => boolean;
  readonly #waiting: (() => void)[] = [];

  constructor(isBusy: () => boolean) {
    this.#isBusy = isBusy;
  }

  /** Does it when nothing before it waits. */
  next(work: () => void): void {
    if (this.#waiting.length === 0) work();
    else this.#wait(work);
  }

  /** Does it when nothing before it waits and nothing is on its way. */
  last(work: () => void): void {
    if (this.#isBusy()) this.#wait(work);
    else this.next(work);
  }

  /** Does all that waits. */
  release(): void {
    for (const work of this.#waiting.splice(0)) work();
  }

  #wait(work: () => void): void {
    this.#waiting.push(work);
    if (this.#waiting.length > MOST_HELD) this.release();
  }
}
