// What a process told, in its order: some of it in each turn of the event loop, and nothing that came after a response before whoever
// waits for that has gone on. Else a quick harness would end its turn before it is known to have accepted it.

/** A line of the process, or what else the addon tells. */
export interface Told {
  readonly kind: string;
  readonly text: string;
}

/** Things that are read in one turn of the event loop. */
const TURN = 1024;

export class AdapterInbox {
  readonly #take: () => Told | null;
  readonly #read: (told: Told) => boolean;
  #lines: readonly string[] = [];
  #next = 0;
  #isWaiting = false;

  /** `take` gives what comes next, lines together as `messages`; `read` says whether somebody waits for what it was given. */
  constructor(take: () => Told | null, read: (told: Told) => boolean) {
    this.#take = take;
    this.#read = read;
  }

  /** There is something to take. */
  wake(): void {
    if (this.#isWaiting) return;
    for (let read = 0; read < TURN; read += 1) {
      const told = this.#told();
      if (told === null) return;
      if (this.#read(told)) break;
    }
    this.#isWaiting = true;
    setImmediate(() => {
      this.#isWaiting = false;
      this.wake();
    });
  }

  #told(): Told | null {
    const line = this.#lines[this.#next];
    if (line !== undefined) {
      this.#next += 1;
      return { kind: "message", text: line };
    }
    const told = this.#take();
    if (told?.kind !== "messages") return told;
    this.#lines = told.text.split("\n");
    this.#next = 0;
    return this.#told();
  }
}
