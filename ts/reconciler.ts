/// <reference lib="esnext.disposable" preserve="true" />
// Reconciliation on a schedule: one owner for each source, who asks its authority and takes what it says.
import {
  booleanOption,
  countOption,
  functionOption,
  optionFault,
  optionalText,
  optionsArgument,
  set,
  textArgument,
} from "./arguments.js";
import { guarded, reporter, safePlacedText, safeText, steadyClock } from "./callbacks.js";
import { jsonText } from "./contract.js";
import { LifecycleError } from "./error.js";
import type { JsonlLifecycleJournal } from "./journal.js";
import { LifecycleProjector, type RefusedResult, keepsCorrections } from "./projector.js";
import type { AuditEntry, LifecycleSnapshot, ReconcileResult } from "./snapshot.js";
import { type Asked, type SnapshotReason, duration, snapshotSchedule } from "./snapshot-schedule.js";

/** Something is not as it should be; the reconciler goes on. */
export interface ReconcilerDiagnostic {
  /** `snapshot_unanswered`, `journal_failed` or `callback_failed`. */
  readonly code: string;
  readonly message: string;
  /** What was thrown. */
  readonly error: unknown;
}

export interface ReconcilerOptions {
  readonly projector: LifecycleProjector;
  /** Whose children; one reconciler for each source of a projector. */
  readonly source: string;
  /**
   * Asks the authority for a complete snapshot of the source. `signal` is aborted at the deadline and at the close. What it throws,
   * and a snapshot that is refused, is no answer.
   */
  readonly fetchSnapshot: (
    reason: SnapshotReason,
    options: { readonly signal: AbortSignal },
  ) => LifecycleSnapshot | PromiseLike<LifecycleSnapshot>;
  /** Milliseconds from one answer to the next request; positive and finite. */
  readonly intervalMs: number;
  /** Milliseconds that an answer is waited for; 10,000 by default. */
  readonly deadlineMs?: number | undefined;
  /** Complete snapshots in a row that leave a child out before it is stale; as the projector has it by default. */
  readonly graceSnapshots?: number | undefined;
  /** Gets each correction that an answer made, once. */
  readonly onAudit?: ((entry: AuditEntry) => void | Promise<void>) | undefined;
  /** Gets what became of each answer that was taken: the records for a bridge, and the children that are not known, among them. */
  readonly onReconciled?:
    ((result: ReconcileResult, reason: SnapshotReason) => void | Promise<void>) | undefined;
  /** Gets what is not as it should be; without it the first of each code is a process warning. */
  readonly onDiagnostic?: ((diagnostic: ReconcilerDiagnostic) => void | Promise<void>) | undefined;
  /** Gets the corrections of the projector, which has to be made with `corrections: true`. It stays open at the close. */
  readonly journal?: Pick<JsonlLifecycleJournal, "appendMany"> | undefined;
  /** Whether it asks by timers of its own, which keep no script alive; true by default. If not, call `reconcileIfDue`. */
  readonly automatic?: boolean | undefined;
  /** Milliseconds since 1970, for what is written and for the interval; by default the system's time, and a clock that never jumps. */
  readonly clock?: (() => number) | undefined;
}

/** Which corrections; all of the source where nothing is given. */
export interface AuditQuery {
  readonly childId?: string | undefined;
  readonly snapshotId?: string | undefined;
  readonly reason?: AuditEntry["reason"] | undefined;
  /** Those observed at this time (RFC 3339 UTC) or later. */
  readonly since?: string | undefined;
}

/** The owner of a source. Its requests resolve to what came of them, and never reject. */
export interface Reconciler extends AsyncDisposable {
  /** A session with the authority was opened: asks now. */
  sessionOpened(): Promise<Asked<ReconcileResult>>;
  /** The connection is there again: asks now. */
  reconnected(): Promise<Asked<ReconcileResult>>;
  /** Asks where the interval is over or a question is open that nobody was asked, unless failures hold it back; else `undefined`. */
  reconcileIfDue(): Promise<Asked<ReconcileResult> | undefined>;
  /**
   * The corrections of the source that the projection remembers, oldest first, whoever made them. `complete` is whether it remembers
   * all that there were.
   */
  audit(query?: AuditQuery): { entries: AuditEntry[]; complete: boolean };
  /** Ends it, frees the source, and resolves when the journal has what is to be written. More than once is as good as once. */
  close(): Promise<void>;
}

const OPTIONS = [
  "projector",
  "source",
  "fetchSnapshot",
  "intervalMs",
  "deadlineMs",
  "graceSnapshots",
  "onAudit",
  "onReconciled",
  "onDiagnostic",
  "journal",
  "automatic",
  "clock",
] as const;
/** How often it looks for questions that are new. */
const LOOK_MS = 1000;

/** The sources of each projector that have an owner. */
const owned = new WeakMap<LifecycleProjector, Set<string>>();

/**
 * Keeps the children of one source true to what their authority says: asks it at session open, at a reconnect, at an interval and
 * where a question is open, and takes each complete snapshot once. No answer ends nothing.
 *
 * @throws {LifecycleError} `source_owned` where the source has a reconciler that is not closed, `invalid_option`, `invalid_argument`.
 */
export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { projector, source, journal, grace, onAudit, onReconciled, onDiagnostic, ...given } =
    judged(options);
  own(projector, source);
  const report = reporter(onDiagnostic);
  const clock =
    given.clock &&
    steadyClock(given.clock, isTime, Date.now, (error) =>
      report({
        code: "callback_failed",
        message: `clock failed, and the system's is used: ${safeText(error)}`,
        error,
      }),
    );
  const now = () => new Date((clock ?? Date.now)()).toISOString();
  /** Children whose questions were put to the authority, each with the deadline that names the question. */
  let put = new Map<string, string>();
  const corrections = correctionsWriter(projector, journal, report);

  /** Puts the open questions to the authority. Those that it did not answer before stay so until it does. */
  function ask() {
    corrections.write();
    let open = projector.questions(source);
    const unasked = open.filter(({ asked }) => asked === undefined);
    for (const { childId, reason } of unasked)
      projector.requestReconciliation(source, childId, reason, now());
    if (unasked.length > 0) open = projector.questions(source);
    put = new Map(open.map(({ childId, deadlineAt }) => [childId, deadlineAt]));
    corrections.write();
  }
  /** Of what was put to the authority, what is still open got no answer. */
  function noteUnanswered() {
    for (const { childId, deadlineAt, asked } of projector.questions(source))
      if (asked !== "unanswered" && put.get(childId) === deadlineAt)
        projector.reconciliationUnanswered(source, childId, now());
    corrections.write();
  }
  const told = (name: string, call: () => unknown) =>
    guarded(call, (error) =>
      report({ code: "callback_failed", message: `${name} failed: ${safeText(error)}`, error }),
    );
  function take(answer: LifecycleSnapshot, reason: SnapshotReason): ReconcileResult {
    // Read once: what is looked at here is what the projector gets.
    const snapshot = JSON.parse(jsonText(answer, "snapshot", "invalid_snapshot")) as LifecycleSnapshot;
    const of = (snapshot as Partial<LifecycleSnapshot> | null)?.source;
    if (typeof of === "string" && of.trim() !== source) {
      const message = "source is another one than that of the reconciler; give each source its own";
      throw new LifecycleError("foreign_snapshot", message, { path: "$.source" });
    }
    const result = projector.reconcile(snapshot, { receivedAt: now(), ...grace });
    noteUnanswered();
    for (const entry of result.audit) told("onAudit", () => onAudit?.(entry));
    told("onReconciled", () => onReconciled?.(result, reason));
    return result;
  }
  const schedule = snapshotSchedule<LifecycleSnapshot, ReconcileResult>({
    fetch(reason, request) {
      ask();
      return given.fetchSnapshot(reason, request);
    },
    take,
    unanswered(error, reason) {
      noteUnanswered();
      const message = `no snapshot (asked for: ${reason}): ${safePlacedText(error)}`;
      report({ code: "snapshot_unanswered", message, error });
    },
    intervalMs: given.intervalMs,
    deadlineMs: given.deadlineMs,
    isAutomatic: given.isAutomatic,
    backsOff: true,
    clock,
  });
  const hasNewQuestions = () =>
    projector.questions(source).some(({ childId, deadlineAt }) => put.get(childId) !== deadlineAt);
  const askNewQuestions = () => (hasNewQuestions() ? schedule.askUnlessPausing("question") : undefined);
  const looking = given.isAutomatic ? setInterval(() => void askNewQuestions(), LOOK_MS).unref() : undefined;
  let isClosed = false;

  const finished = async <T>(asked: T): Promise<Awaited<T>> => {
    const answer = await asked;
    await corrections.written();
    return answer;
  };
  const close = async () => {
    if (!isClosed) {
      isClosed = true;
      schedule.close();
      clearInterval(looking);
      owned.get(projector)?.delete(source);
      // Nobody waits for an answer any more.
      noteUnanswered();
    }
    await corrections.written();
  };
  return {
    sessionOpened: () => finished(schedule.ask("session_open")),
    reconnected: () => finished(schedule.ask("reconnect")),
    reconcileIfDue: () => finished(isClosed ? undefined : (schedule.askIfDue() ?? askNewQuestions())),
    audit: (query) => auditOf(projector, source, query),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Writes what the projector corrected into the journal, in the turn in which it did. */
function correctionsWriter(
  projector: LifecycleProjector,
  journal: ReconcilerOptions["journal"],
  report: (diagnostic: ReconcilerDiagnostic) => void,
) {
  let written: Promise<unknown> = Promise.resolve();
  const failed = (error: unknown, count: number) => {
    const message = `${count} corrections are not known to be in the journal: ${safePlacedText(error)}`;
    report({ code: "journal_failed", message, error });
  };
  async function append(journalled: NonNullable<typeof journal>) {
    const made = projector.takeCorrections();
    if (made.length === 0) return;
    try {
      const answers = await journalled.appendMany(made);
      const refused = answers.filter((answer) => "status" in answer && answer.status === "refused");
      if (refused.length > 0) failed((refused[0] as RefusedResult).error, refused.length);
    } catch (error) {
      failed(error, made.length);
    }
  }
  return {
    write() {
      if (journal !== undefined) written = Promise.all([written, append(journal)]);
    },
    written: () => written,
  };
}

/** The options, or the refusal of the first that breaks a rule. */
function judged(options: ReconcilerOptions) {
  const given = optionsArgument(options, "options", OPTIONS);
  const { projector, journal } = given;
  if (!(projector instanceof LifecycleProjector))
    throw optionFault("projector", "projector must be a LifecycleProjector");
  const source = textArgument(given.source, "source").trim();
  if (source === "") throw optionFault("source", "source must name whose children are reconciled");
  const fetchSnapshot = functionOption(given.fetchSnapshot, "fetchSnapshot");
  if (fetchSnapshot === undefined) throw optionFault("fetchSnapshot", "fetchSnapshot must be a function");
  if (journal !== undefined && typeof (journal as Partial<typeof journal> | null)?.appendMany !== "function")
    throw optionFault("journal", "journal must have appendMany, as JsonlLifecycleJournal has");
  if (journal !== undefined && !keepsCorrections(projector))
    throw optionFault("journal", "a journal needs a projector that is made with corrections: true");
  const clock = functionOption(given.clock, "clock");
  if (clock !== undefined) {
    steadyClock(clock, isTime, Date.now, (error) => {
      throw optionFault("clock", `clock must give milliseconds since 1970: ${safeText(error)}`);
    })();
  }
  return {
    projector,
    source,
    fetchSnapshot,
    intervalMs: duration(given.intervalMs, "intervalMs"),
    deadlineMs: given.deadlineMs === undefined ? undefined : duration(given.deadlineMs, "deadlineMs"),
    grace: set("graceSnapshots", countOption(given.graceSnapshots, "graceSnapshots")),
    onAudit: functionOption(given.onAudit, "onAudit"),
    onReconciled: functionOption(given.onReconciled, "onReconciled"),
    onDiagnostic: functionOption(given.onDiagnostic, "onDiagnostic"),
    journal,
    isAutomatic: booleanOption(given.automatic, "automatic") ?? true,
    clock,
  };
}

/** Whether a reading of a clock is a time that can be written. */
const isTime = (value: number): boolean => !Number.isNaN(new Date(value).getTime());

/** Makes the caller the owner of a source. */
function own(projector: LifecycleProjector, source: string): void {
  const sources = owned.get(projector) ?? new Set();
  if (sources.has(source)) {
    const message =
      "the source has a reconciler already; close it first: a source has one owner and one authority";
    throw new LifecycleError("source_owned", message, { path: "source" });
  }
  owned.set(projector, sources.add(source));
}

function auditOf(projector: LifecycleProjector, source: string, query: AuditQuery | undefined) {
  const given = optionsArgument(query, "query", ["childId", "snapshotId", "reason", "since"]);
  const childId = optionalText(given.childId, "childId");
  const snapshotId = optionalText(given.snapshotId, "snapshotId");
  const reason = optionalText(given.reason, "reason");
  const since = Date.parse(optionalText(given.since, "since") ?? "1970-01-01T00:00:00Z");
  if (Number.isNaN(since)) {
    const message = "since must be RFC 3339 UTC, such as 2026-05-17T22:29:21Z";
    throw new LifecycleError("invalid_timestamp", message, { path: "since" });
  }
  const { count, recent } = projector.audit();
  const entries = recent.filter(
    (entry) =>
      entry.source === source &&
      (childId === undefined || entry.childId === childId) &&
      (snapshotId === undefined || entry.snapshotId === snapshotId) &&
      (reason === undefined || entry.reason === reason) &&
      Date.parse(entry.observedAt) >= since,
  );
  return { entries, complete: count === recent.length };
}
