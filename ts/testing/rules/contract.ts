// Rules of what an adapter says of itself and of its sessions.
import { type Bench, INSTANCE, check } from "../bench.js";
import { type RuleDefinition, turn } from "./rule.js";

const inspection: RuleDefinition = {
  id: "inspection",
  title: "an instance can be inspected without a session, and its diagnosis neither throws nor hangs",
  scenario: "plain",
  async run(bench) {
    const inspected = (await bench.registry.inspect()).find((one) => one.runtimeInstanceId === INSTANCE);
    check(inspected !== undefined, "inspect() does not tell of the instance");
    for (const { code, message } of inspected.diagnostics)
      check(code !== "diagnosis_failed" && code !== "diagnosis_timeout", `${code}: ${message}`);
    check(
      inspected.availability !== "unavailable",
      "the instance is said to be unavailable, and its harness is there",
    );
    check(bench.made === 0, "the diagnosis opened a native session");
  },
};

const OPERATIONS = {
  steering: "steer",
  approvals: "respondToApproval",
  userInput: "respondToUserInput",
} as const;

const capabilities: RuleDefinition = {
  id: "capabilities",
  title: "each capability that is advertised has its operation, and each operation its capability",
  scenario: "plain",
  async run(bench) {
    const { session } = await bench.open();
    for (const [capability, operation] of Object.entries(OPERATIONS)) {
      const isAdvertised = bench.driver.capabilities[capability as keyof typeof OPERATIONS];
      const isThere = typeof session[operation] === "function";
      check(
        isAdvertised === isThere,
        `${capability} is advertised: ${isAdvertised}; the session has ${operation}: ${isThere}`,
      );
    }
  },
};

const identity: RuleDefinition = {
  id: "identity",
  title: "events carry this package's identities, and no native id is in anything that is shown",
  scenario: "plain",
  async run(bench) {
    const trial = await bench.open();
    await turn(trial, "completed");
    const { session, events } = trial;
    check(session.adapterId === bench.driver.adapterId, "the session names another adapter");
    for (const [at, event] of events.entries()) {
      check(event.productSessionId === "ps_conformance", "an event names another session");
      check(event.generation === session.generation, "an event names another generation");
      check(event.sequence === at + 1, "the sequence of events has a gap");
    }
    const native = (await bench.binding()).nativeSessionId;
    if (native === undefined) return;
    for (const [what, value] of Object.entries({
      "an event": events,
      "a diagnostic": trial.diagnostics,
      "the status": session.status(),
      "the inspection": await bench.registry.inspect(),
    }))
      check(!JSON.stringify(value).includes(native), `the native session id is in ${what}`);
  },
};

const bindingIdentity: RuleDefinition = {
  id: "binding-identity",
  title: "each session has a native session of its own, and its id stays as it is",
  scenario: "plain",
  async run(bench) {
    const sessions = ["ps_conformance.a", "ps_conformance.b"];
    const trials = await Promise.all(sessions.map((id) => bench.open(id)));
    for (const trial of trials) await turn(trial, "completed");
    const recorded = await nativeIds(bench, sessions);
    for (const trial of trials) await turn(trial, "completed");
    check(recorded[0] === undefined || recorded[0] !== recorded[1], "two sessions have one native session");
    for (const [at, trial] of trials.entries()) {
      const said = bench.driver.getBinding(trial.native).nativeSessionId;
      check(said === recorded[at], "getBinding() gives another native session id than the recorded one");
    }
    check(
      !bench.driver.capabilities.resume || recorded.every((id) => id !== undefined),
      "resume is advertised, and after a turn there is no native session id to resume",
    );
  },
};

async function nativeIds(bench: Bench, sessions: readonly string[]): Promise<(string | undefined)[]> {
  const bindings = await Promise.all(sessions.map((id) => bench.binding(id)));
  return bindings.map(({ nativeSessionId }) => nativeSessionId);
}

export const CONTRACT_RULES: readonly RuleDefinition[] = [
  inspection,
  capabilities,
  identity,
  bindingIdentity,
];
