// The entry `agent-lifecycle/hermes`: what Hermes says of its delegations, for hosts that observe them.
import { functionOption, numberOption, optionsArgument } from "./arguments.js";
import { type Json, type LifecycleState, jsonText } from "./contract.js";
import { LifecycleError, type LifecycleErrorCode } from "./error.js";
import { callNative } from "./native.js";

export { hermesLifecycle } from "./hermes-lifecycle.js";
export type {
  HermesLifecycle,
  HermesLifecycleOptions,
  HermesOutput,
  HermesReport,
  HermesReportCode,
} from "./hermes-lifecycle.js";
export { routingDecision } from "./routing.js";
export type { RoutingDecision, RoutingProfile, RoutingQuestion, RoutingStatus } from "./routing.js";

/** Hermes' own words for the state of a delegation. */
export type HermesStatus =
  "pending" | "starting" | "active" | "running" | "waiting" | "completed" | "failed" | "cancelled";

/** A delegation event, normalised. Texts are trimmed, redacted and bounded. */
export interface HermesDelegationEvent {
  kind: "created" | "state_changed" | "activity";
  childId: string;
  /** The session of the child: ids of children are unique within one only. */
  sessionId: string;
  /** The state that Hermes gives it; that of an `activity` is Hermes' own, and is never applied. */
  state: Exclude<LifecycleState, "lost">;
  /** RFC 3339 UTC. */
  observedAt: string;
  /** There and `true` for a `subagent.complete` whose status says that nothing has ended. */
  unfinished?: true;
  currentTool?: string;
  activity?: string;
  /** The child that asked for it. */
  parentId?: string;
  model?: string;
  status?: HermesStatus;
  summary?: string;
  /** This and the next three are passed on as Hermes says them, where they have at most 8,192 bytes of JSON. */
  duration?: Json;
  tokens?: Json;
  files?: Json;
  outputTail?: Json;
}

/** What Hermes says of its delegations at one time. */
export interface HermesStatusSnapshot {
  /** RFC 3339 UTC. */
  observedAt: string;
  /** Whether no delegation is left out. Nothing is concluded from what an incomplete one leaves out. */
  complete: boolean;
  delegations: HermesDelegation[];
}

/** One delegation of a snapshot. Its status is text, for Hermes may have words that are not understood. */
export interface HermesDelegation {
  child_id: string;
  session_id: string;
  status: string;
  current_tool?: string | null;
  activity?: string | null;
}

/** A record of the host: what it knows of one delegation. */
export interface HermesRecord {
  childId: string;
  sessionId: string;
  state: LifecycleState;
  currentTool?: string | undefined;
  activity?: string | undefined;
}

/** What a snapshot says of one record. */
export interface HermesInput {
  kind: "snapshot_reconciled";
  childId: string;
  sessionId: string;
  state: Exclude<LifecycleState, "lost">;
  /** When the snapshot was observed. */
  observedAt: string;
  status: HermesStatus;
  currentTool?: string;
  activity?: string;
}

/** What is to be done about one record. */
export type HermesIntent =
  | {
      kind: "correct_projection";
      childId: string;
      sessionId: string;
      from: LifecycleState;
      to: LifecycleState;
      reason: "authoritative_snapshot";
    }
  | {
      kind: "mark_stale_unknown";
      childId: string;
      sessionId: string;
      from: LifecycleState;
      reason: "complete_snapshot_missing";
    };

/** A delegation with a status that is not understood: it is there, and nothing follows from it. */
export interface HermesRefusal {
  childId: string;
  sessionId: string;
  code: LifecycleErrorCode;
  /** Such as `$.delegations[0].status`. */
  path: string;
  message: string;
}

export interface ReconcileHermesOptions {
  /** At which complete snapshot in a row that leaves a record out it is stale; 2 by default. */
  missingGraceSnapshots?: number | undefined;
  /** Such snapshots before this one, by `childId NUL sessionId`; none by default. */
  consecutiveCompleteMisses?: ReadonlyMap<string, number> | { readonly [key: string]: number } | undefined;
  /** Gets each delegation with a status that is not understood. Without it, one such refuses the snapshot. */
  onRefused?: ((refusal: HermesRefusal) => void) | undefined;
}

/**
 * A delegation event of Hermes in the words of this package. It is judged as `JSON.parse(JSON.stringify(value))`, and may also be one
 * that was normalised before.
 *
 * @throws {LifecycleError} `invalid_event`, `invalid_kind` (the type), `invalid_id`, `invalid_timestamp`, `invalid_state` (the status:
 *   none is guessed), `too_deep`.
 */
export function normalizeHermesDelegationEvent(value: unknown): HermesDelegationEvent {
  const text = jsonText(value, "event", "invalid_event");
  return JSON.parse(callNative((native) => native.normalizeDelegation(text))) as HermesDelegationEvent;
}

/**
 * What a status snapshot asks of a host that holds the records itself; a projector does all of this, and more, in `reconcile`.
 * Records are matched by child and session together. One that has ended is never corrected, and an incomplete snapshot only refreshes.
 *
 * @throws {LifecycleError} `invalid_snapshot`, `invalid_id`, `invalid_timestamp`, `invalid_state`, `invalid_event` (a wrong argument),
 *   `invalid_option`.
 */
export function reconcileHermesDelegationStatus(
  snapshot: HermesStatusSnapshot,
  current: Iterable<HermesRecord> | ReadonlyMap<string, HermesRecord>,
  options?: ReconcileHermesOptions,
): { inputs: HermesInput[]; intents: HermesIntent[] } {
  const given = optionsArgument(options, "options", [
    "missingGraceSnapshots",
    "consecutiveCompleteMisses",
    "onRefused",
  ]);
  const grace = numberOption(given.missingGraceSnapshots, "missingGraceSnapshots");
  const onRefused = functionOption(given.onRefused, "onRefused");
  const misses = given.consecutiveCompleteMisses ?? {};
  const texts: [string, string, string] = [
    jsonText(snapshot, "snapshot", "invalid_snapshot"),
    jsonText(recordsOf(current), "current", "invalid_event"),
    jsonText(misses instanceof Map ? Object.fromEntries(misses) : misses, "misses", "invalid_event"),
  ];
  const text = callNative((native) => native.reconcileDelegations(...texts, grace));
  const { inputs, intents, refused } = JSON.parse(text) as {
    inputs: HermesInput[];
    intents: HermesIntent[];
    refused: HermesRefusal[];
  };
  for (const refusal of refused) {
    if (onRefused === undefined)
      throw new LifecycleError(refusal.code, refusal.message, { path: refusal.path });
    onRefused(refusal);
  }
  return { inputs, intents };
}

/** A list; what is no iterable stays, to be refused by name. */
function recordsOf(current: Iterable<HermesRecord> | ReadonlyMap<string, HermesRecord>): unknown {
  if (current instanceof Map) return [...current.values()] as HermesRecord[];
  const iterable = current as Partial<Iterable<HermesRecord>> | null | undefined;
  if (typeof iterable === "object" && typeof iterable?.[Symbol.iterator] === "function")
    return [...(current as Iterable<HermesRecord>)];
  return current ?? null;
}
