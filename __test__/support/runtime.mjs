// A runtime host in a temporary home, and a driver whose harness is plain JavaScript that a test moves by hand.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { BindingStore, createRuntimeRegistry, openRuntimeSession } from "../../index.js";

export const ALL = { resume: true, steering: true, abort: true, approvals: true, userInput: true };

/** A harness: its native sessions by id, what was asked of it, and what it answers. */
export function harness(capabilities = ALL, options = {}) {
  const state = {
    /** Native sessions that there are. */
    sessions: new Set(),
    /** What was called, in order. */
    calls: [],
    contexts: [],
    /** Replaced by tests. */
    open: () => undefined,
    prompt: () => ({}),
    abort: () => undefined,
    steer: () => undefined,
    reply: () => undefined,
    lazy: false,
    next: 1,
    ...options,
  };
  const live = (context, nativeSessionId) => {
    state.contexts.push(context);
    return { context, native: nativeSessionId === undefined ? {} : { nativeSessionId } };
  };
  const called = (name, ...rest) => state.calls.push([name, ...rest]);
  const methods = {
    resume: {
      async resumeSession(context, native) {
        called("resume", native.nativeSessionId);
        await state.open(context, native);
        return live(context, native.nativeSessionId);
      },
    },
    steering: {
      async steer(_session, prompt) {
        called("steer", prompt.text);
        return state.steer();
      },
    },
    abort: {
      async abort() {
        called("abort");
        return state.abort();
      },
    },
    approvals: {
      async respondToApproval(_session, request, decision) {
        called("approval", request, decision);
        return state.reply();
      },
    },
    userInput: {
      async respondToUserInput(_session, request, answers) {
        called("input", request, answers);
        return state.reply();
      },
    },
  };
  const driver = {
    adapterId: "scripted",
    transport: "in-process",
    capabilities,
    nativeTurnIds: options.nativeTurnIds ?? false,
    configSchema: { key: { type: "string", secret: true } },
    async openSession(context) {
      called("open");
      await state.open(context);
      if (state.lazy) return live(context);
      const id = `native-${state.next++}`;
      state.sessions.add(id);
      return live(context, id);
    },
    getBinding: ({ native }) => native,
    async prompt(session, prompt) {
      called("prompt", prompt.text);
      if (state.lazy && session.native.nativeSessionId === undefined) {
        session.native = { nativeSessionId: `native-${state.next++}` };
      }
      return state.prompt(session, prompt);
    },
    requestEnded: (_session, request, outcome) => called("ended", request, outcome),
    async dispose() {
      called("dispose");
    },
    ...Object.assign(
      {},
      ...Object.keys(capabilities).map((name) => (capabilities[name] ? methods[name] : {})),
    ),
  };
  return Object.assign(state, { driver, context: () => state.contexts.at(-1) });
}

/** A temporary home with a store of bindings; `open` opens a session in it. */
export async function host(t, { driver, config = {} }) {
  const home = mkdtempSync(path.join(tmpdir(), "agent-lifecycle-runtime-"));
  const before = process.env.XDG_STATE_HOME;
  process.env.XDG_STATE_HOME = path.join(home, "state");
  const file = path.join(home, "bindings.db");
  const store = await BindingStore.open(file);
  const registry = createRuntimeRegistry({
    drivers: [driver],
    instances: [{ runtimeInstanceId: "main", adapterId: driver.adapterId, config }],
  });
  const opened = [];
  const events = [];
  const diagnostics = [];
  t.after(async () => {
    await Promise.allSettled(opened.map((session) => session.dispose()));
    await store.close();
    if (before === undefined) delete process.env.XDG_STATE_HOME;
    else process.env.XDG_STATE_HOME = before;
    rmSync(home, { recursive: true, force: true });
  });
  return {
    home,
    file,
    store,
    registry,
    events,
    diagnostics,
    async open(options = {}) {
      const session = await openRuntimeSession({
        store,
        registry,
        productSessionId: "ps_1",
        runtimeInstanceId: "main",
        workspace: home,
        publish: false,
        onEvent: (event) => events.push(event),
        onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
        ...options,
      });
      opened.push(session);
      return session;
    },
  };
}

/** What events say, without their numbers and times. */
export const kinds = (events) =>
  events.map((event) => (event.kind === "adapter_lifecycle" ? event.state : event.kind));
