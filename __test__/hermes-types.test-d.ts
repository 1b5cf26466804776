// What must compile of Hermes, and what must not. `tsc` is the test runner.
import {
  type HermesDelegationEvent,
  type HermesIntent,
  type HermesStatusSnapshot,
  normalizeHermesDelegationEvent,
  reconcileHermesDelegationStatus,
} from "agent-lifecycle/hermes";

const made: HermesDelegationEvent = normalizeHermesDelegationEvent({ type: "subagent.start" });
// @ts-expect-error: Hermes never says that a child is lost.
export const isLost: boolean = made.state === "lost";

const snapshot: HermesStatusSnapshot = {
  observedAt: made.observedAt,
  complete: true,
  delegations: [{ child_id: "a", session_id: "s", status: "exploded", current_tool: null }],
};
const { inputs, intents } = reconcileHermesDelegationStatus(snapshot, [
  { childId: "a", sessionId: "s", state: "lost" },
]);
export const kinds: readonly string[] = inputs.map(({ kind, status }) => `${kind} ${status}`);
export const destinations = intents.map((intent: HermesIntent) =>
  intent.kind === "correct_projection" ? intent.to : intent.reason,
);
// @ts-expect-error: a record has the contract's states, not Hermes' words.
reconcileHermesDelegationStatus(snapshot, [{ childId: "a", sessionId: "s", state: "active" }]);
// @ts-expect-error: what was left out is counted by name.
reconcileHermesDelegationStatus(snapshot, [], { consecutiveCompleteMisses: 1 });
// @ts-expect-error: a snapshot says whether it is complete.
reconcileHermesDelegationStatus({ observedAt: made.observedAt, delegations: [] }, []);
