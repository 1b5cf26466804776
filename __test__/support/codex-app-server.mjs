// An imitation of the protocol of `codex app-server`, as far as the example adapter uses it, for the scenarios of the conformance
// suite. Arguments: the scenario, and a folder for threads. It is no part of the program, and knows nothing of models.
import fs from "node:fs";
import path from "node:path";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

const [scenario, folder] = process.argv.slice(2);
const token = process.env.CONFORMANCE_TOKEN;
const answers = new Map();
let threadId;
let turns = 0;
let turn;
let asked = 0;

const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const notify = (method, params) => send({ method, params: { threadId, turnId: turn?.id, ...params } });
const written = () =>
  new Promise((resolve) => process.stdout.write("", () => process.stderr.write("", resolve)));
const fileOf = (id) => path.join(folder, `${id}.rollout`);

function ask(method, params) {
  const id = asked++;
  send({ id, method, params: { threadId, turnId: turn.id, itemId: "item-asked", ...params } });
  return new Promise((resolve) => answers.set(id, resolve)).then((result) => {
    notify("serverRequest/resolved", { requestId: id });
    return result;
  });
}

const itemId = (name) => `${turn.id}-${name}`;

/** A message of the assistant in pieces, without its end. */
function pieces(name, ...texts) {
  notify("item/started", { item: { type: "agentMessage", id: itemId(name), text: "" } });
  for (const delta of texts) notify("item/agentMessage/delta", { itemId: itemId(name), delta });
}

function says(name, ...texts) {
  pieces(name, ...texts);
  notify("item/completed", { item: { type: "agentMessage", id: itemId(name), text: texts.join("") } });
}

function ends(status = "completed", error = null) {
  const { id } = turn;
  notify("turn/completed", { turn: { id, items: [], status, error } });
  turn = undefined;
}

/** What comes in it comes twice. */
function twice(work) {
  work();
  work();
}

const SCENARIOS = {
  plain() {
    says("m1", "Hello, ", "world.");
    const item = {
      type: "commandExecution",
      id: itemId("probe"),
      command: "true",
      cwd: "/",
      status: "inProgress",
    };
    notify("item/started", { item });
    notify("item/commandExecution/outputDelta", { itemId: item.id, delta: "found\n" });
    notify("item/completed", {
      item: { ...item, status: "completed", aggregatedOutput: "found\n", exitCode: 0 },
    });
    says("m2", "Done.");
    const total = {
      totalTokens: 5,
      inputTokens: 3,
      cachedInputTokens: 0,
      outputTokens: 2,
      reasoningOutputTokens: 0,
    };
    notify("thread/tokenUsage/updated", { tokenUsage: { total, last: total, modelContextWindow: 1000 } });
    ends();
  },
  equal() {
    says("m1", "ha", "ha");
    ends();
  },
  failure() {
    says("m1", "Half.");
    ends("failed", { message: "no more credit" });
  },
  // A piece has no identity of its own: only what has one can be told to be a repeat.
  duplicates() {
    const item = { type: "agentMessage", id: itemId("m1"), text: "" };
    twice(() => notify("item/started", { item }));
    for (const delta of ["Only ", "once."]) notify("item/agentMessage/delta", { itemId: item.id, delta });
    twice(() => notify("item/completed", { item: { ...item, text: "Only once." } }));
    const { id } = turn;
    twice(() => notify("turn/completed", { turn: { id, items: [], status: "completed", error: null } }));
    turn = undefined;
  },
  late(previous) {
    if (previous === undefined) {
      says("m1", "First.");
      return ends();
    }
    notify("item/agentMessage/delta", { turnId: previous, itemId: `${previous}-m1`, delta: "Too late." });
    notify("turn/completed", {
      turnId: previous,
      turn: { id: previous, items: [], status: "completed", error: null },
    });
    says("m1", "Second.");
    ends();
  },
  malformed() {
    process.stdout.write("this is no JSON\n");
    send({ result: {} });
    send({ method: "item/started", params: { threadId } });
    send({ method: "turn/completed", params: { threadId, turn: 7 } });
    send({ method: 12 });
    says("m1", "Still here.");
    ends();
  },
  async crash() {
    pieces("m1", "Half");
    await written();
    process.kill(process.pid, "SIGKILL");
  },
  async partial() {
    pieces("m1", "Half a mess");
    process.stdout.write('{"method":"item/agentMessage/delta","params":{"delta":"age');
    await written();
    process.exit(0);
  },
  busy(previous) {
    if (previous === undefined) return pieces("m1", "Working");
    says("m1", "After.");
    ends();
  },
  resume() {
    says("m1", `turn ${turns}.`);
    ends();
  },
  missing() {
    SCENARIOS.resume();
  },
  "broken-resume"() {
    SCENARIOS.resume();
  },
  async "approval-abort"(previous) {
    if (previous !== undefined) return SCENARIOS.busy(previous);
    await ask("item/commandExecution/requestApproval", { command: "true", cwd: "/", reason: "to try" });
    ends("interrupted");
  },
  async approval() {
    const { decision } = await ask("item/commandExecution/requestApproval", {
      command: "true",
      cwd: "/",
      reason: "to try",
    });
    says("m1", `decision: ${decision}`);
    ends();
  },
  async input() {
    const options = ["Blue", "Green"].map((label) => ({ label, description: "" }));
    const question = {
      id: "colour",
      header: "Colour",
      question: "Which colour?",
      isOther: false,
      isSecret: false,
      options,
    };
    const { answers: given } = await ask("item/tool/requestUserInput", { questions: [question] });
    says("m1", `answer: ${given.colour.answers.join(", ")}`);
    ends();
  },
  steer() {
    says("m1", "Waiting.");
  },
  async secrets() {
    process.stderr.write(`the token is ${token}\n`);
    says("m1", ...`It is ${token}, I think.`.match(/.{1,5}/gs));
    const item = {
      type: "mcpToolCall",
      id: itemId("t"),
      server: "s",
      tool: "t",
      status: "inProgress",
      arguments: { token },
    };
    notify("item/started", { item });
    notify("item/completed", { item: { ...item, status: "failed", error: { message: `refused ${token}` } } });
    notify("error", { error: { message: `no access with ${token}` }, willRetry: false });
    ends("failed", { message: `no access with ${token}`, codexErrorInfo: "unauthorized" });
    await written();
    process.exit(3);
  },
};

const METHODS = {
  initialize: () => ({
    userAgent: "codex_cli_rs/0.132.0 (imitation)",
    platformFamily: "unix",
    platformOs: "linux",
  }),
  "thread/start"() {
    threadId = randomUUID();
    return { thread: { id: threadId, turns: [] }, cwd: folder };
  },
  "thread/resume"({ threadId: id }) {
    if (!fs.existsSync(fileOf(id)))
      throw Object.assign(new Error(`no rollout found for thread id ${id}`), { code: -32600 });
    threadId = id;
    turns = Number(fs.readFileSync(fileOf(id), "utf8"));
    return { thread: { id, turns: [] }, cwd: folder };
  },
  "turn/start"() {
    const previous = turns === 0 ? undefined : `turn_${turns}`;
    turns += 1;
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(fileOf(threadId), String(turns));
    turn = { id: `turn_${turns}`, items: [], status: "inProgress", error: null };
    const started = { turn };
    setImmediate(() => {
      notify("turn/started", started);
      void SCENARIOS[scenario](previous);
    });
    return started;
  },
  "turn/steer"({ input, expectedTurnId }) {
    if (expectedTurnId !== turn?.id) throw Object.assign(new Error("no such turn is on"), { code: -32600 });
    setImmediate(() => {
      says("m2", `steered: ${input[0].text}`);
      ends();
    });
    return { turnId: expectedTurnId };
  },
  "turn/interrupt"({ turnId }) {
    if (turnId !== turn?.id) throw Object.assign(new Error("no such turn is on"), { code: -32600 });
    // It ends when its request has.
    if (scenario !== "approval-abort") setImmediate(() => ends("interrupted"));
    return {};
  },
};

// As one whose login is gone with its folder.
if (scenario === "broken-resume" && !fs.existsSync(folder)) process.exit(1);

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { id, method, params, result } = JSON.parse(line);
    if (method === undefined) return answers.get(id)?.(result);
    if (id === undefined) return;
    try {
      send({ id, result: METHODS[method](params) });
    } catch ({ code, message }) {
      send({ id, error: { code, message } });
    }
  })
  .on("close", () => process.exit(0));
