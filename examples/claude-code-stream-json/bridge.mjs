// The bridge: a program between a host, to which it speaks the neutral protocol of agent-lifecycle, and Claude Code, to which it
// speaks stream-json. Its arguments are the program and further arguments of it. It is in the host's process group, as is the
// program: the guard of the host ends both.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { approvalOf, deny, permissionOf } from "./requests.mjs";
import { Transcript } from "./transcript.mjs";

const CAPABILITIES = { resume: true, steering: false, abort: true, approvals: true, userInput: true };
const SESSION_MISSING = -32004;
const METHOD_NOT_FOUND = -32601;
const INVALID_REQUEST = -32600;
const INTERNAL_ERROR = -32603;
const NO_CONVERSATION = /no conversation found/i;

const [command, ...extra] = process.argv.slice(2);
const write = (stream, message) => stream.write(`${JSON.stringify(message)}\n`);
const tell = (method, params) => write(process.stdout, { jsonrpc: "2.0", method, params });

/** An answer to the host that is an error. */
class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** The program, with one conversation. */
class Claude {
  #child;
  #transcript = new Transcript();
  /** Our requests that wait for the program, and its requests that wait for the host. */
  #waiting = new Map();
  #asking = new Map();
  #sessionId;
  #version;
  #isDurable = false;
  #isTurnOn = false;
  #isInterrupted = false;
  /** What the program said of why it cannot go on. */
  #fault = "";

  constructor(session, workspace) {
    const protocol = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    const asks = ["--include-partial-messages", "--permission-prompt-tool", "stdio"];
    const args = [...extra, ...protocol, ...asks, ...session];
    this.#child = spawn(command, args, { cwd: workspace, stdio: ["pipe", "pipe", "inherit"] });
    this.#child.on("error", (error) => this.#ended(127, null, error.message));
    this.#child.on("close", (code, signal) => this.#ended(code, signal, ""));
    // It says so by ending.
    this.#child.stdin.on("error", () => undefined);
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#hearLine(line));
  }

  static async open(workspace) {
    const claude = new Claude(["--session-id", randomUUID()], workspace);
    await claude.#request({ subtype: "initialize" });
    return claude;
  }

  static async resume(workspace, sessionId) {
    const claude = new Claude(["--resume", sessionId], workspace);
    claude.#sessionId = sessionId;
    claude.#isDurable = true;
    await claude.#request({ subtype: "initialize" });
    return claude;
  }

  /** The id is told when the program has kept something of the conversation. */
  state() {
    return {
      ...(this.#isDurable && { nativeSessionId: this.#sessionId }),
      ...(this.#version !== undefined && { adapterVersion: this.#version }),
    };
  }

  prompt(text) {
    if (this.#isTurnOn) throw new Refusal(INVALID_REQUEST, "a turn is on");
    this.#isTurnOn = true;
    this.#isInterrupted = false;
    this.#transcript = new Transcript();
    write(this.#child.stdin, { type: "user", message: { role: "user", content: [{ type: "text", text }] } });
  }

  async interrupt() {
    if (!this.#isTurnOn) return;
    this.#isInterrupted = true;
    await this.#request({ subtype: "interrupt" });
  }

  /** The host has answered. */
  answered(id, { result, error }) {
    const asked = this.#asking.get(id);
    if (asked === undefined) return;
    this.#asking.delete(id);
    const response = error === undefined ? permissionOf(asked.request, result) : deny("nobody allowed it");
    this.#respond(asked.requestId, response);
  }

  end() {
    this.#child.stdin.end();
  }

  #hearLine(line) {
    let message;
    try {
      message = JSON.parse(line);
      this.#hear(message);
    } catch {
      const observation = {
        kind: "warning",
        code: "malformed_line",
        message: "the program wrote a line that cannot be used",
      };
      tell("observation", observation);
    }
  }

  #hear(message) {
    switch (message.type) {
      case "control_response":
        return this.#settle(message.response);
      case "control_request":
        return this.#ask(message.request_id, message.request);
      case "control_cancel_request":
        return this.#withdraw(message.request_id);
      case "result":
        return this.#finish(message);
      case "system":
        if (message.subtype === "init") this.#version = message.claude_code_version;
    }
    for (const observation of this.#transcript.observationsOf(message)) tell("observation", observation);
    if (message.type === "assistant") this.#keep(message.session_id);
  }

  #keep(sessionId) {
    if (typeof sessionId !== "string" || (this.#isDurable && sessionId === this.#sessionId)) return;
    this.#sessionId = sessionId;
    this.#isDurable = true;
    tell("session/changed", this.state());
  }

  #finish({ subtype, is_error: isError, result, errors, usage, session_id: sessionId }) {
    const text = Array.isArray(errors) && errors.length > 0 ? errors.join("; ") : String(result ?? subtype);
    if (isError) this.#fault = text;
    if (!this.#isTurnOn) return;
    this.#isTurnOn = false;
    this.#keep(sessionId);
    const isDone = subtype === "success" && isError !== true;
    const status = isDone ? "completed" : this.#isInterrupted ? "interrupted" : "failed";
    if (usage) tell("observation", { kind: "usage", usage: usageOf(usage) });
    tell("turn/ended", { status, ...(status === "failed" && { message: text }) });
  }

  #ask(requestId, request) {
    const asked = approvalOf(request);
    if (asked === undefined) {
      const error = `${request.subtype} is not served`;
      const response = { subtype: "error", request_id: requestId, error };
      return write(this.#child.stdin, { type: "control_response", response });
    }
    const id = randomUUID();
    this.#asking.set(id, { requestId, request });
    write(process.stdout, { jsonrpc: "2.0", id, ...asked });
  }

  #withdraw(requestId) {
    for (const [id, asked] of this.#asking) {
      if (asked.requestId !== requestId) continue;
      this.#asking.delete(id);
      tell("request/cleared", { nativeId: id });
    }
  }

  #respond(requestId, response) {
    write(this.#child.stdin, {
      type: "control_response",
      response: { subtype: "success", request_id: requestId, response },
    });
  }

  #request(request) {
    const id = randomUUID();
    write(this.#child.stdin, { type: "control_request", request_id: id, request });
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #settle({ subtype, request_id: id, response, error }) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (subtype === "success") waiting?.resolve(response);
    else waiting?.reject(new Refusal(INTERNAL_ERROR, String(error)));
  }

  /** The bridge ends as the program did, when all that it said is written. */
  #ended(code, signal, message) {
    const refusal = NO_CONVERSATION.test(this.#fault)
      ? // Not the program's own text: it names the conversation.
        new Refusal(SESSION_MISSING, "the program has no such conversation")
      : new Refusal(INTERNAL_ERROR, this.#fault || message || "the program has ended");
    for (const { reject } of this.#waiting.values()) reject(refusal);
    // The refusals are written first.
    setImmediate(() =>
      process.stdout.write("", () => {
        if (signal !== null) process.kill(process.pid, signal);
        process.exit(code ?? 1);
      }),
    );
  }
}

function usageOf({ input_tokens: fresh = 0, cache_read_input_tokens: cached = 0, ...more }) {
  const { cache_creation_input_tokens: kept = 0, output_tokens: output = 0 } = more;
  return { input: fresh + cached + kept, cached, output };
}

let claude;

const METHODS = {
  initialize: () => ({ protocolVersion: 1, capabilities: CAPABILITIES }),
  async "session/open"({ workspace }) {
    claude = await Claude.open(workspace);
    return claude.state();
  },
  async "session/resume"({ workspace, nativeSessionId }) {
    claude = await Claude.resume(workspace, nativeSessionId);
    return claude.state();
  },
  "turn/prompt"({ text }) {
    claude.prompt(text);
    return {};
  },
  async "turn/abort"() {
    await claude.interrupt();
    return {};
  },
};

async function serve({ id, method, params = {} }) {
  try {
    if (!Object.hasOwn(METHODS, method)) throw new Refusal(METHOD_NOT_FOUND, "there is no such method");
    const result = await METHODS[method](params);
    write(process.stdout, { jsonrpc: "2.0", id, result });
  } catch (error) {
    const { code = INTERNAL_ERROR, message } = error;
    write(process.stdout, { jsonrpc: "2.0", id, error: { code, message } });
  }
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const message = JSON.parse(line);
    if (message.method === undefined) claude?.answered(message.id, message);
    else if (message.id !== undefined) void serve(message);
  })
  .on("close", () => (claude === undefined ? process.exit(0) : claude.end()));
