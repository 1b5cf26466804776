// When Hermes is asked for the status of its delegations, and what its answers ask of a host that holds the records itself.
import { createHash } from "node:crypto";
import { countOption, functionOption, optionFault, optionsArgument } from "./arguments.js";
import { guarded, reporter, safePlacedText, safeText, steadyClock } from "./callbacks.js";
import { jsonText } from "./contract.js";
import {
  type HermesInput,
  type HermesIntent,
  type HermesRecord,
  type HermesRefusal,
  type HermesStatusSnapshot,
  reconcileHermesDelegationStatus,
} from "./hermes.js";
import { redact } from "./redact.js";
import { type SnapshotReason, duration, snapshotSchedule } from "./snapshot-schedule.js";

/** Why Hermes is asked. */
export type HermesStatusReason = Exclude<SnapshotReason, "question">;

/** What a status snapshot asks of a host. */
export interface HermesReconciled {
  inputs: HermesInput[];
  intents: HermesIntent[];
}

/** Something is not as it should be; the reconciler goes on. */
export interface HermesDiagnostic {
  /** `snapshot_unanswered`, `callback_failed`, or the code of a status that is not understood. */
  readonly code: string;
  readonly message: string;
  /** What was thrown, or the delegation whose status is not understood. */
  readonly error: unknown;
}

type Records = Iterable<HermesRecord> | ReadonlyMap<string, HermesRecord>;

export interface HermesDelegationReconcilerOptions {
  /** Milliseconds, as a function or an object with `now`; only differences count. */
  readonly clock?: (() => number) | { now(): number } | undefined;
  /** Milliseconds from the end of one request until the next is due; positive and finite. */
  readonly intervalMs: number;
  /** Asks Hermes. `signal` is aborted at the deadline; an answer after that is none. */
  readonly fetchStatus: (
    reason: HermesStatusReason,
    options: { readonly signal: AbortSignal },
  ) => HermesStatusSnapshot | PromiseLike<HermesStatusSnapshot>;
  /** The records that the host holds, or what gives them when an answer is there. */
  readonly current: Records | (() => Records);
  /** Gets what each answer asks, once. */
  readonly onReconciled?:
    ((reconciled: HermesReconciled, reason: HermesStatusReason) => void | Promise<void>) | undefined;
  /** At which complete snapshot in a row that leaves a record out it is stale; 2 by default. */
  readonly missingGraceSnapshots?: number | undefined;
  /** Milliseconds that an answer is waited for; 10,000 by default. */
  readonly deadlineMs?: number | undefined;
  /** Gets what is not as it should be; without it the first of each code is a process warning. */
  readonly onDiagnostic?: ((diagnostic: HermesDiagnostic) => void | Promise<void>) | undefined;
}

/** Who asks Hermes. Each call rejects where there was no answer; a rejection that nobody waits for ends no process. */
export interface HermesDelegationReconciler {
  /** A session was opened: asks now. */
  sessionOpened(): Promise<HermesReconciled>;
  /** The connection is there again: asks now. */
  reconnected(): Promise<HermesReconciled>;
  /** Asks where the interval is over, nothing was asked yet, or the last request failed; else `undefined`. */
  reconcileIfDue(): Promise<HermesReconciled | undefined>;
}

const OPTIONS = [
  "clock",
  "intervalMs",
  "fetchStatus",
  "current",
  "onReconciled",
  "missingGraceSnapshots",
  "deadlineMs",
  "onDiagnostic",
] as const;
const GRACE = 2;
/** Snapshots of one time that are remembered; beyond them all are forgotten. */
const SAME_TIME = 1024;

/**
 * Asks Hermes at session open, at a reconnect and where the host finds that it is due, for a host that holds the records itself. Whoever
 * has a projector uses `createReconciler`. Requests that overlap share the first one; what complete snapshots leave out is counted
 * across them.
 *
 * @throws {LifecycleError} `invalid_option`, `invalid_argument`.
 */
export function createHermesDelegationReconciler(
  options: HermesDelegationReconcilerOptions,
): HermesDelegationReconciler {
  const { clock, current, fetchStatus, onReconciled, grace, ...given } = judged(options);
  const report = reporter(given.onDiagnostic);
  /** Complete snapshots in a row that left a record out, by child and session. */
  let misses = new Map<string, number>();

  const order = snapshotOrder();

  /** What a snapshot asks; nothing where it was seen before, or is older than the last that was taken. */
  function compared(text: string): HermesReconciled {
    const snapshot = JSON.parse(text) as HermesStatusSnapshot;
    const records = typeof current === "function" ? current() : current;
    const refusals: HermesRefusal[] = [];
    // With a grace of one it names every record that was left out.
    const { inputs, intents } = reconcileHermesDelegationStatus(snapshot, records, {
      missingGraceSnapshots: 1,
      onRefused: (refusal) => refusals.push(refusal),
    });
    if (!order.takes(snapshot, text)) return { inputs: [], intents: [] };
    for (const error of refusals) {
      const { code, path, message } = error;
      report({ code, message: redact(`${path}: ${message}`), error });
    }
    const counted = new Map<string, number>();
    const due = intents.filter((intent) => {
      if (intent.kind !== "mark_stale_unknown") return true;
      const key = `${intent.childId}\0${intent.sessionId}`;
      const count = (misses.get(key) ?? 0) + 1;
      counted.set(key, count);
      return count >= grace;
    });
    if (snapshot.complete) misses = counted;
    return { inputs, intents: due };
  }
  function take(answer: HermesStatusSnapshot, reason: SnapshotReason): HermesReconciled {
    // Read once: what is compared is what is counted.
    const reconciled = compared(jsonText(answer, "snapshot", "invalid_snapshot"));
    guarded(
      () => onReconciled?.(reconciled, reason as HermesStatusReason),
      (error) =>
        report({ code: "callback_failed", message: `onReconciled failed: ${safeText(error)}`, error }),
    );
    return reconciled;
  }
  const schedule = snapshotSchedule<HermesStatusSnapshot, HermesReconciled>({
    fetch: (reason, request) => fetchStatus(reason as HermesStatusReason, request),
    take,
    unanswered(error, reason) {
      const message = `no status of delegations (asked for: ${reason}): ${safePlacedText(error)}`;
      report({ code: "snapshot_unanswered", message, error });
    },
    intervalMs: given.intervalMs,
    deadlineMs: given.deadlineMs,
    isAutomatic: false,
    clock:
      clock &&
      steadyClock(
        clock,
        Number.isFinite,
        () => performance.now(),
        (error) =>
          report({
            code: "callback_failed",
            message: `clock failed, and the system's is used: ${safeText(error)}`,
            error,
          }),
      ),
  });
  /** The answer of a request; it is rejected where there was none. */
  function answered(asked: ReturnType<typeof schedule.ask>): Promise<HermesReconciled> {
    const answer = asked.then((settled) => {
      if (settled.status === "answered") return settled.result;
      throw settled.status === "unanswered" ? settled.error : new Error("closed");
    });
    // It was reported already.
    answer.catch(() => {});
    return answer;
  }
  return {
    sessionOpened: () => answered(schedule.ask("session_open")),
    reconnected: () => answered(schedule.ask("reconnect")),
    reconcileIfDue() {
      const asked = schedule.askIfDue();
      return asked === undefined ? Promise.resolve(undefined) : answered(asked);
    },
  };
}

/** Which snapshots are taken: none that is older than the last, and none of its time twice. */
function snapshotOrder() {
  let newest = "";
  /** Hashes of those that were observed then. */
  let taken = new Set<string>();
  return {
    takes(snapshot: HermesStatusSnapshot, text: string): boolean {
      const at = sortable(snapshot);
      if (at < newest) return false;
      if (at > newest) taken = new Set();
      newest = at;
      const name = createHash("sha256").update(text).digest("base64");
      if (taken.has(name)) return false;
      if (taken.size === SAME_TIME) taken.clear();
      taken.add(name);
      return true;
    },
  };
}

/** When a snapshot that is valid was observed, as text in the order of time. */
function sortable(snapshot: HermesStatusSnapshot & { readonly observed_at?: unknown }): string {
  const names: readonly unknown[] = [snapshot.observedAt, snapshot.observed_at];
  const at = names.find((name) => typeof name === "string" && name.trim() !== "");
  const [, seconds = "", fraction = ""] = /^\s*(.{19})(?:\.(\d+))?/u.exec(String(at)) ?? [];
  return `${seconds}.${fraction.padEnd(9, "0")}`;
}

/** The options, or the refusal of the first that breaks a rule. */
function judged(options: HermesDelegationReconcilerOptions) {
  const given = optionsArgument(options, "options", OPTIONS);
  const { clock, current } = given;
  const fetchStatus = functionOption(given.fetchStatus, "fetchStatus");
  if (fetchStatus === undefined) throw optionFault("fetchStatus", "fetchStatus must be a function");
  const now =
    typeof clock === "object" && clock !== null ? () => clock.now() : functionOption(clock, "clock");
  if (typeof clock === "object" && typeof (clock as Partial<typeof clock> | null)?.now !== "function")
    throw optionFault("clock", "clock must be a function, or an object with now");
  if (current === undefined || !(typeof current === "function" || isIterable(current)))
    throw optionFault("current", "current must be the records, or a function that gives them");
  return {
    clock: now,
    current,
    fetchStatus,
    grace: countOption(given.missingGraceSnapshots, "missingGraceSnapshots") ?? GRACE,
    intervalMs: duration(given.intervalMs, "intervalMs"),
    deadlineMs: given.deadlineMs === undefined ? undefined : duration(given.deadlineMs, "deadlineMs"),
    onReconciled: functionOption(given.onReconciled, "onReconciled"),
    onDiagnostic: functionOption(given.onDiagnostic, "onDiagnostic"),
  };
}

const isIterable = (value: unknown) =>
  typeof value === "object" && value !== null && Symbol.iterator in value;
