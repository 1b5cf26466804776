// Why a child is in its state, as the core gives it.
import type { LifecycleEventKind, LifecycleState, WaitingReason } from "./contract.js";

/** One piece of evidence. */
export interface Evidence {
  /** The path of the journal or stream; `null` where it stands in no file: a hook, a process, an authority or the host said it. */
  readonly journal: string | null;
  /** The offset of the line in it, in bytes. */
  readonly offset: number | null;
  /**
   * The type of the record, as the agent's program calls it; of a schema-v1 event its kind; else `hook`, `process` or `authority`.
   */
  readonly recordType: string;
  /** The id of a schema-v1 event of a stream, a publisher or the host. */
  readonly eventId?: string;
  /** Its sequence, where it has one. */
  readonly sequence?: number;
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
  /** What the freshness of the child itself rests on; no `evidence` where that is not held any more, or an authority gave it. */
  readonly freshness: { readonly at: string; readonly evidence: Evidence | null };
  /** The question to an authority that is open. `unasked`: nobody was asked by this program. */
  readonly reconciliation: {
    readonly reason: string;
    readonly deadlineAt: string;
    readonly asked: "unasked" | "pending" | "unanswered";
  } | null;
  /** What came after its end, or an end that came out of order: how many, and the last 16. */
  readonly lateEvidence: { readonly count: number; readonly recent: readonly LateEvidence[] };
}

/** An event that came too late to change anything. */
export interface LateEvidence {
  readonly eventId: string;
  readonly kind: LifecycleEventKind;
  readonly state?: LifecycleState;
  readonly observedAt: string;
  /** Why it changed nothing. */
  readonly code: string;
}
