// What an authority is asked, what it says, and what became of that.
import type { Json, LifecycleState, Lineage, WaitingReason } from "./contract.js";
import type { ApplyCode, ApplyResult } from "./projector.js";

/** A question about a child that is open: only an authority or newer evidence can settle it. */
export interface OpenQuestion {
  childId: string;
  /** Why: a code, or what the host gave. */
  reason: string;
  /** Until when an answer is waited for. */
  deadlineAt: string;
  /** Absent where nobody asked yet. */
  asked?: "pending" | "unanswered";
}

/** What an authority changed: the state of a child (`reconciliation_failed`: it is lost), or the epoch of a source (then without `childId`). */
export interface AuditEntry {
  source: string;
  childId?: string;
  /** The state or epoch before; `null` where the child was not known. */
  from: string | null;
  to: string;
  snapshotId?: string;
  observedAt: string;
  reason: "authoritative_snapshot" | "reconciliation_failed" | "epoch_advanced";
}

/** What an authority says of one child. */
export interface SnapshotChild {
  childId: string;
  state: LifecycleState;
  /** Only with state `waiting`; the known one stays where it is left out and the state is the same. */
  waitingReason?: WaitingReason | undefined;
  /** The highest sequence that the state reflects. */
  sequence?: number | undefined;
  /** At most 32 levels and 56 KiB of JSON; secrets in it are redacted. */
  details?: { [key: string]: Json } | undefined;
  /** With it a child that is not known is admitted; without, it is only reported. */
  lineage?: Lineage | undefined;
}

/** A complete snapshot of the children of one source. */
export interface LifecycleSnapshot {
  complete: true;
  source: string;
  sourceEpoch: string;
  /** Names the snapshot; the same id again has no effect. */
  snapshotId: string;
  /** When it was observed (RFC 3339 UTC); one older than the last accepted has no effect. */
  observedAt: string;
  /** `"all"`, so that a child it does not name was left out, or exactly the ids of its children. */
  coverage: "all" | string[];
  children: SnapshotChild[];
  /** Whether the source enters `sourceEpoch` with it. */
  advancesEpoch?: boolean | undefined;
}

/** What became of a snapshot. */
export interface ReconcileResult {
  /** One for each entry about a child that is known or admitted, then those that are stale because they were left out. */
  results: ApplyResult[];
  /** What it changed. */
  audit: AuditEntry[];
  /** Children that are not known and came without a lineage. */
  discovered: { childId: string; state: LifecycleState }[];
  /** Why, as sentences, each with its child; `snapshot_repeated`, without one, where it had no effect as a whole. */
  diagnostics: { code: ApplyCode; message: string; childId?: string }[];
}
