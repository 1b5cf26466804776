// The projection: what is known of every child, from ordered evidence.
import { iterableArgument, numberOption, optionalText, optionsArgument, textArgument } from "./arguments.js";
import { bytesOf } from "./bytes.js";
import {
  type Capabilities,
  type LifecycleEventInput,
  type LifecycleEventKind,
  type LifecycleState,
  type Lineage,
  type WaitingReason,
  eventText,
} from "./contract.js";
import { LifecycleError } from "./error.js";
import { type Native, callNative } from "./native.js";
import type { Diagnostic } from "./parser.js";
import { type Row, type RowTree, treeOf } from "./row.js";

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
  | "silence";

/** What is known of one child. All times are RFC 3339 UTC. */
export interface LifecycleRecord {
  source: string;
  childId: string;
  lineage: Lineage;
  state: LifecycleState;
  waitingReason?: WaitingReason;
  stateSince: string;
  startedAt: string;
  /** The newest accepted activity, heartbeat or state event. */
  freshAt: string;
  /** Whether that is too old. Stale is not lost. */
  stale: boolean;
  staleReason?: ApplyCode;
  /** Set while an authority is to be asked. */
  reconciliation?: { reason: ApplyCode; deadlineAt: string };
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

/** What an authority changed. */
export interface AuditEntry {
  source: string;
  from: string;
  to: string;
  observedAt: string;
  reason: "epoch_advanced";
}

export interface LifecycleProjectorOptions {
  /** Milliseconds without evidence after which a child is stale; 120,000 by default. */
  staleAfterMs?: number;
  /** Milliseconds that an authority has to answer; 30,000 by default. */
  reconcileDeadlineMs?: number;
}

export interface ApplyOptions {
  /** When the event reached this program (RFC 3339 UTC): a future `observedAt` does not count beyond it. */
  receivedAt?: string;
}

/**
 * A projection of children from their events: dedupes, orders, detects gaps, marks stale before lost. It reads no clock:
 * every time is given. Memory per child is bounded.
 */
export class LifecycleProjector {
  readonly #native: Native.NativeProjector;

  /** @throws {LifecycleError} `invalid_option`. */
  constructor(options?: LifecycleProjectorOptions) {
    const given = optionsArgument(options, "options");
    const staleAfterMs = numberOption(given.staleAfterMs, "staleAfterMs");
    const reconcileDeadlineMs = numberOption(given.reconcileDeadlineMs, "reconcileDeadlineMs");
    const set = Object.entries({ staleAfterMs, reconcileDeadlineMs }).filter(
      ([, value]) => value !== undefined,
    );
    this.#native = callNative((native) => new native.NativeProjector(Object.fromEntries(set)));
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
  applyJsonl(chunk: Uint8Array | string, options?: ApplyOptions & { end?: boolean }): ApplyJsonlResult {
    const bytes = bytesOf(chunk);
    const received = receivedAt(options);
    const end = options?.end === true;
    return JSON.parse(callNative(() => this.#native.applyJsonl(bytes, received, end))) as ApplyJsonlResult;
  }

  /** The record of a child. */
  snapshot(source: string, childId: string): LifecycleRecord | undefined {
    const names: [string, string] = [textArgument(source, "source"), textArgument(childId, "childId")];
    const text = callNative(() => this.#native.snapshot(...names));
    return text === null ? undefined : (JSON.parse(text) as LifecycleRecord);
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
   * Moves a source from its present epoch to a new one. Its records continue, its sequences start anew.
   *
   * @throws {LifecycleError} `epoch_mismatch` where `from` is not the present epoch or `to` is an old one.
   */
  advanceEpoch(advance: { source: string; from: string; to: string; observedAt: string }): void {
    const { source, from, to, observedAt } = optionsArgument(advance, "advance");
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
    const before = textArgument(optionsArgument(what, "what").terminalBefore, "terminalBefore");
    const text = callNative(() => this.#native.forget(before));
    return (JSON.parse(text) as [string, string][]).map(([source, childId]) => ({ source, childId }));
  }

  /** What authorities changed: the newest 256 entries and how many there were. */
  audit(): { count: number; recent: AuditEntry[] } {
    return JSON.parse(callNative(() => this.#native.audit())) as { count: number; recent: AuditEntry[] };
  }
}

function receivedAt(options: ApplyOptions | undefined): string | undefined {
  return optionalText(optionsArgument(options, "options").receivedAt, "receivedAt");
}

type NativeResult =
  ApplyResult | { status: "refused"; error: { code: string; path: string; message: string } };
