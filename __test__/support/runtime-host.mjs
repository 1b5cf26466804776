// A host of runtime sessions as a process of its own: `runtime-host.mjs <JSON>`. It says what it does on standard output, one JSON
// object a line, and ends by SIGKILL at the step that it is told, from inside: so each step is met exactly.
import fs from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { BindingStore, createRuntimeRegistry, openRuntimeSession } from "agent-lifecycle";
import { FAKE_CAPABILITIES, fakeAdapter, fakeDriver } from "agent-lifecycle/testing";

const { home, stop } = JSON.parse(process.argv[2]);

const say = (what) => fs.writeSync(1, `${JSON.stringify(what)}\n`);

function step(name) {
  if (name !== undefined && name === stop) process.kill(process.pid, "SIGKILL");
}

/** Steps before a call, while its work is under way, and after it. */
async function around(names, call) {
  step(names.before);
  const working = call();
  step(names.during);
  const result = await working;
  step(names.after);
  return result;
}

const heard = (context) => ({
  ...context,
  startProcess: async (options) => {
    const process = await context.startProcess({
      ...options,
      onState: (state) => state === "closing" && step("process closing"),
    });
    step("handshake");
    return process;
  },
});

/** The driver over the fake adapter, with a step at each of its operations. */
function stepping() {
  const driver = fakeDriver();
  const opening = { before: "folder made", after: "native session made" };
  return {
    ...driver,
    openSession: (context) => around(opening, () => driver.openSession(heard(context))),
    resumeSession: (context, native) => around(opening, () => driver.resumeSession(heard(context), native)),
    prompt: (...given) => around({ before: "prompt", after: "accepted" }, () => driver.prompt(...given)),
    abort: (...given) => around({ before: "abort" }, () => driver.abort(...given)),
    respondToApproval: (...given) =>
      around({ before: "answer claimed", during: "answer being written", after: "answer written" }, () =>
        driver.respondToApproval(...given),
      ),
    dispose: (...given) => around({ after: "process closed" }, () => driver.dispose(...given)),
  };
}

/** The store, with a step at each write. */
const steppingStore = (store) => ({
  get: (...given) => store.get(...given),
  create: (...given) => store.create(...given),
  reserveNative: (...given) => store.reserveNative(...given),
  recordOrphan: (...given) => store.recordOrphan(...given),
  update(...given) {
    // With the native session of a new one in it, or only what was there.
    const names = live.has(given[0].productSessionId)
      ? { during: "binding being recorded", after: "binding recorded" }
      : { during: "binding being written", after: "binding written" };
    return around(names, () => store.update(...given));
  },
  async claim(...given) {
    const claim = await around(
      { before: "before claim", during: "claim being written", after: "claimed" },
      () => store.claim(...given),
    );
    return {
      ...claim,
      release: () =>
        around({ before: "claim not yet released", during: "claim being released" }, () => claim.release()),
    };
  },
});

const store = await BindingStore.open(path.join(home, "bindings.db"));

/** Sessions with what they said, and how a test moves them: `{id, do, ...}` on standard input. */
const live = new Map();

async function open({ id, script, mark, mode, title }) {
  const config = fakeAdapter({ capabilities: FAKE_CAPABILITIES, nativeTurnIds: true, ...script });
  config.args[0] = path.join(import.meta.dirname, "runtime-adapter.mjs");
  const registry = createRuntimeRegistry({
    drivers: [stepping()],
    instances: [
      {
        runtimeInstanceId: "main",
        adapterId: "fake",
        config: { ...config, environment: [`RUNTIME_MARK=${mark}`] },
      },
    ],
  });
  const session = await openRuntimeSession({
    store: steppingStore(store),
    registry,
    productSessionId: id,
    runtimeInstanceId: "main",
    workspace: home,
    mode,
    title,
    onEvent(event) {
      step(event.kind);
      const text = event.kind === "assistant_message" ? { text: event.text } : {};
      const requestId = event.request?.requestId ?? event.requestId;
      say({ id, event: event.kind, state: event.state, requestId, ...text });
    },
    onDiagnostic({ code, message }) {
      // A line that the script writes is a step of the harness.
      if (code === "noise") step(message);
      say({ id, diagnostic: code, message });
    },
  });
  live.set(id, session);
  step("opened");
  return { generation: session.generation };
}

const actions = {
  open,
  async prompt({ id }) {
    return live.get(id).prompt({ text: "hello" });
  },
  async answer({ id, requestId }) {
    const resolution = await live.get(id).respondToApproval(requestId, "yes");
    step("answered");
    return resolution;
  },
  async say({ id, requestId, answers }) {
    return live.get(id).respondToUserInput(requestId, answers);
  },
  async steer({ id }) {
    await live.get(id).steer({ text: "go on" });
  },
  async abort({ id }) {
    await live.get(id).abort();
  },
  async dispose({ id }) {
    const gone = live.get(id).dispose();
    step("dispose begun");
    await gone;
    step("disposed");
  },
  async status({ id }) {
    return live.get(id).status();
  },
  async generations() {
    return fs.readdirSync(path.join(process.env.XDG_STATE_HOME, "agent-lifecycle", "generations"));
  },
  async end() {
    await Promise.all([...live.values()].map((session) => session.dispose()));
    await store.close();
    input.close();
  },
};

async function act(asked) {
  try {
    say({ id: asked.id, done: asked.do, result: (await actions[asked.do](asked)) ?? null });
  } catch (error) {
    say({ id: asked.id, failed: asked.do, code: error.code, message: error.message });
  }
}

const input = createInterface({ input: process.stdin });
input.on("line", (line) => void act(JSON.parse(line)));
say({ ready: process.pid });
