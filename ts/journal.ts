/// <reference lib="esnext.disposable" preserve="true" />
// The journal: events as numbered JSON Lines that several programs append to, one at a time.
import { iterableArgument, numberOption, optionalText, optionsArgument, textArgument } from "./arguments.js";
import { atExit, notAtExit } from "./at-exit.js";
import { type LifecycleEvent, type LifecycleEventInput, eventText } from "./contract.js";
import { LifecycleError } from "./error.js";
import { type Native, callNative, fromNative } from "./native.js";
import { type LifecycleProjector, type RefusedResult, nativeProjector } from "./projector.js";

export interface JsonlLifecycleJournalOptions {
  /** How long an operation waits for other holders of the lock; 5,000 by default. */
  lockTimeoutMs?: number | undefined;
  /** The age from which the lock of a provably dead owner may be taken; 300,000 by default. */
  staleLockMs?: number | undefined;
  /** What an acknowledged append survives: a power cut (`fsync`, the default), or the end of the process (`os`). */
  durability?: "fsync" | "os" | undefined;
  /** A torn last line blocks appends (`error`, the default), or is copied to `<path>.quarantine-<n>` and cut off. */
  tornTail?: "error" | "quarantine" | undefined;
}

/** An event as it stands in a journal. */
export type JournalledEvent = LifecycleEvent & {
  /** Its number; it increases from line to line. */
  journalSequence: number;
  /** When it was received, where its writer said so. */
  receivedAt?: string;
};

export interface AppendOptions {
  /** When the event was received, RFC 3339 UTC: what `apply` was given, so that a replay comes to the same. */
  receivedAt?: string | undefined;
}

/** What is wrong with a line of a journal. */
export interface JournalProblem {
  code:
    | "malformed"
    | "oversize"
    | "truncated"
    | "invalid_utf8"
    | "too_deep"
    | "invalid_event"
    | "no_sequence"
    | "not_increasing";
  /** Offset of the line in the file, in bytes. */
  offset: number;
  /** Its length in bytes, without the line end. */
  length: number;
  /** One sentence. */
  message: string;
}

/** What `verify` found. */
export interface JournalVerification {
  /** Whether every line is an event and the numbers increase. */
  valid: boolean;
  bytes: number;
  entries: number;
  firstSequence: number | null;
  lastSequence: number | null;
  /** Where numbers are missing, which is no fault: the first 32. */
  holes: { after: number; before: number }[];
  holeCount: number;
  /** What is wrong: the first 32, in the order of the file. */
  problems: JournalProblem[];
  problemCount: number;
  /** Whether the last line is torn, as a crash leaves one. */
  tornTail: boolean;
  /** Whether the lock was held when the length was taken; not where the place is read-only. */
  locked: boolean;
}

/** What `repair` did. */
export interface JournalRepair {
  changed: boolean;
  /** Entries that were kept, and how many of them got another number. */
  kept: number;
  renumbered: number;
  /** Lines and remains that went to the file `quarantine`. */
  quarantined: number;
  quarantine: string | null;
  problems: JournalProblem[];
  problemCount: number;
}

export interface RotateOptions {
  /** How many old files are kept, the newest ones; all by default. */
  keep?: number | undefined;
  /**
   * Confirms that every program that writes this journal opens it by name under the lock and goes on from its last
   * `journalSequence`. Other writers would go on in the old file.
   */
  sharedWriters: false;
}

/** What `rotate` did. */
export interface JournalRotation {
  /** Where the old entries are; `null` where the journal was empty. */
  old: string | null;
  /** Entries of the new file, the checkpoint. */
  entries: number;
  lastSequence: number | null;
  /** Old files that were removed. */
  removed: string[];
}

/** A part of a replay. */
export interface ReplayBatch {
  events: JournalledEvent[];
  /** Lines that are no entry in their place; they stand between the events of this batch. */
  problems: JournalProblem[];
}

/** What a replay into a projector came to. */
export interface ReplayResult {
  /** Entries that were applied. */
  entries: number;
  /** How many of them became what; `refused` are those that the projection refuses. */
  results: Record<string, number>;
  /** Lines that are no entry in their place: the first 32. */
  problems: JournalProblem[];
  problemCount: number;
}

interface FaultView {
  code: string;
  message: string;
  path?: string;
  outcomeUnknown?: boolean;
  sequences?: [number, number];
}
type Answer<T> = { ok: T } | { fault: FaultView };

/** An error of a journal. */
export type JournalError = LifecycleError & {
  /** Whether what was to be appended may be in the journal all the same; `sequences` are then its first and last number. */
  readonly outcomeUnknown: boolean;
  readonly sequences?: readonly [number, number];
};

interface Waiting {
  text: string;
  receivedAt: string;
  settle: (answer: Answer<JournalledEvent>) => void;
  fail: (error: unknown) => void;
}

const PROBLEMS = 32;
const OPTIONS = ["lockTimeoutMs", "staleLockMs", "durability", "tornTail"] as const;
const ROTATE_OPTIONS = ["keep", "sharedWriters"] as const;

/**
 * A journal of schema-v1 events in a file, one JSON text a line, numbered. Several programs may append to it; each takes the
 * lock beside the file for its turn. Everything runs on a thread of its own.
 */
export class JsonlLifecycleJournal {
  readonly #native: Native.NativeJournal;
  #waiting: Waiting[] = [];
  #closed: Promise<void> | undefined;
  readonly #end = (): void => {
    this.#flush();
    callNative(() => this.#native.end());
  };

  /**
   * Opens the journal at `path`, whose folder must be there. The file is made by the first append.
   *
   * @throws {LifecycleError} `journal_single_writer` where this process has it open, `journal_io`, `invalid_option`.
   */
  constructor(path: string, options?: JsonlLifecycleJournalOptions) {
    const file = textArgument(path, "path");
    const given = optionsArgument(options, "options", OPTIONS);
    const set = Object.entries({
      lockTimeoutMs: numberOption(given.lockTimeoutMs, "lockTimeoutMs"),
      staleLockMs: numberOption(given.staleLockMs, "staleLockMs"),
      durability: optionalText(given.durability, "durability"),
      tornTail: optionalText(given.tornTail, "tornTail"),
    }).filter(([, value]) => value !== undefined);
    this.#native = callNative((native) => new native.NativeJournal(file, Object.fromEntries(set)));
    atExit(this.#end);
  }

  /** The canonical path. */
  get path(): string {
    return callNative(() => this.#native.path);
  }

  /**
   * Appends one event. Calls of one tick are written together.
   *
   * @returns the normalised event with its `journalSequence`, once it is as safe as `durability` says.
   * @throws {LifecycleError} where the event is invalid, or the journal refuses it.
   */
  async append(event: LifecycleEventInput, options?: AppendOptions): Promise<JournalledEvent> {
    return valueOf(await this.#enqueue(event, receivedAt(options)));
  }

  /** Appends events in order, each with its result or refusal; a bad one does not stop the others. */
  async appendMany(
    events: Iterable<unknown>,
    options?: AppendOptions,
  ): Promise<(JournalledEvent | RefusedResult)[]> {
    const received = receivedAt(options);
    const answers = Array.from(iterableArgument(events, "events"), async (event) => {
      try {
        return valueOf(await this.#enqueue(event, received));
      } catch (error) {
        if (error instanceof LifecycleError) return { status: "refused" as const, error };
        throw error;
      }
    });
    return Promise.all(answers);
  }

  /** The entries that are in the journal now, in batches. */
  async *replay(): AsyncGenerator<ReplayBatch, void, undefined> {
    const replay = callNative(() => this.#native.replay());
    for (let done = false; !done;) {
      const batch = valueOf(await this.#call<NativeBatch>(() => replay.next(false)));
      ({ done } = batch);
      const { entries: events, problems } = batch;
      if (events.length > 0 || problems.length > 0) yield { events, problems };
    }
  }

  /** Replays what is in the journal now into a projector. The entries do not become JavaScript values. */
  async replayInto(projector: LifecycleProjector): Promise<ReplayResult> {
    const replay = callNative(() => this.#native.replay());
    const target = nativeProjector(projector);
    const result: ReplayResult = { entries: 0, results: {}, problems: [], problemCount: 0 };
    for (let done = false; !done;) {
      const batch = valueOf(await this.#call<NativeBatch>(() => replay.next(true)));
      ({ done } = batch);
      const applied = JSON.parse(callNative(() => replay.applyHeld(target))) as NativeApplied;
      result.entries += applied.entries;
      for (const [status, times] of Object.entries(applied.results))
        result.results[status] = (result.results[status] ?? 0) + times;
      result.problemCount += batch.problems.length;
      result.problems.push(...batch.problems.slice(0, PROBLEMS - result.problems.length));
    }
    return result;
  }

  /** Reads every line and says what is in the journal. Changes nothing. */
  async verify(): Promise<JournalVerification> {
    return valueOf(await this.#call<JournalVerification>(() => this.#native.verify()));
  }

  /**
   * Makes a damaged journal valid: every line that is an event is kept, the rest goes to a quarantine file, and a note in the
   * journal tells. Nothing is deleted.
   */
  async repair(): Promise<JournalRepair> {
    return valueOf(await this.#call<JournalRepair>(() => this.#native.repair()));
  }

  /** Begins the journal anew with a checkpoint of what was in it; the old file gets the name `<path>.<n>`. */
  async rotate(options: RotateOptions): Promise<JournalRotation> {
    const { keep, sharedWriters } = optionsArgument(options, "options", ROTATE_OPTIONS);
    const kept = numberOption(keep, "keep");
    if (sharedWriters !== false)
      throw new LifecycleError(
        "invalid_option",
        "rotate needs sharedWriters: false, the confirmation that every writer opens the journal by name under its lock",
        { path: "sharedWriters" },
      );
    return valueOf(await this.#call<JournalRotation>(() => this.#native.rotate(kept, sharedWriters)));
  }

  /** Takes no more requests, and settles when what waited is done and the path is free again. */
  async close(): Promise<void> {
    this.#flush();
    notAtExit(this.#end);
    this.#closed ??= this.#closeOnce();
    return this.#closed;
  }

  async #closeOnce(): Promise<void> {
    await this.#call<null>(() => this.#native.close());
    // Its thread is at its end; waiting for that gives back its stack.
    this.#end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #enqueue(event: unknown, received: string): Promise<Answer<JournalledEvent>> {
    return new Promise((settle, fail) => {
      const text = eventText(event);
      if (this.#waiting.length === 0) queueMicrotask(() => this.#flush());
      this.#waiting.push({ text, receivedAt: received, settle, fail });
    });
  }

  /** What one tick has asked for crosses at once. */
  #flush(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    const events = waiting.map(({ text }) => text).join("\n");
    const times = waiting.map((one) => one.receivedAt).join("\n");
    this.#settled(() => this.#native.append(events, times)).then(
      (answers) => {
        const parsed = JSON.parse(answers) as Answer<JournalledEvent>[];
        for (const [at, { settle }] of waiting.entries()) settle(parsed[at] as Answer<JournalledEvent>);
        return undefined;
      },
      (error: unknown) => {
        for (const { fail } of waiting) fail(error);
      },
    );
  }

  async #call<T>(start: () => Promise<string>): Promise<Answer<T>> {
    return JSON.parse(await this.#settled(start)) as Answer<T>;
  }

  /** Waits for an answer, and warns of what happened beside the point. */
  async #settled(start: () => Promise<string>): Promise<string> {
    try {
      return await callNative(start);
    } catch (error) {
      throw fromNative(error);
    } finally {
      const notices = JSON.parse(callNative(() => this.#native.takeNotices())) as Notice[];
      for (const { code, message } of notices)
        process.emitWarning(message, { type: "LifecycleWarning", code });
    }
  }
}

interface Notice {
  code: string;
  message: string;
}

interface NativeBatch {
  entries: JournalledEvent[];
  problems: JournalProblem[];
  done: boolean;
}

interface NativeApplied {
  entries: number;
  results: Record<string, number>;
}

/** The value of an answer; a fault is thrown. */
function valueOf<T>(answer: Answer<T>): T {
  if ("ok" in answer) return answer.ok;
  throw faultError(answer.fault);
}

/** A fault of the journal, or the refusal of an event, whose path is a member. */
function faultError({ code, message, path, outcomeUnknown, sequences }: FaultView): LifecycleError {
  const error = new LifecycleError(code, message, { path });
  if (path?.startsWith("$")) return error;
  const more = { outcomeUnknown: outcomeUnknown === true, ...(sequences && { sequences }) };
  return Object.assign(error, more) satisfies JournalError;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|\+00:00)$/;

function receivedAt(options: AppendOptions | undefined): string {
  const text = optionalText(optionsArgument(options, "options", ["receivedAt"]).receivedAt, "receivedAt");
  if (text === undefined) return "";
  if (TIME.test(text) && !Number.isNaN(Date.parse(text))) return text;
  throw new LifecycleError(
    "invalid_timestamp",
    "receivedAt must be RFC 3339 UTC, such as 2026-05-17T22:29:21Z",
    { path: "receivedAt" },
  );
}
