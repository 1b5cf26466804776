// Why a child is in its state, as the core gives it.
import type { LifecycleState, WaitingReason } from "./contract.js";

/** One piece of evidence. */
export interface Evidence {
  /** The path of the journal; empty for what hooks and processes said. */
  readonly journal: string;
  /** The offset of the line in it, in bytes. */
  readonly offset: number;
  /** The type of the record, as the agent's program calls it; `hook` or `process`. */
  readonly recordType: string;
  readonly at: string;
  /** What it did: the state that it led to, `evidence` or `note`; else the code of why it changed nothing. */
  readonly effect: string;
  /** There and `true` where the step was added because the next one needs it. */
  readonly inferred?: true;
}

/** What stands behind the state of a row. */
export interface Explanation {
  readonly source: string;
  readonly childId: string;
  readonly state: LifecycleState;
  readonly waitingReason: WaitingReason | null;
  /** The last 16 steps that led here, oldest first, then the newest evidence where that is no step. */
  readonly evidence: readonly Evidence[];
  /** Why it is stale. */
  readonly stale: string | null;
  /** The question to an authority that is open. */
  readonly reconciliation: { readonly reason: string; readonly deadlineAt: string } | null;
}
