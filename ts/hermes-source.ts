// A Hermes that a monitor watches: its status on a schedule, and its events as they come.
import { setTimeout as pause } from "node:timers/promises";
import { optionsArgument, textArgument } from "./arguments.js";
import type { ContentLevel } from "./bridge.js";
import { guarded, safePlacedText, safeText } from "./callbacks.js";
import type { Capabilities, LifecycleEvent } from "./contract.js";
import { LifecycleError } from "./error.js";
import type { HermesStatusSnapshot } from "./hermes.js";
import { type HermesLifecycleOptions, type HermesReport, hermesLifecycle } from "./hermes-lifecycle.js";
import type { LifecycleRecord } from "./projector.js";
import { type Readable, isReadable, readAll } from "./read-all.js";
import type { LifecycleSnapshot } from "./snapshot.js";
import { type SnapshotReason, duration, snapshotSchedule } from "./snapshot-schedule.js";

/** A Hermes that the host is connected to. */
export interface HermesMonitorSource {
  readonly type: "hermes";
  /** The source of its events, such as `hermes/<instance>`: one name for each Hermes that lives. */
  readonly source: string;
  /** Their epoch; a new one whenever Hermes or the host starts anew. */
  readonly sourceEpoch: string;
  /**
   * Asks Hermes for the status of its delegations: at the opening, at each reconnect, at the interval, and while the state of a child is in
   * doubt. `signal` is aborted at the deadline and at the close. What it throws is no answer.
   */
  readonly fetchStatus: (
    reason: SnapshotReason,
    options: { readonly signal: AbortSignal },
  ) => HermesStatusSnapshot | PromiseLike<HermesStatusSnapshot>;
  /**
   * Its delegation events. A function opens the stream, or promises one: again after each end and failure, ever more seldom, and each
   * time the status is asked for as a `reconnect`. The stream is opened before the status is asked for.
   */
  readonly events?:
    Readable<unknown> | (() => Readable<unknown> | PromiseLike<Readable<unknown>>) | undefined;
  /** Milliseconds from one status to the next; 30,000 by default. */
  readonly intervalMs?: number | undefined;
  /** Milliseconds that a status is waited for; 10,000 by default. */
  readonly deadlineMs?: number | undefined;
  /** The child of this source that stands for the host's own session. */
  readonly rootChildId?: string | undefined;
  /** What the host can do and tell beside snapshots, which it can; `unknown` by default. */
  readonly capabilities?: Partial<Omit<Capabilities, "terminalCause" | "snapshot">> | undefined;
}

/** Where all of it goes. */
export interface HermesCourt {
  apply(events: readonly LifecycleEvent[]): void;
  /** The records that the snapshot is about. */
  reconcile(
    snapshot: LifecycleSnapshot,
  ): Pick<LifecycleRecord, "source" | "childId" | "state" | "stateSince">[];
  /** A question got no answer. */
  unanswered(source: string, childId: string): void;
  report(code: string, message: string): void;
}

/** An observation that goes on until it is closed. */
export interface HermesObservation {
  readonly source: string;
  /** When the first status was taken, or there was none in time. Never rejects. */
  readonly opened: Promise<unknown>;
  /** The state of a child is in doubt: the status is asked for. */
  ask(childId: string): void;
  close(): void;
}

const INTERVAL_MS = 30_000;
const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 60_000;
/** A stream that takes longer to open does not hold up the status. */
const OPENING_MS = 1000;
/** A status that takes longer does not hold up the events. */
const HOLD_MS = 10_000;
/** Events that are kept until the status is there; beyond them the stream is read no further. */
const HELD = 1024;
/** Reports that are told once; beyond them all are forgotten. */
const REPORTS = 1024;

/**
 * The source, where its members are what they should be.
 *
 * @throws {LifecycleError} `invalid_option`, `invalid_argument`.
 */
export function hermesSource(source: HermesMonitorSource): HermesMonitorSource {
  optionsArgument(source, "source", MEMBERS);
  textArgument(source.source, "source");
  const { fetchStatus, events, intervalMs, deadlineMs } = source;
  if (intervalMs !== undefined) duration(intervalMs, "intervalMs");
  if (deadlineMs !== undefined) duration(deadlineMs, "deadlineMs");
  hermesLifecycle(lifecycleOptions(source, undefined));
  if (typeof fetchStatus !== "function") {
    throw new LifecycleError("invalid_option", "fetchStatus must be a function", { path: "fetchStatus" });
  }
  if (events !== undefined && typeof events !== "function" && !isReadable(events)) {
    const message = "events must be an async iterable, or a function that opens one";
    throw new LifecycleError("invalid_option", message, { path: "events" });
  }
  return source;
}

const MEMBERS = [
  "type",
  "source",
  "sourceEpoch",
  "fetchStatus",
  "events",
  "intervalMs",
  "deadlineMs",
  "rootChildId",
  "capabilities",
] as const;

const lifecycleOptions = (
  { source, sourceEpoch, rootChildId, capabilities }: HermesMonitorSource,
  content: ContentLevel | undefined,
): HermesLifecycleOptions => ({
  source,
  sourceEpoch,
  rootChildId,
  content,
  capabilities: { ...capabilities, snapshot: "known" },
});

/** Observes a Hermes. Its timers keep no script alive. */
export function observeHermes(
  given: HermesMonitorSource,
  content: ContentLevel | undefined,
  court: HermesCourt,
): HermesObservation {
  const { source, fetchStatus, events } = given;
  const hermes = hermesLifecycle(lifecycleOptions(given, content));
  const ended = new AbortController();
  const told = new Set<string>();

  /** Each kind of report of a child once: a status may say the same for hours. */
  function report({ code, childId, sessionId, message }: HermesReport) {
    const key = JSON.stringify([code, childId, sessionId]);
    if (told.has(key)) return;
    if (told.size === REPORTS) told.clear();
    told.add(key);
    court.report(code, `${source}: ${shown(childId)} of session ${shown(sessionId)}: ${message}`);
  }
  const schedule = snapshotSchedule<HermesStatusSnapshot, void>({
    fetch: fetchStatus,
    take(status) {
      const made = hermes.snapshot(status);
      if (made.snapshot !== undefined)
        for (const record of court.reconcile(made.snapshot)) hermes.corrected(record);
      court.apply(made.events);
      made.reported.forEach(report);
    },
    unanswered: (error, reason) =>
      court.report(
        "snapshot_unanswered",
        `${source}: no status (asked for: ${reason}): ${safePlacedText(error)}`,
      ),
    intervalMs: given.intervalMs ?? INTERVAL_MS,
    deadlineMs: given.deadlineMs,
  });
  function take(event: unknown) {
    try {
      const made = hermes.push(event as { type: string });
      court.apply(made.events);
      made.reported.forEach(report);
    } catch (error) {
      if (!(error instanceof LifecycleError)) throw error;
      court.report("event_refused", `${source}: ${error.message}`);
    }
  }
  /**
   * Reads a stream to its end. What comes before the status that is asked for meanwhile is kept, and applied after it: it may enter the
   * epoch that the events are of.
   */
  async function read(stream: Readable<unknown>, ask: () => Promise<unknown>, came: () => void) {
    const held: unknown[] = [];
    let isHeld = true;
    const reading = readAll(stream, ended.signal, (event) => {
      came();
      if (!isHeld) return take(event);
      held.push(event);
      return held.length < HELD ? undefined : released;
    });
    const released = (async () => {
      await within(HOLD_MS, ask());
      isHeld = false;
      if (!ended.signal.aborted) held.splice(0).forEach(take);
    })();
    await Promise.all([reading, released]);
  }
  /** The stream that `open` gives; nothing at the close. One that is long in opening holds up no status. */
  async function streamOf(open: () => unknown, ask: () => unknown): Promise<Readable<unknown> | undefined> {
    const opening = Promise.resolve(open());
    const impatience = setTimeout(ask, OPENING_MS).unref();
    const stream = await unlessAborted(opening, ended.signal).finally(() => clearTimeout(impatience));
    if (ended.signal.aborted) {
      // What opens after the close is ended, and not read.
      guarded(
        () => opening.then((late) => (isReadable(late) ? readAll(late, ended.signal, ignored) : undefined)),
        ignored,
      );
      return undefined;
    }
    if (isReadable(stream)) return stream;
    throw new TypeError(
      "events gave what cannot be iterated; it must give an async iterable or a promise of one",
    );
  }
  async function follow(open: () => unknown, isOpenedAgain: boolean, answered: (asked: unknown) => void) {
    let failures = 0;
    for (let reason: SnapshotReason = "session_open"; !ended.signal.aborted; reason = "reconnect") {
      let asked: Promise<unknown> | undefined;
      const why = reason;
      const ask = () => (asked = schedule.askAnew(why).then(answered));
      try {
        const stream = await streamOf(open, ask);
        if (stream !== undefined)
          await read(stream, ask, () => {
            failures = 0;
          });
      } catch (error) {
        if (!ended.signal.aborted) court.report("source_failed", `${source}: ${safeText(error)}`);
      }
      // Also where there is no stream the status says how things are.
      await (asked ?? ask());
      if (!isOpenedAgain) return;
      // By up to a half shorter, so that many hosts do not connect at once.
      const whole = Math.min(FIRST_PAUSE_MS * 2 ** failures, LAST_PAUSE_MS);
      failures += 1;
      await pause(whole * (1 - Math.random() / 2), undefined, { ref: false, signal: ended.signal });
    }
  }
  async function settle(childId: string) {
    await schedule.askUnlessPausing("question");
    // What the status settled is open no more.
    if (!ended.signal.aborted) court.unanswered(source, childId);
  }
  const opened = new Promise<unknown>((answered) => {
    if (events === undefined) return answered(schedule.ask("session_open"));
    const isOpenedAgain = typeof events === "function";
    // The pause ends with the close.
    guarded(() => follow(isOpenedAgain ? events : () => events, isOpenedAgain, answered), ignored);
  });
  return {
    source,
    opened,
    ask: (childId) => void settle(childId),
    close() {
      ended.abort();
      schedule.close();
    },
  };
}

const ignored = (): void => undefined;

/** What a promise gives; nothing where the signal is aborted before. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  let onAbort = ignored;
  const aborted = new Promise<undefined>((resolve) => {
    onAbort = () => resolve(undefined);
  });
  signal.addEventListener("abort", onAbort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}

/** Waits for a promise, but no longer than that. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms).unref();
  });
  await Promise.race([promise, over]).finally(() => clearTimeout(timer));
}

/** A name from elsewhere: bounded, and nothing that would move a cursor. */
const shown = (name: string): string => JSON.stringify(name.slice(0, 64).replaceAll(/\p{C}/gu, "\u{fffd}"));
