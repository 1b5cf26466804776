// What the command needs of a monitor.
import type { LifecycleState, WaitingReason } from "../contract.js";
import type { Row } from "../row.js";
import type { RowChanges } from "../row-store.js";

/** A record that the present state rests on. */
export interface EvidenceLike {
  /** Empty for what hooks and processes said. */
  readonly journal: string;
  /** Where its line begins, in bytes. */
  readonly offset: number;
  readonly recordType: string;
  readonly at: string;
  /** What it did to the row. */
  readonly effect: string;
  /** The step stands in no record: the next one needs it. */
  readonly inferred?: true;
}

/** Why a row is in its state. */
export interface ExplanationLike {
  readonly source: string;
  readonly childId: string;
  readonly state: LifecycleState;
  readonly waitingReason: WaitingReason | null;
  readonly evidence: readonly EvidenceLike[];
  /** Why it is stale. */
  readonly stale: string | null;
  /** The question that is open, and until when an answer is waited for. */
  readonly reconciliation: { readonly reason: string; readonly deadlineAt: string } | null;
}

/** What a monitor reports. */
export interface NoticeLike {
  readonly code: string;
  readonly path: string | null;
  readonly message: string;
}

/** The part of a monitor that `watch` and `explain` use. */
export interface MonitorLike {
  rows(): Row[];
  explain(key: string): ExplanationLike | undefined;
  changesSince(cursor?: string): RowChanges;
  /** Files of sessions that are left out for their age. */
  readonly hidden: number;
  close(): Promise<void>;
}

/** What `watch` and `explain` ask of it. */
export interface OpenMonitor {
  (options: {
    sources: "default" | string[];
    activeWithinMs: number;
    onChange: (changes: RowChanges) => void;
    onDiagnostic: (diagnostic: NoticeLike) => void;
    signal: AbortSignal;
    ref: true;
  }): Promise<MonitorLike>;
}
