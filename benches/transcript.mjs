// A journal as Claude Code writes it: turns, messages of several lines, tool calls and their results, sub-agents, questions, usage.
import { LANGUAGES, WORDS, sentence } from "./words.mjs";

const MODELS = ["claude-opus-4-7", "claude-opus-4-7", "claude-opus-4-7", "claude-haiku-4-5"];
const TOOLS = [
  "Read",
  "Read",
  "Edit",
  "Write",
  "Bash",
  "Bash",
  "Bash",
  "Grep",
  "WebFetch",
  "AskUserQuestion",
];

/** The journal of a session or, with `agentId`, of one of its sub-agents. */
export class Transcript {
  /** The lines so far. */
  lines = [];
  /** `{agentId, call, prompt, start}` of each sub-agent that was launched. */
  launched = [];
  #random;
  #clock;
  #typical;
  #envelope;
  #parent = null;
  #prompt;
  /** Sub-agents that work in the background. */
  #running = [];

  /** `typical` is what a line with a text has in bytes, in the middle; no line has more than 200 KB. */
  constructor({ random, sessionId, start, typical = 2700, agentId }) {
    this.#random = random;
    this.#clock = start;
    this.#typical = typical;
    this.#envelope = {
      userType: "external",
      cwd: "/home/ada/harbor",
      sessionId,
      version: "2.1.240",
      gitBranch: "main",
      ...(agentId && { agentId }),
    };
  }

  /** One turn: what somebody asks, what the agent does, the answer. `text` is what is asked. */
  turn(text = this.#text(this.#size())) {
    this.#prompt = uuid(this.#random);
    this.#record("user", { promptId: this.#prompt, message: { role: "user", content: text } });
    if (this.#envelope.agentId === undefined && this.#chance(0.3)) this.#title();
    const steps = 2 + Math.floor(this.#random() * 8);
    for (let step = 0; step < steps; step++) {
      this.#step();
      if (this.#chance(0.01)) return this.#interrupt();
      if (this.#running.length > 0 && this.#chance(0.2)) this.#report(this.#running.shift());
    }
    this.#message([{ type: "text", text: this.#text(this.#size()) }], "end_turn");
    if (this.#envelope.agentId === undefined) {
      this.#record("system", {
        subtype: "turn_duration",
        durationMs: Math.floor(this.#random() * 900_000),
        messageCount: this.lines.length,
        isMeta: false,
      });
    }
  }

  /** A message of the agent, with calls and their results. */
  #step() {
    const blocks = [];
    if (this.#chance(0.25)) {
      blocks.push({
        type: "thinking",
        thinking: this.#text(this.#size()),
        signature: hex(this.#random, 320),
      });
    }
    if (this.#chance(0.4)) blocks.push({ type: "text", text: this.#text(this.#size()) });
    const calls = Array.from({ length: this.#chance(0.2) ? 2 : 1 }, () => this.#call());
    this.#message([...blocks, ...calls], "tool_use");
    for (const call of calls) this.#result(call);
  }

  #call() {
    const isRoot = this.#envelope.agentId === undefined;
    const name = isRoot && this.#chance(0.04) ? "Agent" : this.#pick(TOOLS);
    return { type: "tool_use", id: `toolu_${hex(this.#random, 24)}`, name, input: this.#input(name) };
  }

  #input(name) {
    const file_path = `/home/ada/harbor/src/${hex(this.#random, 8)}.rs`;
    const body = (share = 1) => this.#text(this.#size() * share);
    switch (name) {
      case "Read":
        return { file_path, offset: 1, limit: 200 };
      case "Edit":
        return { file_path, old_string: body(0.5), new_string: body(0.5) };
      case "Write":
        return { file_path, content: body() };
      case "Bash":
        return { command: body(), description: this.#text(30) };
      case "Grep":
        return { pattern: this.#text(20), path: "src" };
      case "Agent":
        return {
          description: this.#text(30),
          prompt: body(),
          subagent_type: "general-purpose",
          run_in_background: this.#chance(0.5),
        };
      case "AskUserQuestion":
        return { questions: [{ question: this.#text(60), header: "Port", options: [] }] };
      default:
        return { url: `https://docs.example/${hex(this.#random, 8)}`, prompt: body() };
    }
  }

  #result({ id, name, input }) {
    if (name === "Agent") return this.#launch(id, input);
    const failed = this.#chance(0.03);
    const text = this.#text(this.#size() / 2);
    this.#answer(
      id,
      text,
      failed ? `Error: ${text}` : { stdout: text, stderr: "", interrupted: false },
      failed,
    );
  }

  #launch(call, { prompt, run_in_background: inBackground }) {
    const agentId = `a${hex(this.#random, 16)}`;
    const launch = { agentId, call, prompt, start: this.#clock };
    this.launched.push(launch);
    if (inBackground) {
      this.#answer(call, "Async agent launched successfully.", {
        isAsync: true,
        status: "async_launched",
        agentId,
        prompt,
      });
      this.#running.push(launch);
    } else {
      this.#clock += 60_000;
      const text = this.#text(this.#size() / 2);
      const content = [{ type: "text", text }];
      this.#answer(call, text, { status: "completed", prompt, agentId, content, totalDurationMs: 60_000 });
    }
  }

  #answer(id, content, toolUseResult, failed = false) {
    const block = { tool_use_id: id, type: "tool_result", content, ...(failed && { is_error: true }) };
    const message = { role: "user", content: [block] };
    this.#record("user", { promptId: this.#prompt, message, toolUseResult });
  }

  /** The end of a sub-agent in the background. */
  #report({ agentId, call }) {
    const status = this.#chance(0.1) ? "failed" : "completed";
    const elements = [
      `<task-id>${agentId}</task-id>`,
      `<tool-use-id>${call}</tool-use-id>`,
      `<status>${status}</status>`,
      `<summary>Agent ${status}</summary>`,
      `<result>${this.#text(this.#size())}</result>`,
    ];
    const content = `<task-notification>\n${elements.join("\n")}\n</task-notification>`;
    this.#record("user", {
      promptId: this.#prompt,
      message: { role: "user", content },
      origin: { kind: "task-notification" },
    });
  }

  #interrupt() {
    const content = [{ type: "text", text: "[Request interrupted by user]" }];
    this.#record("user", { promptId: this.#prompt, message: { role: "user", content } });
  }

  #title() {
    const { sessionId } = this.#envelope;
    const text = this.#text(220);
    const title = this.#chance(0.5)
      ? { type: "ai-title", aiTitle: text, sessionId }
      : { type: "last-prompt", lastPrompt: text, leafUuid: this.#parent, sessionId };
    this.lines.push(JSON.stringify(title));
  }

  /** A message of the agent: one line for each block, all with the message's id and usage. */
  #message(blocks, stopReason) {
    const id = `msg_${hex(this.#random, 24)}`;
    const model = this.#pick(MODELS);
    const usage = {
      input_tokens: Math.floor(this.#random() * 10),
      cache_creation_input_tokens: Math.floor(this.#random() * 4000),
      cache_read_input_tokens: 20_000 + 40 * this.lines.length,
      output_tokens: Math.floor(this.#random() * 2000),
      service_tier: "standard",
    };
    blocks.forEach((block, at) => {
      const stop_reason = at === blocks.length - 1 ? stopReason : null;
      const message = { model, id, type: "message", role: "assistant", content: [block], stop_reason, usage };
      this.#record("assistant", { message, requestId: `req_${hex(this.#random, 24)}` });
    });
  }

  #record(type, members) {
    this.#clock += 100 + Math.floor(this.#random() * 3000);
    const id = uuid(this.#random);
    this.lines.push(
      JSON.stringify({
        parentUuid: this.#parent,
        isSidechain: this.#envelope.agentId !== undefined,
        type,
        ...members,
        uuid: id,
        timestamp: new Date(this.#clock).toISOString(),
        ...this.#envelope,
      }),
    );
    this.#parent = id;
  }

  #chance(share) {
    return this.#random() < share;
  }

  #pick(list) {
    return list[Math.floor(this.#random() * list.length)];
  }

  /** What the text of a line is to be long; the rest of it takes about 600 bytes. */
  #size() {
    const size = Math.exp(Math.log(this.#typical) + 1.2 * normal(this.#random));
    return Math.max(10, Math.min(180_000, size) - 600);
  }

  #text(length) {
    const letters = this.#chance(0.43) ? this.#pick(LANGUAGES) : WORDS;
    return sentence(this.#random, length, letters, "\n").trim();
  }
}

/** A uuid of random digits. */
export const uuid = (random) => [8, 4, 4, 4, 12].map((digits) => hex(random, digits)).join("-");

function hex(random, digits) {
  let text = "";
  while (text.length < digits) {
    text += Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, "0");
  }
  return text.slice(0, digits);
}

/** A number of the normal distribution (Box and Muller). */
const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
