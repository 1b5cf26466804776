// One deliberately broken adapter for each rule of the conformance suite. Each has a fault that adapters do have, and fails its rule only.
import type { AdapterContext, NativeSessionState, RuntimeDriver } from "../runtime/driver.js";
import { NativeSessionError } from "../runtime/driver.js";
import { fakeDriver } from "./fake.js";
import { fakeScenarios } from "./fake-scenarios.js";
import type { FakeAdapterScript, FakeStep } from "./fake-script.js";
import type { ConformanceScenario, ConformanceScenarios } from "./scenario.js";

/** An adapter with a fault. */
export interface BrokenAdapter {
  /** The rule that it does not keep. */
  readonly rule: string;
  /** What it does. */
  readonly fault: string;
  readonly driver: RuntimeDriver;
  readonly scenarios: ConformanceScenarios;
}

type Native = NativeSessionState & { readonly nativeSessionId: string };
type Open = (context: AdapterContext) => Promise<unknown>;

/** A working driver with some of its members replaced. */
function driverWith(change: (working: Working) => Partial<RuntimeDriver>): RuntimeDriver {
  const working = fakeDriver() as Working;
  return { ...working, ...change(working) };
}

type Working = Required<Omit<RuntimeDriver, "diagnose" | "configSchema">> &
  Pick<RuntimeDriver, "configSchema">;

/** A working driver whose context is another one, for whatever opens a session. */
const driverIn = (change: (context: AdapterContext) => AdapterContext): RuntimeDriver =>
  driverWith(({ openSession, resumeSession }) => ({
    openSession: (context) => openSession(change(context)),
    resumeSession: (context, native) => resumeSession(change(context), native),
  }));

const broken = (rule: string, fault: string, driver: RuntimeDriver): BrokenAdapter => ({
  rule,
  fault,
  driver,
  scenarios: fakeScenarios(),
});

/** A harness with a fault, under a working driver. */
const brokenHarness = (
  rule: string,
  fault: string,
  change: (script: FakeAdapterScript, name: ConformanceScenario) => FakeAdapterScript,
): BrokenAdapter => ({ rule, fault, driver: fakeDriver(), scenarios: fakeScenarios(change) });

/** After the first step of each turn another one. */
const afterFirst = (script: FakeAdapterScript, step: FakeStep): FakeAdapterScript => ({
  ...script,
  turns: script.turns.map((steps) => steps.toSpliced(1, 0, step)),
});

const inspection = broken(
  "inspection",
  "its diagnosis throws where it finds no version",
  driverWith(() => ({ diagnose: () => Promise.reject(new TypeError("version is undefined")) })),
);

const { steer: _steer, ...withoutSteer } = fakeDriver();

const capabilities = broken("capabilities", "advertises steering and cannot steer", withoutSteer);

const identity = broken(
  "identity",
  "logs the native session id",
  driverWith(({ openSession, resumeSession, prompt, getBinding }) => {
    const contexts = new WeakMap<object, AdapterContext>();
    const noted = (context: AdapterContext, session: unknown): unknown => {
      contexts.set(session as object, context);
      return session;
    };
    return {
      openSession: async (context) => noted(context, await openSession(context)),
      resumeSession: async (context, native) => noted(context, await resumeSession(context, native)),
      prompt(session, given) {
        contexts.get(session as object)?.warn("prompting", `session ${getBinding(session).nativeSessionId}`);
        return prompt(session, given);
      },
    };
  }),
);

const bindingIdentity = broken(
  "binding-identity",
  "gives two sessions that are open at once one native session",
  driverWith(({ openSession, getBinding, dispose }) => {
    const live = new Set<object>();
    let first: string | undefined;
    return {
      async openSession(context) {
        const session = await openSession(context);
        if (live.size === 0) first = getBinding(session).nativeSessionId;
        live.add(session as object);
        return session;
      },
      getBinding(session) {
        const said = getBinding(session);
        if (said.nativeSessionId === undefined || live.size < 2) return said;
        first ??= said.nativeSessionId;
        return { ...said, nativeSessionId: first };
      },
      async dispose(session) {
        live.delete(session as object);
        await dispose(session);
      },
    };
  }),
);

const turnOrder = broken(
  "turn-order",
  "tells of tools when the turn ends",
  driverIn((context) => {
    let held: Parameters<AdapterContext["observe"]>[0][] = [];
    return {
      ...context,
      observe(observation) {
        if (observation.kind.startsWith("tool_")) held.push(observation);
        else context.observe(observation);
      },
      terminal(terminal) {
        for (const observation of held) context.observe(observation);
        held = [];
        context.terminal(terminal);
      },
    };
  }),
);

const equalPieces = broken(
  "equal-pieces",
  "takes a piece that is equal to the one before for a repeat",
  driverIn((context) => {
    let last = "";
    return {
      ...context,
      observe(observation) {
        const said = JSON.stringify(observation);
        const isRepeat = said === last && "text" in observation && observation.nativeEventId === undefined;
        last = said;
        if (!isRepeat) context.observe(observation);
      },
    };
  }),
);

const failure = brokenHarness("failure", "takes each end of a turn for its completion", (script, name) =>
  name === "failure"
    ? {
        ...script,
        turns: script.turns.map((steps) =>
          steps.map((step) => ("end" in step ? { end: { status: "completed" } } : step)),
        ),
      }
    : script,
);

const duplicates = broken(
  "duplicates",
  "drops the ids of messages",
  driverIn((context) => ({
    ...context,
    observe({ nativeEventId: _event, nativeItemId, ...observation }) {
      const isTool = observation.kind.startsWith("tool_");
      context.observe({ ...observation, ...(isTool && nativeItemId !== undefined && { nativeItemId }) });
    },
  })),
);

const late = broken(
  "late",
  "drops the ids of turns, but for their ends",
  driverIn((context) => ({
    ...context,
    observe: ({ nativeTurnId: _turn, ...observation }) => context.observe(observation),
  })),
);

const malformed = broken(
  "malformed",
  "gives up at the first line that is none of the protocol",
  driverIn((context) => ({
    ...context,
    startProcess: (options) =>
      context.startProcess({
        ...options,
        onDiagnostic(diagnostic) {
          options.onDiagnostic?.(diagnostic);
          context.closed(diagnostic.message);
        },
      }),
  })),
);

const crash = brokenHarness("crash", "takes its death for an interruption", (script, name) =>
  name === "crash" ? afterFirst(script, { end: { status: "interrupted" } }) : script,
);

const partial = brokenHarness("partial", "takes exit code 0 for the end of its turn", (script, name) =>
  name === "partial" ? afterFirst(script, { end: { status: "completed" } }) : script,
);

const abortIdle = brokenHarness(
  "abort-idle",
  "an abort that comes too late ends the next turn",
  (script) => ({
    ...script,
    abortSticks: true,
  }),
);

const abortBusy = brokenHarness("abort-busy", "answers an abort and goes on", (script) => ({
  ...script,
  abort: "ignore",
}));

const disposeTwice = broken(
  "dispose-twice",
  "throws where it was disposed of before",
  driverWith(({ dispose }) => {
    const disposed = new WeakSet<object>();
    return {
      async dispose(session) {
        if (disposed.has(session as object)) throw new Error("disposed of already");
        disposed.add(session as object);
        await dispose(session);
      },
    };
  }),
);

const steering = broken(
  "steering",
  "steers with nothing",
  driverWith(({ steer }) => ({ steer: (session, given) => steer(session, { ...given, text: "" }) })),
);

const resume = brokenHarness("resume", "finds its sessions and has forgotten what was in them", (script) => ({
  ...script,
  resume: "empty",
}));

const missing = broken(
  "missing",
  "makes a new native session where the recorded one is gone",
  driverWith(({ openSession, resumeSession }) => ({
    async resumeSession(context: AdapterContext, native: Native) {
      try {
        return await resumeSession(context, native);
      } catch (error) {
        if (error instanceof NativeSessionError && error.kind === "missing")
          return (openSession as Open)(context);
        throw error;
      }
    },
  })),
);

const brokenResume = broken(
  "broken-resume",
  "takes each failure to resume for a native session that is gone",
  driverWith(({ resumeSession }) => ({
    async resumeSession(context: AdapterContext, native: Native) {
      try {
        return await resumeSession(context, native);
      } catch {
        throw new NativeSessionError("missing", "gone", "the session could not be resumed");
      }
    },
  })),
);

const requestEnded = broken(
  "request-ended",
  "leaves the harness waiting for an answer that will not come",
  driverWith(() => ({ requestEnded: () => undefined })),
);

const approvals = broken(
  "approvals",
  "answers each request with the same decision",
  driverWith(({ respondToApproval }) => ({
    respondToApproval: (session, request) => respondToApproval(session, request, "allow"),
  })),
);

const userInput = broken(
  "user-input",
  "answers each question with nothing",
  driverWith(({ respondToUserInput }) => ({
    respondToUserInput: (session, request) => respondToUserInput(session, request, {}),
  })),
);

/** Its processes get their variables as arguments. */
const leaking = (context: AdapterContext): AdapterContext => ({
  ...context,
  startProcess: ({ env = {}, args = [], ...options }) =>
    context.startProcess({
      ...options,
      args: [...args, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
    }),
});

const secrets = broken(
  "secrets",
  "does not declare its secrets, and gives them to its harness as arguments",
  driverWith(({ configSchema, openSession, resumeSession }) => ({
    configSchema: { ...configSchema, environment: { type: "strings", default: [] } },
    openSession: (context) => openSession(leaking(context)),
    resumeSession: (context, native) => resumeSession(leaking(context), native),
  })),
);

/** One for each rule. */
export const BROKEN_ADAPTERS: readonly BrokenAdapter[] = Object.freeze([
  inspection,
  capabilities,
  identity,
  bindingIdentity,
  turnOrder,
  equalPieces,
  failure,
  duplicates,
  late,
  malformed,
  crash,
  partial,
  abortIdle,
  abortBusy,
  steering,
  disposeTwice,
  resume,
  missing,
  brokenResume,
  approvals,
  requestEnded,
  userInput,
  secrets,
]);
