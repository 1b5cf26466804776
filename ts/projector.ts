// The projection: what is known of every child, from ordered evidence.
import {
  booleanOption,
  iterableArgument,
  numberOption,
  optionalText,
  optionsArgument,
  textArgument,
} from "./arguments.js";
import { bytesOf } from "./bytes.js";
import {
  type Capabilities,
  type LifecycleEvent,
  type LifecycleEventInput,
  type LifecycleEventKind,
  type LifecycleState,
  type Lineage,
  type WaitingReason,
  eventText,
  jsonText,
} from "./contract.js";
import { LifecycleError } from "./error.js";
import { type Native, callNative } from "./native.js";
import type { Diagnostic } from "./parser.js";
import { type ChangeSet, type Row, type RowTree, treeOf } from "./row.js";
import type { AuditEntry, LifecycleSnapshot, OpenQuestion, ReconcileResult } from "./snapshot.js";

export type { AuditEntry, LifecycleSnapshot, ReconcileResult } from "./snapshot.js";

/** What became of an event. */
export type ApplyStatus =
  "applied" | "provisional" | "deduplicated" | "out_of_order" | "conflict" | "terminal_immutable" | "stale";

/** Why it became that; each is explained in `docs/contract.md`. */
export type ApplyCode =
  | "epoch_retired"
  | "epoch_conflict"
  | "identity_conflict"
  | "identity_evicted"
  | "identity_unchecked"
  | "unknown_child"
  | "sequence_gap"
  | "missing_edge"
  | "late_sequence"
  | "late_evidence"
  | "history"
  | "lineage_changed"
  | "epoch_advanced"
  | "silence"
  | "reconciliation_pending"
  | "reconciliation_failed"
  | "reconciliation_unanswered"
  | "authoritative_snapshot"
  | "snapshot_admitted"
  | "snapshot_outdated"
  | "snapshot_repeated"
  | "end_contradicted"
  | "complete_snapshot_missing"
  | "checkpoint_broken"
  | "exit_with_open_turn";

/** What is known of one child. All times are RFC 3339 UTC. */
export interface LifecycleRecord {
  source: string;
  /** The present epoch of the source. */
  sourceEpoch: string;
  childId: string;
  lineage: Lineage;
  state: LifecycleState;
  waitingReason?: WaitingReason;
  stateSince: string;
  startedAt: string;
  /** The newest accepted activity, heartbeat or state event, or snapshot entry. */
  freshAt: string;
  /** Whether that is too old. Stale is not lost. */
  stale: boolean;
  staleReason?: ApplyCode;
  /** Set while a question about it is open: why (a code, or what the host gave), and what is known of the asking. */
  reconciliation?: { reason: string; deadlineAt: string; asked?: "pending" | "unanswered" };
  activity?: string;
  capabilities: Capabilities;
  gapDetected: boolean;
  epochConflict: string | null;
  highestSequence?: number;
  /** What came after its end; the newest 16. */
  lateEvidence: {
    count: number;
    recent: {
      eventId: string;
      kind: LifecycleEventKind;
      state?: LifecycleState;
      observedAt: string;
      code: ApplyCode;
    }[];
  };
  /** Notes about it; the newest 16. */
  notes: {
    count: number;
    recent: { eventId: string; kind: LifecycleEventKind; observedAt: string; activity?: string }[];
  };
}

/** What became of an event, and the record it is about. */
export interface ApplyResult {
  status: ApplyStatus;
  code?: ApplyCode;
  /** Absent where nothing is known of the child. */
  record?: LifecycleRecord;
  /** There and `true` where events are missing that only a complete snapshot can make up for. */
  wantsSnapshot?: true;
  /** Why, as sentences. */
  diagnostics: { code: ApplyCode; message: string }[];
}

/** An event that was refused: it recorded nothing. */
export interface RefusedResult {
  status: "refused";
  error: LifecycleError;
}

/** What became of the events of a chunk. */
export interface ApplyJsonlResult {
  /** Lines that are events. */
  events: number;
  /** How many of them became what. */
  results: { [status in ApplyStatus | "refused"]?: number };
  /** The first 32 events that came with a code, by the offset of their line. */
  rejected: {
    status: ApplyStatus | "refused";
    code: string;
    message: string;
    offset: number;
    eventId: string;
  }[];
  /** The first 32 faults of lines. */
  diagnostics: Diagnostic[];
  /** How many faults there were. */
  total: number;
  /** Bytes held of a line that is not complete. */
  pending: number;
}

/** A process, as the host sees it. */
export interface ProcessEvidence {
  pid: number;
  /** `yes` only where it is the very process that was recorded; `unknown` by default. */
  alive?: "yes" | "no" | "unknown" | undefined;
}

export interface LifecycleProjectorOptions {
  /** Milliseconds without evidence after which a child is stale; 120,000 by default. */
  staleAfterMs?: number | undefined;
  /** Milliseconds that an authority has to answer; 30,000 by default. */
  reconcileDeadlineMs?: number | undefined;
  /** Complete snapshots in a row that leave a child out before it is stale; 2 by default. */
  graceSnapshots?: number | undefined;
  /** Whether corrections are kept for `takeCorrections`; not by default. Who sets it has to take them, for they are kept until then. */
  corrections?: boolean | undefined;
}

export interface ApplyOptions {
  /** When the event reached this program (RFC 3339 UTC): a future `observedAt` does not count beyond it. */
  receivedAt?: string | undefined;
}

export interface ReconcileOptions extends ApplyOptions {
  /** Complete snapshots in a row, this one among them, that leave a child out before it is stale; as the projector has it by default. */
  graceSnapshots?: number;
}

/** @internal What is behind a projector, for those who hand it to the addon. */
export let nativeProjector: (projector: LifecycleProjector) => Native.NativeProjector;
/** @internal Whether a projector keeps corrections. */
export let keepsCorrections: (projector: LifecycleProjector) => boolean;

/**
 * A projection of children from their events: dedupes, orders, detects gaps, marks stale before lost. It reads no clock:
 * every time is given. Memory per child is bounded.
 */
export class LifecycleProjector {
  static {
    nativeProjector = (projector) => projector.#native;
    keepsCorrections = (projector) => projector.#keepsCorrections;
  }

  readonly #native: Native.NativeProjector;
  readonly #keepsCorrections: boolean;

  /** @throws {LifecycleError} `invalid_option`. */
  constructor(options?: LifecycleProjectorOptions) {
    const given = optionsArgument(options, "options", [
      "staleAfterMs",
      "reconcileDeadlineMs",
      "graceSnapshots",
      "corrections",
    ]);
    const staleAfterMs = numberOption(given.staleAfterMs, "staleAfterMs");
    const reconcileDeadlineMs = numberOption(given.reconcileDeadlineMs, "reconcileDeadlineMs");
    const graceSnapshots = numberOption(given.graceSnapshots, "graceSnapshots");
    const corrections = booleanOption(given.corrections, "corrections") ?? false;
    const set = Object.entries({ staleAfterMs, reconcileDeadlineMs, graceSnapshots, corrections }).filter(
      ([, value]) => value !== undefined,
    );
    this.#native = callNative((native) => new native.NativeProjector(Object.fromEntries(set)));
    this.#keepsCorrections = corrections;
  }

  /**
   * Applies one event.
   *
   * @throws {LifecycleError} where the event is invalid, its edge illegal, or a known child is created again. A refused event
   *   records nothing.
   */
  apply(event: LifecycleEventInput, options?: ApplyOptions): ApplyResult {
    return this.#apply(event, options);
  }

  #apply(event: unknown, options?: ApplyOptions): ApplyResult {
    const text = eventText(event);
    const received = receivedAt(options);
    return JSON.parse(callNative(() => this.#native.apply(text, received))) as ApplyResult;
  }

  /** As {@link apply}, with a refusal as a result. */
  tryApply(event: unknown, options?: ApplyOptions): ApplyResult | RefusedResult {
    try {
      return this.#apply(event, options);
    } catch (error) {
      if (error instanceof LifecycleError) return { status: "refused", error };
      throw error;
    }
  }

  /** Applies events in order, each with its result or refusal; a bad one does not stop the others. */
  applyMany(events: Iterable<unknown>, options?: ApplyOptions): (ApplyResult | RefusedResult)[] {
    const refused = new Map<number, LifecycleError>();
    const lines = Array.from(iterableArgument(events, "events"), (event, at) => {
      try {
        return eventText(event);
      } catch (error) {
        if (!(error instanceof LifecycleError)) throw error;
        refused.set(at, error);
        return "null";
      }
    });
    if (lines.length === 0) return [];
    const received = receivedAt(options);
    const text = callNative(() => this.#native.applyMany(lines.join("\n"), received));
    return (JSON.parse(text) as NativeResult[]).map((result, at) => {
      if (result.status !== "refused") return result;
      const { code, path, message } = result.error;
      return { status: "refused", error: refused.get(at) ?? new LifecycleError(code, message, { path }) };
    });
  }

  /**
   * Applies the events that `chunk` completes; a line that is not complete is held until its rest comes. With `end` the stream is
   * over: what is held is reported as `truncated`.
   */
  applyJsonl(
    chunk: Uint8Array | string,
    options?: ApplyOptions & { end?: boolean | undefined },
  ): ApplyJsonlResult {
    const bytes = bytesOf(chunk);
    const given = optionsArgument(options, "options", ["receivedAt", "end"]);
    const received = optionalText(given.receivedAt, "receivedAt");
    const end = booleanOption(given.end, "end") ?? false;
    return JSON.parse(callNative(() => this.#native.applyJsonl(bytes, received, end))) as ApplyJsonlResult;
  }

  /** The record of a child. */
  snapshot(source: string, childId: string): LifecycleRecord | undefined {
    const names = nameArguments(source, childId);
    const text = callNative(() => this.#native.snapshot(...names));
    return text === null ? undefined : (JSON.parse(text) as LifecycleRecord);
  }

  /** The present epoch of a source; `undefined` where nothing is known of it. */
  epoch(source: string): string | undefined {
    const name = textArgument(source, "source");
    return callNative(() => this.#native.epoch(name)) ?? undefined;
  }

  /** All rows in tree order. */
  list(): Row[] {
    return JSON.parse(callNative(() => this.#native.list())) as Row[];
  }

  /** All rows as a tree. */
  tree(): RowTree[] {
    return treeOf(this.list());
  }

  /**
   * Marks each child that has not ended and was not heard of for `staleAfterMs`, once, and opens a reconciliation for it.
   *
   * @returns the results of those newly marked.
   */
  markStale(now: string): ApplyResult[] {
    const time = textArgument(now, "now");
    return JSON.parse(callNative(() => this.#native.markStale(time))) as ApplyResult[];
  }

  /**
   * Takes what an authority says of all children of a source, or of those that it names.
   *
   * @throws {LifecycleError} where the snapshot is invalid, `incomplete_snapshot` where it is not complete, `epoch_mismatch` where it
   *   is of another epoch and does not advance it. A refused snapshot changes nothing.
   */
  reconcile(snapshot: LifecycleSnapshot, options?: ReconcileOptions): ReconcileResult {
    const text = jsonText(snapshot, "snapshot", "invalid_snapshot");
    const given = optionsArgument(options, "options", ["receivedAt", "graceSnapshots"]);
    const received = optionalText(given.receivedAt, "receivedAt");
    const grace = numberOption(given.graceSnapshots, "graceSnapshots");
    return JSON.parse(callNative(() => this.#native.reconcile(text, received, grace))) as ReconcileResult;
  }

  /** The questions that are open about the children of a source: what an authority is to be asked. */
  questions(source: string): OpenQuestion[] {
    const name = textArgument(source, "source");
    return JSON.parse(callNative(() => this.#native.questions(name))) as OpenQuestion[];
  }

  /**
   * Opens a question about a child at once, which the caller asks an authority: its process is dead, or it exited with an open turn.
   * Evidence of the child that is newer than `now` answers it. `deduplicated` where it is being asked already.
   */
  requestReconciliation(source: string, childId: string, reason: string, now: string): ApplyResult {
    const names = nameArguments(source, childId);
    const given: [string, string] = [textArgument(reason, "reason"), textArgument(now, "now")];
    return JSON.parse(
      callNative(() => this.#native.requestReconciliation(...names, ...given)),
    ) as ApplyResult;
  }

  /**
   * Says that an authority answered that the child is gone, or that its owner is provably dead. Never say it because nobody answered.
   *
   * @returns `applied` where the child is lost by it, `provisional` before the deadline of the open question, `deduplicated` where
   *   none is open.
   */
  reconciliationFailed(source: string, childId: string, now: string): ApplyResult {
    const names = nameArguments(source, childId);
    const time = textArgument(now, "now");
    return JSON.parse(callNative(() => this.#native.reconciliationFailed(...names, time))) as ApplyResult;
  }

  /** Says that the open question about a child got no answer: nothing, an error or a time-out. Ask again later. */
  reconciliationUnanswered(source: string, childId: string, now: string): ApplyResult {
    const names = nameArguments(source, childId);
    const time = textArgument(now, "now");
    return JSON.parse(callNative(() => this.#native.reconciliationUnanswered(...names, time))) as ApplyResult;
  }

  /**
   * Says what is known of a child's process; `undefined` takes it back. A root that waits for its prompt while its process lives does
   * not become stale, and is not stale any more where silence made it so. It is part of no event and no checkpoint.
   *
   * @returns whether the child is known.
   */
  setProcess(source: string, childId: string, process: ProcessEvidence | undefined): boolean {
    const names = nameArguments(source, childId);
    const { pid, alive } = optionsArgument(process, "process", ["pid", "alive"]);
    if (alive !== undefined && typeof alive !== "string") {
      const message = 'alive must be "yes", "no" or "unknown"';
      throw new LifecycleError("invalid_option", message, { path: "alive" });
    }
    const given: [number | undefined, string | undefined] = [
      process === undefined ? undefined : (numberOption(pid, "pid") ?? Number.NaN),
      alive,
    ];
    return callNative(() => this.#native.setProcess(...names, ...given));
  }

  /**
   * The rows that changed since a cursor, also those of which only a derived member changed. Without a cursor, or with one that is too
   * old or of another projection, all rows and `reset: true`. The same cursor again gives at least the same.
   */
  changesSince(cursor?: string): ChangeSet {
    const given = optionalText(cursor, "cursor");
    return JSON.parse(callNative(() => this.#native.changesSince(given))) as ChangeSet;
  }

  /** Corrections since the last call (of a projector with `corrections: true`) as events for a journal, oldest first. */
  takeCorrections(): LifecycleEvent[] {
    return JSON.parse(callNative(() => this.#native.takeCorrections())) as LifecycleEvent[];
  }

  /**
   * Takes an event of a journal: as {@link apply}, but an event with `details.lifecycle` is the correction that it says, made again.
   * `receivedAt` is that of the journal's line.
   */
  replay(event: LifecycleEventInput, options?: ApplyOptions): ApplyResult {
    const text = eventText(event);
    const received = receivedAt(options);
    return JSON.parse(callNative(() => this.#native.replay(text, received))) as ApplyResult;
  }

  /** Events that rebuild this projection when they are replayed. */
  checkpoint(now: string): LifecycleEvent[] {
    const time = textArgument(now, "now");
    return JSON.parse(callNative(() => this.#native.checkpoint(time))) as LifecycleEvent[];
  }

  /**
   * Moves a source from its present epoch to a new one. Its records continue, its sequences start anew.
   *
   * @throws {LifecycleError} `epoch_mismatch` where `from` is not the present epoch or `to` is an old one.
   */
  advanceEpoch(advance: { source: string; from: string; to: string; observedAt: string }): void {
    const { source, from, to, observedAt } = optionsArgument(advance, "advance", [
      "source",
      "from",
      "to",
      "observedAt",
    ]);
    const given: [string, string, string, string] = [
      textArgument(source, "source"),
      textArgument(from, "from"),
      textArgument(to, "to"),
      textArgument(observedAt, "observedAt"),
    ];
    callNative(() => this.#native.advanceEpoch(...given));
  }

  /** Drops records that ended before a time. */
  forget(what: { terminalBefore: string }): { source: string; childId: string }[] {
    const before = textArgument(
      optionsArgument(what, "what", ["terminalBefore"]).terminalBefore,
      "terminalBefore",
    );
    const text = callNative(() => this.#native.forget(before));
    return (JSON.parse(text) as [string, string][]).map(([source, childId]) => ({ source, childId }));
  }

  /** What authorities changed: the newest 256 entries and how many there were. */
  audit(): { count: number; recent: AuditEntry[] } {
    return JSON.parse(callNative(() => this.#native.audit())) as { count: number; recent: AuditEntry[] };
  }
}

const nameArguments = (source: string, childId: string): [string, string] => [
  textArgument(source, "source"),
  textArgument(childId, "childId"),
];

function receivedAt(options: ApplyOptions | undefined): string | undefined {
  return optionalText(optionsArgument(options, "options", ["receivedAt"]).receivedAt, "receivedAt");
}

type NativeResult =
  ApplyResult | { status: "refused"; error: { code: string; path: string; message: string } };
