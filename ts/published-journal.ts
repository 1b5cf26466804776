// The journal of a publisher: what waits to be written, in order and bounded, whatever the disk does.
import path from "node:path";
import type { LifecycleEventInput } from "./contract.js";
import { LifecycleError } from "./error.js";
import { JsonlLifecycleJournal } from "./journal.js";
import { removeOldJournals } from "./old-journals.js";
import { makeStateFolder } from "./state-directory.js";

/** Events that wait to be written at most; an agent event that comes then is lost as a whole. */
const PENDING = 10_000;
const BATCH = 256;
const RETRY_MS = { first: 500, most: 30_000 };

/** What is to be done for each open publisher when the process or the worker thread ends. */
const ends = new Set<() => void>();
let listens = false;

/**
 * A journal in the state directory. Nothing throws: errors are told to `report`. What the disk refuses is tried again, in its
 * place, so that no step between two states is missing.
 */
export class PublishedJournal {
  readonly #name: string;
  readonly #report: (error: unknown) => void;
  readonly #noteOf: (lost: number) => LifecycleEventInput;
  readonly #queue: LifecycleEventInput[] = [];
  #journal: JsonlLifecycleJournal | undefined;
  /** Events at the head of the queue that the journal has been given. */
  #given = 0;
  #lost = 0;
  #running: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #retryMs = RETRY_MS.first;
  #closed = false;
  #tidying: Promise<void> | undefined;
  readonly #end = (): void => {
    for (const event of this.#queue.slice(this.#given)) this.#journal?.append(event).catch(() => undefined);
  };

  /** `noteOf` makes the note that stands where agent events were lost. */
  constructor(name: string, report: (error: unknown) => void, noteOf: (lost: number) => LifecycleEventInput) {
    this.#name = name;
    this.#report = report;
    this.#noteOf = noteOf;
    atExit(this.#end);
    try {
      this.#open();
    } catch (error) {
      report(error);
    }
  }

  /** Whether one more agent event can be taken; else it is counted as lost, and that is reported. */
  accepts(): boolean {
    if (this.#closed) {
      this.#report(new LifecycleError("publisher_closed", "the publisher is closed: the event is lost"));
      return false;
    }
    if (this.#queue.length < PENDING) return true;
    this.#lost += 1;
    const message = `${PENDING} events wait to be written: further ones are lost until there is room`;
    this.#report(new LifecycleError("publisher_overflow", message));
    return false;
  }

  /** Whether so much waits that a sign of life adds nothing. */
  isBusy(): boolean {
    return this.#queue.length >= BATCH;
  }

  add(events: readonly LifecycleEventInput[]): void {
    if (this.#closed) return;
    this.#queue.push(...events);
    if (this.#retry === undefined) this.#running ??= this.#write();
  }

  /** Writes what waits, tries what failed once more, and gives the path free. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#running;
    if (this.#queue.length > 0) await this.#write();
    if (this.#queue.length + this.#lost > 0) {
      const message = `${this.#queue.length + this.#lost} events could not be written and are lost`;
      this.#report(new LifecycleError("publisher_lost", message));
    }
    ends.delete(this.#end);
    await this.#tidying;
    await this.#journal?.close();
  }

  #open(): JsonlLifecycleJournal {
    const folder = makeStateFolder("journals");
    // Nobody else writes this file; a torn line is our own, of a disk that was full.
    const options = { durability: "os", tornTail: "quarantine" } as const;
    const opened = new JsonlLifecycleJournal(path.join(folder, this.#name), options);
    this.#journal = opened;
    this.#tidying = removeOldJournals(folder);
    return opened;
  }

  async #write(): Promise<void> {
    try {
      // What one tick publishes is written together.
      await undefined;
      while (this.#queue.length > 0) {
        const batch = this.#queue.slice(0, BATCH);
        const left = await this.#append(batch);
        this.#queue.splice(0, batch.length, ...left);
        if (left.length > 0) return this.#retryLater();
        this.#retryMs = RETRY_MS.first;
        if (this.#lost > 0 && this.#queue.length < PENDING / 2) {
          this.#queue.push(this.#noteOf(this.#lost));
          this.#lost = 0;
        }
      }
    } finally {
      this.#running = undefined;
    }
  }

  /** Appends events, and gives those that are to be tried again. */
  async #append(batch: LifecycleEventInput[]): Promise<LifecycleEventInput[]> {
    try {
      const journal = this.#journal ?? this.#open();
      this.#given = batch.length;
      const answers = await journal.appendMany(batch);
      return batch.filter((_, at) => {
        const answer = answers[at];
        if (answer === undefined || !("status" in answer)) return false;
        this.#report(answer.error);
        // The path of a refused event is a member of it: it will never be taken. That of a fault is the file.
        return answer.error.path?.startsWith("$") !== true;
      });
    } catch (error) {
      this.#report(error);
      return batch;
    } finally {
      this.#given = 0;
    }
  }

  #retryLater(): void {
    if (this.#closed) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#running ??= this.#write();
    }, this.#retryMs).unref();
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS.most);
  }
}

function atExit(end: () => void): void {
  ends.add(end);
  if (listens) return;
  listens = true;
  // Before the listener of the journals, which writes what they were given.
  process.prependListener("exit", () => {
    for (const each of ends) each();
  });
}
