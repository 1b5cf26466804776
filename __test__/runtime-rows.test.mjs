// A runtime session is a row like any other, in a monitor, `readStatus`, `status` and `watch`: while it is opened, asks, is answered, ends,
// and when its host is killed.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { promisify } from "node:util";
import { openMonitor, readStatus } from "agent-lifecycle";
import { createRowStore } from "agent-lifecycle/client";
import { until } from "./support/adapter.mjs";
import { answer, runtimeHome } from "./support/runtime-hosts.mjs";

const command = path.join(path.dirname(import.meta.dirname), "dist/cli/main.js");
const run = promisify(execFile);

/** Everything that shows rows, in the home of a test. */
async function shown(t, place) {
  const before = process.env.XDG_STATE_HOME;
  process.env.XDG_STATE_HOME = place.env.XDG_STATE_HOME;
  const changes = [];
  const faults = [];
  const monitor = await openMonitor({
    home: place.home,
    reconcileDeadlineMs: 200,
    onChange: (batch) => changes.push(...batch.upserted),
    // Where a change was not told of, it looks by itself: that is said, and is no fault.
    onDiagnostic: ({ code, message }) => code !== "polling" && faults.push(`${code}: ${message}`),
  });
  const watch = spawn(process.execPath, [command, "watch", "--jsonl"], {
    env: place.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const store = createRowStore();
  createInterface({ input: watch.stdout }).on("line", (line) => store.apply(JSON.parse(line)));
  t.after(async () => {
    watch.kill("SIGKILL");
    await monitor.close();
    assert.deepEqual(faults, []);
    if (before === undefined) delete process.env.XDG_STATE_HOME;
    else process.env.XDG_STATE_HOME = before;
  });
  const views = {
    monitor: async () => monitor.rows(),
    watch: async () => store.snapshot(),
    readStatus: async () => (await readStatus({ home: place.home })).rows,
    status: async () =>
      JSON.parse((await run(process.execPath, [command, "status", "--json"], { env: place.env })).stdout)
        .rows,
  };
  return {
    monitor,
    changes,
    /** Waits until each view says this of the one row of the session. */
    async say(title, state, waitingReason, more = () => true) {
      for (const [name, rows] of Object.entries(views)) {
        let last;
        await until(`${name}: ${title} ${state} ${waitingReason}`, async () => {
          last = (await rows()).filter((row) => row.title === title);
          return (
            last.length === 1 &&
            last[0].state === state &&
            last[0].waitingReason === waitingReason &&
            more(last[0])
          );
        }).catch((error) => assert.fail(`${error.message}; it said ${JSON.stringify(last)}`));
      }
      return monitor.rows().find((row) => row.title === title);
    },
  };
}

const DECISIONS = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];
/** A request for leave that the harness does not wait for before it goes on. */
const asks = (id) => ({
  line: JSON.stringify({
    id,
    method: "approval/request",
    params: { kind: "command", title: `private title of ${id}`, decisions: DECISIONS },
  }),
});
const tool = (toolCallId, kind) => ({ observe: { kind, nativeItemId: toolCallId, toolName: "shell" } });

const isAtTool = ({ tools }) => tools.open.length === 1;

test("S5: a row waits until the last of two approvals is answered, and runs at once; so with a question", async (t) => {
  const place = runtimeHome(t);
  const host = await place.host();
  const view = await shown(t, place);
  const script = {
    sessions: place.sessionsOf("a"),
    turns: [
      [asks("a1"), asks("a2"), tool("t1", "tool_started"), { until: "steer" }, ...answer("said {text}")],
      [
        { questions: [{ id: "q", question: "private question?", allowFreeform: true }] },
        { until: "steer" },
        ...answer("done"),
      ],
    ],
  };
  await host.do("a", "open", { script, title: "session a" });
  await view.say("session a", "waiting", "prompt");

  const prompted = host.ask("a", "prompt");
  await host.event("a", "tool_execution_started");
  await view.say("session a", "waiting", "permission", isAtTool);
  const [first, second] = host.said
    .filter(({ event }) => event === "approval_requested")
    .map(({ requestId }) => requestId);
  await host.do("a", "answer", { requestId: first });
  assert.equal((await host.do("a", "status")).pendingRequests, 1);
  await view.say("session a", "waiting", "permission", isAtTool);
  await host.do("a", "answer", { requestId: second });
  // The harness says nothing between the answer and what the test lets it do: it runs by the answer alone.
  await view.say("session a", "running", null, isAtTool);
  assert.equal((await host.do("a", "status")).pendingApproval, null);
  await host.do("a", "steer");
  assert.equal((await prompted).result.status, "completed");
  await view.say("session a", "waiting", "prompt", ({ turns }) => turns.count === 1);

  void host.ask("a", "prompt");
  const asked = await host.event("a", "user_input_requested");
  await view.say("session a", "waiting", "question");
  await host.do("a", "say", { requestId: asked.requestId, answers: { q: { text: "an answer" } } });
  await view.say("session a", "running", null);
  await host.do("a", "steer");
  await view.say("session a", "waiting", "prompt", ({ turns }) => turns.count === 2);

  // Each state in its order. Whether a batch shows that it ran before it asked is a matter of time.
  const states = view.changes
    .map(({ state, waitingReason }) => waitingReason ?? state)
    .filter((state) => !["created", "starting"].includes(state))
    .filter((state, at, all) => state !== all[at - 1])
    .filter((state, at, all) => state !== "running" || !["permission", "question"].includes(all[at + 1]));
  assert.deepEqual(states, ["prompt", "permission", "running", "prompt", "question", "running", "prompt"]);
  const shownText = JSON.stringify(view.changes);
  for (const text of ["private title", "private question", "an answer", "said hello"])
    assert.ok(!shownText.includes(text), `${text} is in a row`);
  const { nativeSessionId } = await place.stored((store) => store.get("a"));
  assert.ok(!shownText.includes(nativeSessionId), "a native id is in a row");

  await host.do("a", "dispose");
  await view.say("session a", "completed", null, ({ turn, turns }) => !turn.open && turns.count === 2);
  await host.end();
});

test("the row of a session that is disposed of or whose harness died says so, and a new life is a row of its own", async (t) => {
  const place = runtimeHome(t);
  const host = await place.host();
  const view = await shown(t, place);
  const open = (id, turn) =>
    host.do(id, "open", {
      title: `session ${id}`,
      script: { sessions: place.sessionsOf(id), turns: [turn] },
    });
  const delta = { observe: { kind: "assistant", text: { delta: "I am " } } };

  await open("idle", answer("done"));
  await host.do("idle", "dispose");
  // It did nothing: it neither completed nor failed.
  await view.say("session idle", "cancelled", null, ({ turns }) => turns.count === 0);

  await open("busy", [delta, { hang: true }]);
  void host.ask("busy", "prompt");
  await host.event("busy", "assistant_delta");
  await view.say("session busy", "running", null);
  await host.do("busy", "dispose");
  await view.say("session busy", "cancelled", null, ({ turn }) => turn.outcome === "cancelled");

  await open("asking", [asks("a1"), { hang: true }]);
  void host.ask("asking", "prompt");
  await host.event("asking", "approval_requested");
  await view.say("session asking", "waiting", "permission");
  await host.do("asking", "abort");
  await view.say(
    "session asking",
    "waiting",
    "prompt",
    ({ waits, turn }) => waits.length === 0 && !turn.open,
  );

  await open("crashing", [asks("a1"), { exit: 3 }]);
  assert.equal((await host.do("crashing", "prompt")).status, "failed");
  await view.say("session crashing", "failed", null, ({ turn }) => turn.outcome === "error");
  await host.do("crashing", "dispose");
  await view.say("session crashing", "failed", null);

  await host.do("idle", "open", {
    title: "session idle again",
    script: { sessions: place.sessionsOf("idle"), turns: [answer("done")] },
  });
  await view.say("session idle again", "waiting", "prompt");
  await view.say("session idle", "cancelled", null);
  await host.end();
});

test("after a kill -9 of the host what was at work is lost, and what had ended stays as it ended", async (t) => {
  const place = runtimeHome(t);
  const host = await place.host();
  const view = await shown(t, place);
  const open = (id, turn) =>
    host.do(id, "open", {
      title: `session ${id}`,
      script: { sessions: place.sessionsOf(id), turns: [turn] },
    });
  const delta = { observe: { kind: "assistant", text: { delta: "I am " } } };
  await open("ended", answer("done"));
  await host.do("ended", "prompt");
  await host.do("ended", "dispose");
  for (const [id, turn] of [
    ["running", [delta, { hang: true }]],
    ["asking", [asks("a1"), delta, { hang: true }]],
  ]) {
    await open(id, turn);
    void host.ask(id, "prompt");
    await host.event(id, "assistant_delta");
  }
  await open("idle", answer("done"));
  await view.say("session running", "running", null);
  await view.say("session asking", "waiting", "permission");
  await view.say("session idle", "waiting", "prompt");
  await host.kill();

  const states = () =>
    Object.fromEntries(view.monitor.rows().map(({ title, state }) => [title.replace("session ", ""), state]));
  await until("the lost ones are", () => ["running", "asking"].every((id) => states()[id] === "lost"));
  assert.equal(states().ended, "completed");
  // What reads once concludes nothing, but says that the process is gone.
  const { rows } = await readStatus({ home: place.home });
  const rowOf = (id) => rows.find(({ title }) => title === `session ${id}`);
  for (const [id, state, waitingReason] of [
    ["running", "running", null],
    ["asking", "waiting", "permission"],
    ["idle", "waiting", "prompt"],
  ]) {
    const row = rowOf(id);
    assert.deepEqual([row.state, row.waitingReason, row.evidence.processAlive], [state, waitingReason, "no"]);
    assert.equal(row.freshness.reconcile, "unavailable");
  }
  assert.equal(rowOf("ended").state, "completed");

  // The next host has rows of its own, and the old ones stay as they are.
  const next = await place.host();
  await next.do("asking", "open", {
    title: "session asking again",
    script: { sessions: place.sessionsOf("asking"), turns: [answer("done")] },
  });
  await view.say("session asking again", "waiting", "prompt");
  assert.equal((await next.do("asking", "prompt")).status, "completed");
  assert.equal(states().asking, "lost");
  await next.end();
});
