// A Hermes that a monitor watches: its status on a schedule, and its events as they come.
import { setTimeout as pause } from "node:timers/promises";
import { textArgument } from "./arguments.js";
import type { ContentLevel } from "./bridge.js";
import { guarded, safePlacedText, safeText } from "./callbacks.js";
import type { Capabilities, LifecycleEvent } from "./contract.js";
import { LifecycleError } from "./error.js";
import type { HermesStatusSnapshot } from "./hermes.js";
import { type HermesLifecycleOptions, type HermesReport, hermesLifecycle } from "./hermes-lifecycle.js";
import type { LifecycleRecord } from "./projector.js";
import { type Readable, isReadable, readAll } from "./read-all.js";
import type { LifecycleSnapshot } from "./snapshot.js";
import { type SnapshotReason, snapshotSchedule } from "./snapshot-schedule.js";

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
   * Its delegation events. A function opens the stream: again after each end and failure, ever more seldom, and each time the status is
   * asked for as a `reconnect`.
   */
  readonly events?: Readable<unknown> | (() => Readable<unknown>) | undefined;
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
/** Reports that are told once; beyond them all are forgotten. */
const REPORTS = 1024;

/**
 * The source, where its members are what they should be.
 *
 * @throws {LifecycleError} `invalid_option`, `invalid_argument`.
 */
export function hermesSource(source: HermesMonitorSource): HermesMonitorSource {
  textArgument(source.source, "source");
  const { fetchStatus, events } = source;
  if (typeof fetchStatus !== "function") {
    throw new LifecycleError("invalid_option", "fetchStatus must be a function", { path: "fetchStatus" });
  }
  if (events !== undefined && typeof events !== "function" && !isReadable(events)) {
    const message = "events must be an async iterable, or a function that opens one";
    throw new LifecycleError("invalid_option", message, { path: "events" });
  }
  return source;
}

/** Observes a Hermes. Its timers keep no script alive. */
export function observeHermes(
  given: HermesMonitorSource,
  content: ContentLevel | undefined,
  court: HermesCourt,
): HermesObservation {
  const { source, fetchStatus, events } = given;
  const options: HermesLifecycleOptions = {
    source,
    sourceEpoch: given.sourceEpoch,
    rootChildId: given.rootChildId,
    content,
    capabilities: { ...given.capabilities, snapshot: "known" },
  };
  const hermes = hermesLifecycle(options);
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
  async function follow(open: () => Readable<unknown>, isOpenedAgain: boolean) {
    let failures = 0;
    while (!ended.signal.aborted) {
      try {
        await readAll(open(), ended.signal, (event) => {
          failures = 0;
          take(event);
        });
      } catch (error) {
        if (!ended.signal.aborted) court.report("source_failed", `${source}: ${safeText(error)}`);
      }
      if (!isOpenedAgain) return;
      // By up to a half shorter, so that many hosts do not connect at once.
      const whole = Math.min(FIRST_PAUSE_MS * 2 ** failures, LAST_PAUSE_MS);
      failures += 1;
      await pause(whole * (1 - Math.random() / 2), undefined, { ref: false, signal: ended.signal });
      void schedule.ask("reconnect");
    }
  }
  async function settle(childId: string) {
    await schedule.askUnlessPausing("question");
    // What the status settled is open no more.
    if (!ended.signal.aborted) court.unanswered(source, childId);
  }
  const opened = schedule.ask("session_open");
  if (events !== undefined) {
    const isOpenedAgain = typeof events === "function";
    const open = typeof events === "function" ? events : () => events;
    // The first status may enter the epoch that the events are of. The pause ends with the close.
    guarded(
      () => opened.then(() => follow(open, isOpenedAgain)),
      () => undefined,
    );
  }
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

/** A name from elsewhere: bounded, and nothing that would move a cursor. */
const shown = (name: string): string => JSON.stringify(name.slice(0, 64).replaceAll(/\p{C}/gu, "\u{fffd}"));
