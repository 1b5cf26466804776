// The fake adapter for tests of hosts: what its script says happens, seen through a session.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { BindingStore, createRuntimeRegistry, openRuntimeSession } from "agent-lifecycle";
import { FAKE_CAPABILITIES, fakeAdapter, fakeDriver } from "agent-lifecycle/testing";

const says = (text) => ({ observe: { kind: "assistant", text: { cumulative: text }, done: true } });
const COMPLETED = { end: { status: "completed" } };

/** A host with one fake, whose sessions can be opened again and again. */
async function hostOf(t, script, environment) {
  const folder = fs.mkdtempSync(path.join(tmpdir(), "agent-lifecycle-"));
  const store = await BindingStore.open(path.join(folder, "bindings.db"));
  const opened = [];
  t.after(async () => {
    await Promise.all(opened.map((session) => session.dispose()));
    await store.close();
    fs.rmSync(folder, { recursive: true });
  });
  const whole = {
    capabilities: FAKE_CAPABILITIES,
    nativeTurnIds: true,
    sessions: path.join(folder, "native"),
    ...script,
  };
  const registry = createRuntimeRegistry({
    drivers: [fakeDriver()],
    instances: [{ runtimeInstanceId: "fake", adapterId: "fake", config: fakeAdapter(whole, environment) }],
  });
  const events = [];
  const open = async (more) => {
    const session = await openRuntimeSession({
      store,
      registry,
      productSessionId: "ps_1",
      runtimeInstanceId: "fake",
      workspace: folder,
      publish: false,
      onEvent: (event) => events.push(event),
      ...more,
    });
    opened.push(session);
    return session;
  };
  const texts = () => events.filter(({ kind }) => kind === "assistant_message").map(({ text }) => text);
  return { open, events, texts, binding: () => store.get("ps_1"), folder };
}

const prompt = { text: "hello" };

test("a turn that is refused was none, and the next one is taken", async (t) => {
  const reject = { code: -32010, message: "not now" };
  const host = await hostOf(t, { turns: [[{ reject }], [says("Now."), COMPLETED]] });
  const session = await host.open();
  await assert.rejects(session.prompt(prompt), ({ code, message }) => {
    assert.equal(code, "turn_rejected");
    assert.match(message, /not now/);
    return true;
  });
  assert.ok(!host.events.some(({ kind }) => kind === "turn_started"));
  assert.equal((await session.prompt(prompt)).status, "completed");
  assert.deepEqual(host.texts(), ["Now."]);
});

test("an answer that comes twice is a diagnostic, also long after its turn began", async (t) => {
  const turn = [{ accept: true }, { pause: 1 }, { accept: true }, says("Once."), COMPLETED];
  const host = await hostOf(t, { turns: [turn] });
  const session = await host.open();
  assert.equal((await session.prompt(prompt)).status, "completed");
  assert.deepEqual(host.texts(), ["Once."]);
  assert.deepEqual(
    session.status().diagnostics.map(({ code }) => code),
    ["duplicate_response"],
  );
});

test("a native session that gets its id with the first turn is bound by then", async (t) => {
  const host = await hostOf(t, { nativeSessionId: "first-turn", turns: [[says("turn {turns}"), COMPLETED]] });
  const first = await host.open();
  assert.equal((await host.binding()).state, "unbound");
  await first.prompt(prompt);
  const { state, nativeSessionId } = await host.binding();
  assert.equal(state, "bound");
  assert.match(nativeSessionId, /^fake-/);
  await first.dispose();
  const second = await host.open();
  await second.prompt(prompt);
  assert.deepEqual(host.texts(), ["turn 1", "turn 2"]);
});

test("a session that its harness forgot is missing", async (t) => {
  const host = await hostOf(t, { turns: [[{ forget: true }, COMPLETED]] });
  const session = await host.open();
  await session.prompt(prompt);
  await session.dispose();
  await assert.rejects(host.open(), { code: "binding_missing" });
});

test("a fake that exits, or hangs, before it is ready does not open", async (t) => {
  const turns = [[COMPLETED]];
  const exits = await hostOf(t, { start: [{ stderr: "no licence" }, { exit: 4 }], turns });
  await assert.rejects(exits.open(), ({ code, details }) => {
    assert.equal(code, "process_exited");
    assert.equal(details.exitCode, 4);
    assert.match(details.stderrTail, /no licence/);
    return true;
  });
  const hangs = await hostOf(t, { start: [{ hang: true }], turns });
  await assert.rejects(hangs.open({ openMs: 300 }), { code: "open_timeout" });
  // Neither said anything of a native session.
  for (const host of [exits, hangs]) assert.equal((await host.binding()).state, "unbound");
});

test("a fake can take an abort as it likes", async (t) => {
  const turn = [{ until: "abort" }, says("Stopping."), { end: { status: "interrupted" } }];
  const host = await hostOf(t, { abort: "ignore", turns: [turn] });
  const session = await host.open();
  const prompted = session.prompt(prompt);
  while (!host.events.some(({ kind }) => kind === "turn_started")) await new Promise(setImmediate);
  await session.abort();
  assert.equal((await prompted).status, "interrupted");
  assert.deepEqual(host.texts(), ["Stopping."]);
  assert.equal(host.events.at(-1).confirmed, true);
});

test("texts name what is known of the turn, and variables", async (t) => {
  const text =
    "{turn} after {previousTurn}, number {turns}, {text}, {env.COLOUR}, {env.NOT_THERE}, {unknown}";
  const host = await hostOf(t, { turns: [[says(text), COMPLETED]] }, { COLOUR: "red" });
  const session = await host.open();
  await session.prompt({ text: "to the {left}" });
  assert.deepEqual(host.texts(), [
    "turn-1 after turn-0, number 1, to the {left}, red, {env.NOT_THERE}, {unknown}",
  ]);
});
