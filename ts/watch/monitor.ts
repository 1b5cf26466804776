// What the command needs of a monitor.
import type { LifecycleState, WaitingReason } from "../contract.js";
import type { Row } from "../row.js";
import type { RowChanges } from "../row-store.js";

/** A record that the present state rests on. */
export interface EvidenceLike {
  journal: string;
  /** Where its line begins, in bytes; `null` where it came from no file. */
  offset: number | null;
  recordType: string | null;
  at: string;
  /** What it did to the row. */
  effect: string;
  /** Whether the step stands in no record, but follows from one. */
  inferred?: boolean;
}

/** Why a row is in its state. */
export interface ExplanationLike {
  source: string;
  childId: string;
  state: LifecycleState;
  waitingReason: WaitingReason | null;
  evidence: readonly EvidenceLike[];
  stale: boolean;
  /** The question that is open, and until when an answer is waited for. */
  reconciliation: { reason: string; deadlineAt: string } | null;
}

/** The part of a monitor that `watch` and `explain` use. */
export interface MonitorLike {
  rows(): Row[];
  explain(key: string): ExplanationLike | undefined;
  changesSince(cursor?: string): RowChanges;
  /** Sessions that are left out for their age. */
  readonly hidden: number;
  close(): Promise<void>;
}

/** What `watch` and `explain` ask of it. */
export interface OpenMonitor {
  (options: {
    sources: "default" | string[];
    activeWithinMs: number;
    onChange: (changes: RowChanges) => void;
    onDiagnostic: (diagnostic: unknown) => void;
    signal: AbortSignal;
    ref: true;
  }): Promise<MonitorLike>;
}
