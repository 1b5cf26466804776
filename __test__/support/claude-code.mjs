// An imitation of Claude Code's stream-json, as far as the example adapter uses it, for the scenarios of the conformance suite. Its
// environment names the scenario and a folder for conversations. It is no part of the program, and knows nothing of models.
import fs from "node:fs";
import path from "node:path";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

const { CONFORMANCE_SCENARIO: scenario, CONFORMANCE_FOLDER: folder, CONFORMANCE_TOKEN: token } = process.env;
const argument = (name) => process.argv[process.argv.indexOf(name) + 1];
const isResumed = process.argv.includes("--resume");
const sessionId = argument(isResumed ? "--resume" : "--session-id");
const file = path.join(folder, `${sessionId}.jsonl`);
const answers = new Map();
let turns = 0;
let isOn = false;

const send = (message) => process.stdout.write(`${JSON.stringify({ session_id: sessionId, ...message })}\n`);
const said = (type, more) => send({ type, uuid: randomUUID(), parent_tool_use_id: null, ...more });
const written = () =>
  new Promise((resolve) => process.stdout.write("", () => process.stderr.write("", resolve)));

const streams = (event) => said("stream_event", { event });

/** A block of text of a message as it streams, without its end. */
function pieces(id, texts) {
  streams({ type: "message_start", message: { id } });
  streams({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  for (const text of texts)
    streams({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
}

function says(...texts) {
  const id = `msg_${randomUUID()}`;
  pieces(id, texts);
  assistant(id, { type: "text", text: texts.join("") });
}

const assistant = (id, block) => said("assistant", { message: { id, role: "assistant", content: [block] } });

function uses(input, result, isError = false) {
  const id = `toolu_${randomUUID()}`;
  assistant(`msg_${randomUUID()}`, { type: "tool_use", id, name: "Bash", input });
  const content = [{ type: "tool_result", tool_use_id: id, content: result, is_error: isError }];
  said("user", { message: { role: "user", content } });
}

function ends(more = { subtype: "success", is_error: false, result: "" }) {
  isOn = false;
  const usage = {
    input_tokens: 1,
    cache_read_input_tokens: 2,
    cache_creation_input_tokens: 0,
    output_tokens: 2,
  };
  said("result", { num_turns: 1, usage, ...more });
}

function ask(request) {
  const id = randomUUID();
  send({
    type: "control_request",
    request_id: id,
    request: { subtype: "can_use_tool", tool_use_id: "toolu_1", ...request },
  });
  return new Promise((resolve) => answers.set(id, resolve));
}

const SCENARIOS = {
  plain() {
    says("Hello, ", "world.");
    uses({ command: "true" }, "found");
    says("Done.");
    ends();
  },
  equal() {
    says("ha", "ha");
    ends();
  },
  failure() {
    says("Half.");
    ends({ subtype: "error_during_execution", is_error: true, errors: ["no more credit"] });
  },
  // Each message has a name of its own, so all of them can come twice.
  duplicates() {
    const write = process.stdout.write.bind(process.stdout);
    process.stdout.write = (text) => write(text) && write(text);
    says("Only ", "once.");
    ends();
    process.stdout.write = write;
  },
  malformed() {
    process.stdout.write("this is no JSON\n");
    process.stdout.write("null\n");
    said("assistant", { message: 7 });
    said("stream_event", { event: { type: "content_block_delta" } });
    said("no such type", {});
    says("Still here.");
    ends();
  },
  async crash() {
    pieces("msg_1", ["Half"]);
    await written();
    process.kill(process.pid, "SIGKILL");
  },
  async partial() {
    pieces("msg_1", ["Half a mess"]);
    process.stdout.write('{"type":"assistant","message":{"content":[{"type":"text","text":"Half a message');
    await written();
    process.exit(0);
  },
  busy() {
    if (turns === 1) return pieces("msg_1", ["Working"]);
    says("After.");
    ends();
  },
  resume() {
    says(`turn ${turns}.`);
    ends();
  },
  missing() {
    SCENARIOS.resume();
  },
  "broken-resume"() {
    SCENARIOS.resume();
  },
  async "approval-abort"() {
    if (turns > 1) return SCENARIOS.busy();
    await ask({ tool_name: "Bash", input: { command: "true" } });
    ends({ subtype: "error_during_execution", is_error: true, errors: ["interrupted"] });
  },
  async approval() {
    const input = { command: "true" };
    const { behavior, updatedInput } = await ask({ tool_name: "Bash", input });
    says(`decision: ${behavior}`);
    if (behavior === "allow" && updatedInput.command !== input.command)
      throw new Error("another input was allowed");
    ends();
  },
  async input() {
    const options = ["Blue", "Green"].map((label) => ({ label, description: "" }));
    const question = { question: "Which colour?", header: "Colour", options, multiSelect: false };
    const { updatedInput } = await ask({ tool_name: "AskUserQuestion", input: { questions: [question] } });
    says(`answer: ${updatedInput.answers["Which colour?"]}`);
    ends();
  },
  async secrets() {
    process.stderr.write(`the token is ${token}\n`);
    says(...`It is ${token}, I think.`.match(/.{1,5}/gs));
    uses({ token }, `refused ${token}`, true);
    ends({ subtype: "error_during_execution", is_error: true, errors: [`no access with ${token}`] });
    await written();
    process.exit(3);
  },
};

if (fs.existsSync(folder)) fs.writeFileSync(path.join(folder, "pids"), `${process.pid} ${process.ppid}`);
// As one whose login is gone with its folder.
if (scenario === "broken-resume" && !fs.existsSync(folder)) {
  process.stderr.write("Invalid API key\n");
  await written();
  process.exit(1);
}
if (isResumed && !fs.existsSync(file)) {
  const errors = [`No conversation found with session ID: ${sessionId}`];
  send({ type: "result", subtype: "error_during_execution", is_error: true, num_turns: 0, errors });
  process.stderr.write(`${errors[0]}\n`);
  await written();
  process.exit(1);
}
if (isResumed) turns = Number(fs.readFileSync(file, "utf8"));

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { type, request_id: id, request, response } = JSON.parse(line);
    switch (type) {
      case "user":
        turns += 1;
        isOn = true;
        fs.mkdirSync(folder, { recursive: true });
        fs.writeFileSync(file, String(turns));
        said("system", { subtype: "init", claude_code_version: "2.1.0", tools: ["Bash"] });
        return void SCENARIOS[scenario]();
      case "control_response":
        return answers.get(response.request_id)?.(response.response);
      case "control_request":
        send({ type: "control_response", response: { subtype: "success", request_id: id, response: {} } });
        // There it ends when its request has.
        if (request.subtype === "interrupt" && isOn && scenario !== "approval-abort")
          ends({ subtype: "error_during_execution", is_error: true, errors: ["interrupted"] });
    }
  })
  .on("close", () => process.exit(0));
