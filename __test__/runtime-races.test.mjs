// What a harness says at the same moment as something else happens: each order has one right outcome.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { BindingStore, createRuntimeRegistry, openRuntimeSession } from "agent-lifecycle";
import { FAKE_CAPABILITIES, fakeAdapter, fakeDriver } from "agent-lifecycle/testing";
import { Held } from "../dist/runtime/held.js";

const NONE = { resume: false, steering: false, abort: false, approvals: false, userInput: false };

/** A session over a driver in this process, whose operations the test gives. */
async function sessionOf(t, operations, wrap = (store) => store) {
  const folder = fs.mkdtempSync(path.join(tmpdir(), "agent-lifecycle-"));
  const store = await BindingStore.open(path.join(folder, "bindings.db"));
  const driver = {
    adapterId: "inside",
    transport: "in-process",
    capabilities: { ...NONE, ...(operations.respondToApproval && { approvals: true }) },
    nativeTurnIds: false,
    openSession: async (context) => context,
    getBinding: () => ({}),
    dispose: async () => undefined,
    ...operations,
  };
  const events = [];
  const session = await openRuntimeSession({
    store: wrap(store),
    registry: createRuntimeRegistry({
      drivers: [driver],
      instances: [{ runtimeInstanceId: "inside", adapterId: "inside" }],
    }),
    productSessionId: "ps_1",
    runtimeInstanceId: "inside",
    workspace: folder,
    publish: false,
    onEvent: (event) => events.push(event),
  });
  t.after(async () => {
    await session.dispose();
    await store.close();
    fs.rmSync(folder, { recursive: true });
  });
  return { session, store, events, kinds: () => events.map(({ kind }) => kind) };
}

const COMPLETED = { status: "completed" };
async function later(work) {
  await setImmediate();
  work();
}

const asking = async (context) => {
  await setImmediate();
  const decisions = [{ id: "yes", label: "Yes" }];
  assert.equal(context.requestApproval({ kind: "tool", nativeId: 0, decisions }), true);
};

for (const [what, say, ends] of [
  ["the end of its turn", (context) => context.terminal(COMPLETED), true],
  ["that it wants no answer any more", (context) => context.requestCleared({ nativeId: 0 }), false],
]) {
  test(`an answer is given, though before it was known to be written the harness said ${what}`, async (t) => {
    const { session, events, kinds } = await sessionOf(t, {
      async prompt(context) {
        void asking(context);
        return {};
      },
      async respondToApproval(context) {
        context.observe({ kind: "assistant", text: { cumulative: "Thanks." }, done: true });
        say(context);
        context.observe({ kind: "warning", message: "later" });
        await setImmediate();
        if (!ends) void later(() => context.terminal(COMPLETED));
      },
    });
    const prompted = session.prompt({ text: "ask me" });
    while (!kinds().includes("approval_requested")) await setImmediate();
    const { requestId } = session.status().pendingApproval;
    const { outcome, decision } = await session.respondToApproval(requestId, "yes");
    assert.deepEqual([outcome, decision], ["responded", "yes"]);
    assert.equal((await prompted).status, "completed");
    const resolved = events.filter(({ kind }) => kind === "approval_resolved");
    assert.deepEqual(
      resolved.map((event) => [event.requestId, event.outcome]),
      [[requestId, "responded"]],
    );
    // In the order in which it was said, after the answer was known.
    const order = kinds().filter((kind) =>
      ["assistant_message", "approval_resolved", "turn_completed"].includes(kind),
    );
    assert.deepEqual(order, ["assistant_message", "approval_resolved", "turn_completed"]);
  });
}

test("an answer that is on its way when the harness goes away was not given", async (t) => {
  const { session, events, kinds } = await sessionOf(t, {
    async prompt(context) {
      void asking(context);
      return {};
    },
    respondToApproval(context) {
      context.terminal(COMPLETED);
      context.closed("gone");
      return new Promise(() => undefined);
    },
  });
  const prompted = session.prompt({ text: "ask me" });
  while (!kinds().includes("approval_requested")) await setImmediate();
  const { requestId } = session.status().pendingApproval;
  await assert.rejects(session.respondToApproval(requestId, "yes"), ({ code }) =>
    ["answer_not_written", "already_resolved"].includes(code),
  );
  // The harness had said that the turn was complete.
  assert.equal((await prompted).status, "completed");
  const [resolved, ...more] = events.filter(({ kind }) => kind === "approval_resolved");
  assert.deepEqual([resolved.outcome, more.length], ["cleared", 0]);
  while (session.status().state !== "closed") await setImmediate();
});

test("a turn that was accepted just before the harness went away has failed, and is not rejected", async (t) => {
  const { session, kinds } = await sessionOf(t, {
    prompt(context) {
      context.closed("gone");
      return Promise.resolve({});
    },
  });
  assert.equal((await session.prompt({ text: "go" })).status, "failed");
  assert.deepEqual(
    kinds().filter((kind) => kind.startsWith("turn_")),
    ["turn_started", "turn_failed"],
  );
});

/** A store whose updates take their time. */
const slowly = (store) => ({
  get: (id) => store.get(id),
  create: (binding) => store.create(binding),
  claim: (id, options) => store.claim(id, options),
  async update(...given) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return store.update(...given);
  },
});

test("when a prompt resolves, the native session that became known in its turn is written", async (t) => {
  let native = {};
  const { session, store } = await sessionOf(
    t,
    {
      getBinding: () => native,
      async prompt(context) {
        void later(() => {
          native = { nativeSessionId: "native-1" };
          void context.bindingChanged();
          context.terminal(COMPLETED);
        });
        return {};
      },
    },
    slowly,
  );
  await session.prompt({ text: "go" });
  const { state, nativeSessionId } = await store.get("ps_1");
  assert.deepEqual([state, nativeSessionId], ["bound", "native-1"]);
});

test("a harness that says much in the moment in which it accepts a turn loses nothing", async (t) => {
  const folder = fs.mkdtempSync(path.join(tmpdir(), "agent-lifecycle-"));
  const store = await BindingStore.open(path.join(folder, "bindings.db"));
  const texts = [];
  // More pieces than the session keeps for a turn that is not accepted, in the write that accepts it.
  const text = "a piece of text ".repeat(2000);
  const turns = [
    [{ observe: { kind: "assistant", text: { delta: text }, done: true }, chunk: 32 }, { end: COMPLETED }],
  ];
  const session = await openRuntimeSession({
    store,
    registry: createRuntimeRegistry({
      drivers: [fakeDriver()],
      instances: [
        {
          runtimeInstanceId: "fake",
          adapterId: "fake",
          config: fakeAdapter({ capabilities: FAKE_CAPABILITIES, nativeTurnIds: true, turns }),
        },
      ],
    }),
    productSessionId: "ps_1",
    runtimeInstanceId: "fake",
    workspace: folder,
    publish: false,
    onEvent: (event) => event.kind === "assistant_message" && texts.push(event.text),
  });
  t.after(async () => {
    await session.dispose();
    await store.close();
    fs.rmSync(folder, { recursive: true });
  });
  for (let turn = 0; turn < 3; turn += 1)
    assert.equal((await session.prompt({ text: "go" })).status, "completed");
  assert.deepEqual(texts, [text, text, text]);
});

test("a script that waits for a prompt does not end before the turn does", async (t) => {
  const folder = fs.mkdtempSync(path.join(tmpdir(), "agent-lifecycle-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const script = `
    import { BindingStore, createRuntimeRegistry, openRuntimeSession } from "agent-lifecycle";
    import { fakeAdapter, fakeDriver, FAKE_CAPABILITIES } from "agent-lifecycle/testing";
    const turns = [[{ pause: 300 }, { end: { status: "completed" } }]];
    const config = fakeAdapter({ capabilities: FAKE_CAPABILITIES, nativeTurnIds: true, turns });
    const session = await openRuntimeSession({
      store: await BindingStore.open(${JSON.stringify(path.join(folder, "bindings.db"))}),
      registry: createRuntimeRegistry({
        drivers: [fakeDriver()],
        instances: [{ runtimeInstanceId: "fake", adapterId: "fake", config }],
      }),
      productSessionId: "ps_1",
      runtimeInstanceId: "fake",
      workspace: ${JSON.stringify(folder)},
      publish: false,
    });
    console.log((await session.prompt({ text: "go" })).status);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    cwd: path.dirname(import.meta.dirname),
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  // It was not told to dispose of the session, and an idle one keeps nothing alive.
  assert.deepEqual(await once(child, "close"), [0, null]);
  assert.equal(said, "completed\n");
});

test("a script that waits for a diagnosis does not end before it is given up", async (t) => {
  const script = `
    import { createRuntimeRegistry } from "agent-lifecycle";
    import { fakeAdapter, fakeDriver } from "agent-lifecycle/testing";
    const { setTimeout: later } = globalThis;
    globalThis.setTimeout = (call, milliseconds) => later(call, milliseconds / 100);
    const registry = createRuntimeRegistry({
      drivers: [{ ...fakeDriver(), diagnose: () => new Promise(() => undefined) }],
      instances: [{ runtimeInstanceId: "fake", adapterId: "fake", config: fakeAdapter({ turns: [[]] }) }],
    });
    const [{ availability, diagnostics }] = await registry.inspect();
    console.log(availability, diagnostics[0].code);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    cwd: path.dirname(import.meta.dirname),
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  assert.deepEqual(await once(child, "close"), [0, null]);
  assert.equal(said, "unknown diagnosis_timeout\n");
});

test("what waits for an answer is bounded in number and in text, and comes in its order", () => {
  for (const [said, most] of [
    [undefined, 4096],
    // 8 Mi units, and a few for each value.
    [{ kind: "assistant", text: { delta: "x".repeat(2 ** 20) } }, 7],
    [Array.from({ length: 1024 }, () => "x".repeat(1024)), 7],
  ]) {
    const held = new Held(() => true);
    const done = [];
    for (let at = 0; at < most; at += 1) held.last(() => done.push(at), said);
    assert.deepEqual(done, [], "it waits");
    held.next(() => done.push(most), said);
    assert.deepEqual(
      done,
      Array.from({ length: most + 1 }, (_, at) => at),
    );
    held.last(() => done.push("again"), said);
    assert.equal(done.length, most + 1, "the next ones wait again");
  }
});
