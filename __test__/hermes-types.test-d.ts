// What must compile of Hermes, and what must not. `tsc` is the test runner.
import { type HermesMonitorSource, openMonitor } from "agent-lifecycle";
import {
  type HermesDelegationEvent,
  type HermesIntent,
  type HermesOutput,
  type HermesStatusSnapshot,
  hermesLifecycle,
  normalizeHermesDelegationEvent,
  reconcileHermesDelegationStatus,
  routingDecision,
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

const hermes = hermesLifecycle({ source: "hermes/1", sourceEpoch: "1", capabilities: { snapshot: "known" } });
const output: HermesOutput = hermes.push(made);
hermes.push({ type: "subagent.start", child_id: "c" });
for (const asked of [...inputs, ...intents]) hermes.push(asked, { now: made.observedAt });
export const asked: string[] = output.questions.map(({ now }) => now);
// @ts-expect-error: a message has a type or a kind.
hermes.push({ child_id: "c" });
// @ts-expect-error: the cause of an end is Hermes' to say.
hermesLifecycle({ source: "hermes/1", sourceEpoch: "1", capabilities: { terminalCause: "known" } });
// @ts-expect-error: an epoch is not left out.
hermesLifecycle({ source: "hermes/1" });

export const mayDelegate: boolean = routingDecision({ selection: "implicit", profile: null }).mayDelegate;
// @ts-expect-error: it is one or the other.
routingDecision({ selection: "default" });

const source: HermesMonitorSource = {
  type: "hermes",
  source: "hermes/1",
  sourceEpoch: "1",
  fetchStatus: async (reason, { signal }) => {
    signal.throwIfAborted();
    // @ts-expect-error: nobody asks for no reason.
    if (reason === "whim") throw new Error();
    return snapshot;
  },
};
export const monitor = openMonitor({ sources: [source] });
export const promised = openMonitor({
  sources: [{ ...source, events: async () => [{ type: "subagent.start" }] }],
});
// @ts-expect-error nothing that can be iterated
export const empty = openMonitor({ sources: [{ ...source, events: async () => 5 }] });
// @ts-expect-error: a status is fetched.
export const none = openMonitor({ sources: [{ type: "hermes", source: "hermes/1", sourceEpoch: "1" }] });
