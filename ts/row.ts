// The one row shape of command, monitor and views.
import type { Capabilities, Capability, LifecycleState, WaitingReason } from "./contract.js";

/** How a turn or a tool ended. */
export type Outcome = "success" | "error" | "cancelled";

/** Why a row is stale; a replayed journal of another version may have further words. */
export type StaleReason = "silence" | "complete_snapshot_missing" | (string & {});

/** One child as displays show it. Members that are not known are `null`. All times are RFC 3339 UTC. */
export interface Row {
  /** Unique among all rows, and stable. */
  key: string;
  childId: string;
  source: string;
  /** The program whose journal it is, such as `claude-code`; `null` for other sources. */
  provider: string | null;
  agentVersion: string | null;
  sessionId: string | null;
  /** The row that it belongs under. */
  parentKey: string | null;
  rootKey: string;
  /** Which life this is; older ones are history. */
  attempt: number;
  /** The literal state. */
  state: LifecycleState;
  stateSince: string;
  /** For state `waiting`; `child` where its turn ended and children live. */
  waitingReason: WaitingReason | null;
  /** What it waits for; several may be open. */
  waits: {
    waitId: string;
    reason: WaitingReason;
    since: string;
    /** What the agent gave as the reason, where that is no word of the contract; redacted. */
    text?: string;
  }[];
  /** The newest turn. A turn's end is not a session's end. */
  turn: { turnId: string; open: boolean; outcome?: Outcome } | null;
  /** All turns, the last 32 by name. */
  turns: { count: number; recent: { turnId: string; outcome?: Outcome }[] };
  /** The newest activity text; of the past where nothing is open. */
  activity: string | null;
  /** Tool calls; `count` is `null` where no record of its own was read. */
  tools: { count: number | null; open: { toolId: string; name: string; since: string }[] };
  /** Direct children that have not ended. */
  liveChildren: number;
  title: string | null;
  model: string | null;
  place: { cwd: string | null; branch: string | null };
  startedAt: string;
  freshness: {
    /** The newest evidence of it, or of a sub-agent in its session that lives. */
    at: string;
    /** There and `true` where that time is a guess from the file's own. */
    estimated?: true;
    /** Whether that is too old; it says nothing about how the child is. */
    stale: boolean;
    reason: StaleReason | null;
    /**
     * What came of asking: `pending` while an authority is asked, `unanswered` where it did not answer, `unavailable` where it is stale,
     * or its process ended in an open turn, and there is nobody to ask.
     */
    reconcile: "pending" | "unanswered" | "unavailable" | null;
  };
  /** Its process: as the host gave it, else `no` once an exit was said. */
  evidence: { pid: number | null; processAlive: "yes" | "no" | "unknown" };
  outcome: {
    /** The terminal state, once there is one. */
    terminal: LifecycleState | null;
    exitCode?: number;
    signal?: string;
    cause: Capability;
  };
  /**
   * Tokens used, each message counted once: `input` read from no cache, `cached` read from a cache or written to it, `output`
   * written.
   */
  usage: { input: number; cached: number; output: number } | null;
  context: { used: number; window: number | null } | null;
  /** The path of its journal. */
  transcript: string | null;
  /** Where its result is; nothing gives it yet. */
  result: string | null;
  capabilities: Capabilities & {
    /** Whether a wait for a permission would be seen; where `unknown`, it looks like a slow tool. */
    permissionWaits: Capability;
  };
  /** Whether events are missing. */
  gapDetected: boolean;
  /** An unannounced epoch that spoke of it. */
  epochConflict: string | null;
  /** How many events came after its end. */
  lateEvidence: number;
  /** Faults in its journal, and what an adapter did not understand of it, by their code. */
  diagnostics: Record<string, number>;
  /** Whether more than 20 % of its journal's records were of unknown types. */
  degraded: boolean;
  /**
   * What a person can do something about; nothing of a sub-agent whose root has ended. Of kind `prompt` it is no call: a turn ended, and
   * the session waits as long as its user likes.
   */
  attention: { id: string; kind: WaitingReason; since: string } | null;
  /** What the host attached. */
  host: null;
}

/** What changed: what a monitor's `onChange` gets, and what `changesSince(cursor)` of a monitor or a projector gives. */
export interface ChangeSet {
  /** The state that these changes lead to, and what to ask with next time. */
  cursor: string;
  /** Rows that are new or other than before, whole. */
  upserted: Row[];
  /** Keys of rows that are gone. */
  removed: string[];
  /** `upserted` is all there is: rows that are not among them are gone. */
  reset: boolean;
}

/** A row with those below it. */
export interface RowTree extends Row {
  children: RowTree[];
}

/**
 * Rows as a tree, those of one parent in the order given: that of {@link LifecycleProjector.list} for rows from there. A row whose
 * parent is not among them is a root.
 */
export function treeOf(rows: readonly Row[]): RowTree[] {
  const nodes = new Map(rows.map((row): [string, RowTree] => [row.key, { ...row, children: [] }]));
  const roots: RowTree[] = [];
  for (const node of nodes.values()) {
    const parent = node.parentKey === null ? undefined : nodes.get(node.parentKey);
    (parent?.children ?? roots).push(node);
  }
  return roots;
}
