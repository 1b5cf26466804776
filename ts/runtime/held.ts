// What a harness says waits while an answer is on its way to it: it may have read the answer, and ended the turn, before this side knows
// that the answer was written. Without this the answer would be told as cleared although it was given.

/** Entries that wait, and units of text in them; with more, nothing waits any longer. */
const MOST_HELD = 4096;
const MOST_UNITS = 8 * 2 ** 20;

/** Things in their order, of which some have to wait. */
export class Held {
  readonly #isBusy: () => boolean;
  readonly #waiting: (() => void)[] = [];
  #units = 0;

  constructor(isBusy: () => boolean) {
    this.#isBusy = isBusy;
  }

  /** Does it when nothing before it waits. `said` is what it holds in memory until then. */
  next(work: () => void, said?: unknown): void {
    if (this.#waiting.length === 0) work();
    else this.#wait(work, said);
  }

  /** Does it when nothing before it waits and nothing is on its way. `said` as for `next`. */
  last(work: () => void, said?: unknown): void {
    if (this.#isBusy()) this.#wait(work, said);
    else this.next(work, said);
  }

  /** Does all that waits. */
  release(): void {
    this.#units = 0;
    for (const work of this.#waiting.splice(0)) work();
  }

  #wait(work: () => void, said: unknown): void {
    this.#waiting.push(work);
    this.#units += unitsOf(said, MOST_UNITS - this.#units);
    if (this.#waiting.length > MOST_HELD || this.#units > MOST_UNITS) this.release();
  }
}

/** Units that a value costs beside its text. */
const VALUE_UNITS = 16;

/** UTF-16 units of the text in a value, about; not looked at further than `most`. */
function unitsOf(value: unknown, most: number): number {
  let units = 0;
  const open = [value];
  while (open.length > 0 && units <= most) {
    const one = open.pop();
    units += VALUE_UNITS + (typeof one === "string" ? one.length : 0);
    if (typeof one !== "object" || one === null) continue;
    for (const name in one) {
      units += VALUE_UNITS + name.length;
      if (units > most) break;
      open.push((one as Record<string, unknown>)[name]);
    }
  }
  return units;
}
