// An adapter for `codex app-server`, a program that speaks newline-delimited JSON-RPC on its standard input and output.
//
// Written for the protocol v2 of Codex CLI 0.132, from its public description. It was NOT run against the real program: only
// against an imitation of its protocol (`__test__/support/codex-app-server.mjs`). See README.md.
import { AdapterRequestError, NativeSessionError } from "agent-lifecycle";
import { observationsOf } from "./items.mjs";
import { askedOf, refusalOf, replyOf } from "./requests.mjs";

/** What the server answers where it has no such thread: an invalid request, told apart by its message. */
const NO_THREAD = /no rollout found|thread not found/i;
const NOT_NOW = -32000;

/** @returns {import("agent-lifecycle").RuntimeDriver} */
export function codexAppServerDriver() {
  return {
    adapterId: "codex.app-server",
    transport: "process",
    capabilities: { resume: true, steering: true, abort: true, approvals: true, userInput: true },
    nativeTurnIds: true,
    configSchema: {
      command: { type: "string", default: "codex", description: "the program: a path, or a name in PATH" },
      args: { type: "strings", default: ["app-server"], description: "its arguments" },
      environment: {
        type: "strings",
        default: [],
        secret: true,
        description: "variables, each NAME=value, such as CODEX_HOME",
      },
      model: { type: "string", description: "the model; the program's own default without it" },
      approvalPolicy: {
        type: "string",
        description: "when the program asks: untrusted, on-request or never",
      },
      sandbox: { type: "string", description: "read-only, workspace-write or danger-full-access" },
    },
    openSession: (context) => CodexSession.start(context),
    resumeSession: (context, native) => CodexSession.resume(context, native.nativeSessionId),
    getBinding: (session) => session.binding(),
    prompt: (session, prompt) => session.prompt(prompt.text),
    steer: (session, prompt) => session.steer(prompt.text),
    abort: (session) => session.interrupt(),
    respondToApproval: (session, request, decision) => session.answer(request.nativeId, decision),
    respondToUserInput: (session, request, answers) => session.answer(request.nativeId, answers),
    requestEnded: (session, request) => session.refuse(request.nativeId),
    dispose: (session) => session.dispose(),
  };
}

/** One thread over a server of its own. */
class CodexSession {
  #context;
  #process;
  #version;
  #threadId;
  /** A thread without a turn is not kept by the program: it is only reserved. */
  #isDurable = false;
  /** The native id of the turn that is on, and of the last one that ended. */
  #turnId;
  #endedTurnId;
  /** Requests of the server that wait for a reply, by their ids on the wire. */
  #asking = new Map();

  constructor(context) {
    this.#context = context;
  }

  static async start(context) {
    const session = new CodexSession(context);
    await session.#connect();
    const { thread } = await session.#process.request("thread/start", session.#threadOptions());
    session.#threadId = textOf(thread?.id, "the id of the new thread");
    await context.reserveNative(session.#threadId);
    return session;
  }

  static async resume(context, threadId) {
    const session = new CodexSession(context);
    await session.#connect();
    // Before the answer comes: the thread may say something at once.
    session.#threadId = threadId;
    try {
      const options = { threadId, ...session.#threadOptions() };
      const { thread } = await session.#process.request("thread/resume", options);
      if (thread?.id !== threadId)
        throw new NativeSessionError(
          "persistent",
          "thread_changed",
          "another thread was opened than the recorded one",
        );
    } catch (error) {
      if (NO_THREAD.test(error?.message))
        throw new NativeSessionError("missing", "thread_missing", "the program has no such thread");
      throw error;
    }
    session.#isDurable = true;
    return session;
  }

  binding() {
    return {
      protocol: "codex-app-server",
      protocolVersion: "2",
      ...(this.#version !== undefined && { adapterVersion: this.#version }),
      ...(this.#isDurable && { nativeSessionId: this.#threadId }),
    };
  }

  async prompt(text) {
    const { turn } = await this.#process.request("turn/start", {
      threadId: this.#threadId,
      input: inputOf(text),
    });
    const nativeTurnId = textOf(turn?.id, "the id of the new turn");
    this.#isDurable = true;
    // It may have ended before this was read.
    if (nativeTurnId !== this.#endedTurnId) this.#turnId = nativeTurnId;
    return { nativeTurnId };
  }

  async steer(text) {
    const expectedTurnId = this.#turnId;
    if (expectedTurnId === undefined) throw new Error("the turn has not begun, or has ended");
    await this.#process.request("turn/steer", {
      threadId: this.#threadId,
      input: inputOf(text),
      expectedTurnId,
    });
  }

  async interrupt() {
    if (this.#turnId === undefined) return;
    await this.#process.request("turn/interrupt", { threadId: this.#threadId, turnId: this.#turnId });
  }

  async answer(nativeId, answer) {
    const asking = this.#take(nativeId);
    if (asking === undefined) throw new Error("the program does not wait for this answer any more");
    asking.resolve(replyOf(asking.method, asking.params, answer));
    await asking.replied;
  }

  refuse(nativeId) {
    const asking = this.#take(nativeId);
    if (asking === undefined) return;
    const refusal = refusalOf(asking.method);
    if (refusal === undefined) asking.reject(new AdapterRequestError(NOT_NOW, "nobody answers this request"));
    else asking.resolve(refusal);
  }

  dispose() {
    return this.#process.release();
  }

  async #connect() {
    const { config, workspace } = this.#context;
    this.#process = await this.#context.startProcess({
      command: config.command,
      args: config.args,
      env: Object.fromEntries(config.environment.map((one) => splitOnce(one))),
      cwd: workspace,
      jsonrpc: false,
      initialize: async (starting) => {
        const clientInfo = {
          name: "agent_lifecycle_example",
          title: "agent-lifecycle example",
          version: "1",
        };
        const { userAgent } = await starting.request("initialize", { clientInfo });
        // Such as `codex_cli_rs/0.132.0 (...)`.
        this.#version = /\/(\d+\.\d+\.\d+\S*)/.exec(userAgent)?.[1];
        await starting.notify("initialized");
      },
      onNotification: ({ method, params }) => this.#hear(method, params ?? {}),
      onRequest: (request) => this.#ask(request),
    });
  }

  #hear(method, params) {
    // Other threads, such as those of sub-agents, are not this session.
    if (params.threadId !== undefined && params.threadId !== this.#threadId) return;
    const context = this.#context;
    switch (method) {
      case "turn/started":
        this.#turnId = textOf(params.turn?.id, "the id of the turn");
        context.observe({ kind: "turn_started", nativeTurnId: this.#turnId });
        break;
      case "turn/completed": {
        const { id, status, error } = params.turn ?? {};
        this.#endedTurnId = id;
        if (id === this.#turnId) this.#turnId = undefined;
        context.terminal({
          nativeTurnId: textOf(id, "the id of the turn"),
          status,
          ...(error && {
            message: String(error.message),
            details: { codexErrorInfo: error.codexErrorInfo ?? null },
          }),
        });
        break;
      }
      case "serverRequest/resolved":
        // It is also said of what was answered.
        if (this.#asking.has(params.requestId)) context.requestCleared({ nativeId: params.requestId });
        break;
      default:
        for (const observation of observationsOf(method, params)) context.observe(observation);
    }
  }

  #ask({ method, params = {}, nativeId, replied }) {
    return new Promise((resolve, reject) => {
      this.#asking.set(nativeId, { method, params, replied, resolve, reject });
      const { questions, ...approval } = askedOf(method, params);
      const place = { nativeId, ...(params.turnId && { nativeTurnId: params.turnId }) };
      const isTaken =
        questions === undefined
          ? this.#context.requestApproval({ ...place, ...approval })
          : this.#context.requestUserInput({ ...place, questions });
      if (!isTaken) this.refuse(nativeId);
    });
  }

  #take(nativeId) {
    const asking = this.#asking.get(nativeId);
    this.#asking.delete(nativeId);
    return asking;
  }

  #threadOptions() {
    const { workspace, config } = this.#context;
    const { model, approvalPolicy, sandbox } = config;
    return { cwd: workspace, model, approvalPolicy, sandbox };
  }
}

const inputOf = (text) => [{ type: "text", text }];

function textOf(value, what) {
  if (typeof value === "string" && value !== "") return value;
  throw new TypeError(`${what} is missing`);
}

function splitOnce(assignment) {
  const at = assignment.indexOf("=");
  return [assignment.slice(0, at), assignment.slice(at + 1)];
}
