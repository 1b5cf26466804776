// A child process that speaks newline-delimited JSON-RPC on its standard input and output. docs/adapter-process.md is its page.
import { optionsArgument } from "../arguments.js";
import { guarded, thrownText } from "../callbacks.js";
import { LifecycleError } from "../error.js";
import { type Native, callNative } from "../native.js";
import { AdapterResponseError, Calls } from "./adapter-calls.js";
import { AdapterInbox } from "./adapter-inbox.js";
import { type AdapterProcessEnd, type NativeEnd, endError, signalName } from "./adapter-end.js";
import {
  type AdapterNotification,
  type AdapterRequest,
  AdapterRequestError,
  type Message,
  RPC,
  checkAnswer,
  readMessage,
} from "./adapter-messages.js";
import {
  type AdapterDiagnostic,
  type AdapterProcessOptions,
  type CheckedOptions,
  checkOptions,
} from "./adapter-options.js";
import { hold } from "./alive.js";
import { AvailabilityError, ProtocolError, type RuntimeError, type RuntimePhase } from "./errors.js";
import { sweepGenerations } from "./generation.js";
import { findGuard, forgetGuard } from "./guard.js";

export { AdapterResponseError } from "./adapter-calls.js";
export type { AdapterProcessEnd, AdapterProcessEndReason } from "./adapter-end.js";
export { AdapterRequestError } from "./adapter-messages.js";
export type { AdapterNotification, AdapterRequest } from "./adapter-messages.js";
export type { AdapterDiagnostic, AdapterProcessLimits, AdapterProcessOptions } from "./adapter-options.js";

/** Where a process is in its life. `closed` and `failed` are ends: `closed` was asked for, `failed` was not. */
export type AdapterProcessState = "starting" | "initializing" | "ready" | "closing" | "closed" | "failed";

export interface AdapterRequestOptions {
  /** Milliseconds; `limits.requestMs` by default, null for none. */
  readonly timeoutMs?: number | null | undefined;
  /** Rejects the request with `request_cancelled`; the process is not told. A response that comes later is a diagnostic. */
  readonly signal?: AbortSignal | undefined;
}

/** Diagnostics of a code that are told one by one. */
const TOLD = 32;

/** All processes of this thread of JavaScript. */
let adapters: Native.NativeAdapters | undefined;

/** What waits for a message to be in the pipe. */
interface Write {
  number: number;
  resolve(): void;
  reject(error: RuntimeError): void;
}

/**
 * A running adapter. An idle one does not keep the script alive; a start, a request, a write and a close that wait do. However the
 * host ends, the guard ends the process and its group.
 */
export class AdapterProcess {
  readonly #options: CheckedOptions;
  readonly #native: Native.NativeAdapter;
  readonly #calls = new Calls();
  readonly #writes: Write[] = [];
  /** Requests of the process that are not answered yet. */
  readonly #asked = new Set<AbortController>();
  readonly #listeners = new Set<(notification: AdapterNotification) => unknown>();
  readonly #diagnostics = new Map<AdapterDiagnostic["code"], AdapterDiagnostic>();
  readonly #closed: Promise<AdapterProcessEnd>;
  #resolveClosed!: (end: AdapterProcessEnd) => void;
  #started: (() => void) | undefined;
  #state: AdapterProcessState = "starting";
  #pid: number | undefined;
  /** Why it was stopped at once. */
  #stopped: "start_failed" | "start_timeout" = "start_failed";
  #end: { end: AdapterProcessEnd; failure: string } | undefined;

  private constructor(options: CheckedOptions) {
    this.#options = options;
    this.#closed = new Promise((resolve) => (this.#resolveClosed = resolve));
    const guard = findGuard(options.guardPath);
    const { command, args, cwd, environment, hidden, limits } = options;
    const native = {
      guard,
      command,
      args: [...args],
      ...(cwd === undefined ? {} : { cwd }),
      env: [...environment],
      messageBytes: limits.messageBytes,
      secrets: [...hidden],
    };
    const inbox = new AdapterInbox(
      () => callNative(() => this.#native.take()),
      ({ kind, text }) => this.#take(kind, text),
    );
    try {
      this.#native = callNative(({ NativeAdapters }) => {
        adapters ??= new NativeAdapters();
        return adapters.start(native, () => inbox.wake());
      });
    } catch (cause) {
      if (!(cause instanceof LifecycleError) || cause.code !== "unavailable") throw cause;
      throw new AvailabilityError("spawn_failed", cause.message, { phase: "start", cause });
    }
  }

  /**
   * Starts the program and runs the handshake.
   *
   * @throws {AvailabilityError} `guard_unavailable`, `spawn_failed`.
   * @throws {ProtocolError} `start_timeout`, or how the process ended: `process_exited`, `message_too_large`, `write_failed`. What
   *   `initialize` throws while the process runs is thrown as it is, after the process has ended.
   * @throws {LifecycleError} `invalid_argument`, `invalid_option`.
   */
  static async start(options: AdapterProcessOptions): Promise<AdapterProcess> {
    const checked = checkOptions(options);
    sweepGenerations();
    const process = new AdapterProcess(checked);
    await process.#start();
    return process;
  }

  get state(): AdapterProcessState {
    return this.#state;
  }

  get ownership(): "session" | "shared" {
    return this.#options.ownership;
  }

  /** Of the program itself, not of its guard; undefined before it runs. */
  get pid(): number | undefined {
    return this.#pid;
  }

  /** Resolves once, when the process and its group are gone. Never rejects. */
  get closed(): Promise<AdapterProcessEnd> {
    return this.#closed;
  }

  /** The latest diagnostic of each code. */
  get diagnostics(): readonly AdapterDiagnostic[] {
    return [...this.#diagnostics.values()];
  }

  /** Requests that wait for the process. */
  get pending(): number {
    return this.#calls.size;
  }

  /**
   * Sends a request and gives its result. What follows the response is heard after whoever awaits the result has gone on.
   *
   * @throws {AdapterResponseError} `response_error`.
   * @throws {ProtocolError} `request_timeout`, `request_cancelled`, `message_too_large`, `too_many_pending`, `protocol_violation` (the
   *   response has not exactly one of result and error), `process_closed` (after or by `close()`), or how the process ended.
   * @throws {LifecycleError} `invalid_argument`, `invalid_option`; `invalid_value` for params that JSON cannot hold.
   */
  request<T = unknown>(method: string, params?: unknown, options?: AdapterRequestOptions): Promise<T> {
    const { limits } = this.#options;
    return new Promise<T>((resolve, reject) => {
      const { timeoutMs = limits.requestMs, signal } = optionsArgument(options, "options", [
        "timeoutMs",
        "signal",
      ]);
      const isLimit =
        timeoutMs === null || (Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs < 2 ** 31);
      if (!isLimit) {
        const message = "timeoutMs must be an integer of 1 or more, or null";
        throw new LifecycleError("invalid_option", message, { path: "timeoutMs" });
      }
      this.#check(method);
      if (signal?.aborted) throw this.#error("request_cancelled", `The request ${method} was cancelled`);
      if (this.#calls.size >= limits.pendingOut) {
        const message = `The request ${method} was not sent: ${limits.pendingOut} requests wait already`;
        throw this.#error("too_many_pending", message);
      }
      const giveUp = (code: "request_cancelled" | "request_timeout") => {
        const why = code === "request_timeout" ? `had no response within ${timeoutMs} ms` : "was cancelled";
        reject(this.#error(code, `The request ${method} ${why}`, { method }));
        this.#settled();
      };
      const call = { method, resolve: (result: unknown) => resolve(result as T), reject };
      // Registered before it is written: the response may be quick.
      const id = this.#calls.add(call, timeoutMs, signal, giveUp);
      try {
        this.#write({ id, method, params });
      } catch (error) {
        this.#calls.remove(id);
        throw error;
      } finally {
        this.#settled();
      }
    });
  }

  /** Sends a notification; resolves when it is in the pipe. Rejects as `request` does. */
  notify(method: string, params?: unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#check(method);
      this.#written(this.#write({ method, params }), resolve, reject);
    });
  }

  /** Hears notifications beside `onNotification`: for sessions that share the process. Returns how to stop. */
  subscribe(listener: (notification: AdapterNotification) => unknown): () => void {
    // Another function each time, so that each is ended by itself.
    const heard = (notification: AdapterNotification) => listener(notification);
    this.#listeners.add(heard);
    return () => void this.#listeners.delete(heard);
  }

  /** Ends the process: closes its input, then SIGTERM, then SIGKILL to the group. Always the same promise. */
  close(): Promise<AdapterProcessEnd> {
    if (this.#end === undefined && this.#state !== "closing") {
      this.#enter("closing");
      callNative(() => this.#native.close());
      this.#settled();
    }
    return this.#closed;
  }

  /** What a session calls that no longer needs the process: closes one of its own; a shared one goes on. */
  async release(): Promise<void> {
    if (this.ownership === "session") await this.close();
  }

  async #start(): Promise<void> {
    const { limits, initialize } = this.#options;
    this.#settled();
    const timer = setTimeout(() => this.#stop("start_timeout"), limits.startMs);
    try {
      await Promise.race([new Promise<void>((resolve) => (this.#started = resolve)), this.#closed]);
      if (this.#state === "starting") {
        this.#enter("initializing");
        // Whatever ends the process ends the handshake: also one that waits for something else.
        await Promise.race([Promise.resolve(initialize?.(this)), this.#closed]);
      }
      if (this.#state === "initializing") return this.#enter("ready");
    } catch (error) {
      const isFirst = this.#end === undefined && this.#state === "initializing";
      if (isFirst) this.#stop("start_failed");
      await this.#closed;
      if (isFirst && this.#end?.end.reason === "start_failed") throw error;
    } finally {
      clearTimeout(timer);
      this.#settled();
    }
    await this.#closed;
    throw this.#overError("start");
  }

  /** Ends it at once. */
  #stop(why: "start_failed" | "start_timeout"): void {
    if (this.#state === "closing" || this.#end !== undefined) return;
    this.#stopped = why;
    this.#enter("closing");
    callNative(() => this.#native.stop());
  }

  #enter(state: AdapterProcessState): void {
    this.#state = state;
    const { onState } = this.#options;
    if (onState !== undefined) guarded(() => onState(state), this.#handlerFailed);
    this.#settled();
  }

  /** Keeps the script alive exactly as long as something is waited for. */
  #settled(): void {
    const isOver = this.#end !== undefined;
    const isMoving = ["starting", "initializing", "closing"].includes(this.#state);
    hold(this, !isOver && (isMoving || this.#calls.size > 0 || this.#writes.length > 0));
  }

  #error(code: string, message: string, details?: Record<string, string | number>): ProtocolError {
    const { correlationId } = this.#options;
    return new ProtocolError(code, message, { phase: "request", correlationId, ...(details && { details }) });
  }

  #overError(phase: RuntimePhase): RuntimeError {
    const { correlationId } = this.#options;
    if (this.#end !== undefined) return endError(this.#end.end, this.#end.failure, phase, correlationId);
    const message = "The adapter's process is being closed";
    return new ProtocolError("process_closed", message, { phase, correlationId });
  }

  /** Refuses a message to a process that is over or is to be. */
  #check(method: string): void {
    if (typeof method !== "string" || method === "") {
      throw new LifecycleError("invalid_argument", "method must be text and not empty", { path: "method" });
    }
    if (this.#end !== undefined || this.#state === "closing") throw this.#overError("request");
    if (this.#state === "starting") {
      throw this.#error("process_closed", "The adapter's process does not run yet");
    }
  }

  /** Writes a message; its number, or none where the process has ended and that is not told yet. */
  #write(message: object): number | undefined {
    const { jsonrpc, limits } = this.#options;
    let text: string;
    try {
      text = JSON.stringify(jsonrpc ? { jsonrpc: "2.0", ...message } : message);
    } catch (cause) {
      throw new LifecycleError("invalid_value", "params must be a value that JSON can hold", {
        path: "params",
        cause,
      });
    }
    const bytes = Buffer.byteLength(text);
    if (bytes > limits.messageBytes) {
      const why = `A message of ${bytes} bytes was not sent: the limit is ${limits.messageBytes}`;
      throw this.#error("message_too_large", why, { bytes });
    }
    const number = callNative(() => this.#native.write(text));
    if (number === "full") {
      throw this.#error("too_many_pending", "A message was not sent: too many wait for the pipe");
    }
    return number === "over" ? undefined : number;
  }

  /** Settles when the message of this number is in the pipe, or the process has ended. */
  #written(number: number | undefined, resolve: () => void, reject: (error: RuntimeError) => void): void {
    this.#writes.push({ number: number ?? Number.POSITIVE_INFINITY, resolve, reject });
    this.#settled();
  }

  /** Whether somebody waits for it. */
  #take(kind: string, text: string): boolean {
    if (kind === "message") return this.#read(text, readMessage(text));
    if (kind === "written") {
      const count = Number(text);
      while (this.#writes[0] !== undefined && this.#writes[0].number <= count)
        this.#writes.shift()?.resolve();
      this.#settled();
    } else if (kind === "noise") {
      const { excerpt, count } = JSON.parse(text) as { excerpt: string; count: number };
      this.#diagnose("noise", excerpt, count);
    } else if (kind === "started") {
      this.#pid = Number(text);
      this.#started?.();
    } else {
      this.#over(JSON.parse(text) as NativeEnd);
    }
    return false;
  }

  #read(line: string, message: Message): boolean {
    switch (message.kind) {
      case "notification":
        this.#notified(Object.freeze({ method: message.method, params: message.params }));
        break;
      case "request":
        this.#requested(message.nativeId, message.method, message.params);
        break;
      case "result":
      case "error":
      case "invalid_response":
        return this.#responded(message, line);
      case "foreign_response":
        this.#diagnose("unknown_response", this.#excerpt(line));
        break;
      case "malformed":
        this.#diagnose("malformed_message", this.#excerpt(line));
        break;
      case "noise":
        this.#diagnose("noise", this.#excerpt(line));
    }
    return false;
  }

  #responded(message: Extract<Message, { id: number }>, line: string): boolean {
    const call = this.#calls.match(message.id);
    if (typeof call === "string") {
      this.#diagnose(call, this.#excerpt(line));
      return false;
    }
    const { method } = call;
    if (message.kind === "result") call.resolve(message.result);
    else if (message.kind === "error") {
      const { correlationId } = this.#options;
      const details = { method, rpcCode: message.error.code };
      const text = `${method}: ${this.#excerpt(message.error.message)}`;
      call.reject(
        new AdapterResponseError(message.error, text, { phase: "request", correlationId, details }),
      );
    } else {
      const text = `The response to ${method} has not exactly one of result and error`;
      call.reject(this.#error("protocol_violation", text, { method }));
      this.#diagnose("malformed_message", this.#excerpt(line));
    }
    this.#settled();
    return true;
  }

  #notified(notification: AdapterNotification): void {
    const { onNotification } = this.#options;
    const listeners = onNotification === undefined ? [] : [onNotification];
    for (const listener of [...listeners, ...this.#listeners]) {
      guarded(() => listener(notification), this.#handlerFailed);
    }
  }

  #requested(nativeId: string | number, method: string, params: unknown): void {
    const { onRequest, limits } = this.#options;
    const reply = (answer: object) => this.#reply(nativeId, answer);
    if (onRequest === undefined) {
      return void reply({ error: { code: RPC.methodNotFound, message: "Method not found" } });
    }
    if (this.#asked.size >= limits.pendingIn) {
      this.#diagnose("too_many_requests", `${limits.pendingIn} requests of the process wait already`);
      return void reply({ error: { code: RPC.server, message: "Too many requests are pending" } });
    }
    const controller = new AbortController();
    this.#asked.add(controller);
    let settle!: (written: Promise<void>) => void;
    const replied = new Promise<void>((resolve) => (settle = resolve));
    // Whoever does not listen is not told by the end of the host.
    replied.catch(() => undefined);
    const answer = (what: object) => {
      this.#asked.delete(controller);
      settle(reply(what));
    };
    const { signal } = controller;
    const request: AdapterRequest = Object.freeze({ method, params, nativeId, signal, replied });
    void (async () => onRequest(request))().then(
      (result) => answer({ result: result === undefined ? null : result }),
      (error: unknown) => answer({ error: this.#rpcError(error) }),
    );
  }

  #rpcError(error: unknown): object {
    if (error instanceof AdapterRequestError && Number.isSafeInteger(error.code)) {
      const { code, message, data } = error;
      return { code, message: this.#excerpt(message), ...(data === undefined ? {} : { data }) };
    }
    const message = this.#excerpt(error instanceof Error ? String(error.message) : thrownText(error));
    this.#diagnose("handler_failed", message);
    return { code: RPC.server, message };
  }

  /** Resolves when the reply is in the pipe. */
  #reply(id: string | number, answer: object): Promise<void> {
    const written = new Promise<void>((resolve, reject) => {
      if (this.#end !== undefined) throw this.#overError("respond");
      let number: number | undefined;
      try {
        checkAnswer(answer);
        number = this.#write({ id, ...answer });
      } catch (error) {
        // What cannot be written is answered all the same, or the process would wait for ever.
        const message = "The answer cannot be written";
        if ("error" in answer) this.#diagnose("handler_failed", message);
        else void this.#reply(id, { error: { code: RPC.internal, message } });
        throw error;
      }
      this.#written(number, resolve, reject);
    });
    written.catch(() => undefined);
    return written;
  }

  readonly #handlerFailed = (error: unknown): void =>
    this.#diagnose("handler_failed", this.#excerpt(thrownText(error)));

  #excerpt(text: string): string {
    return callNative(() => this.#native.excerpt(text));
  }

  #diagnose(code: AdapterDiagnostic["code"], message: string, more = 1): void {
    const count = (this.#diagnostics.get(code)?.count ?? 0) + more;
    const diagnostic = Object.freeze({ code, message, count });
    this.#diagnostics.set(code, diagnostic);
    const { onDiagnostic } = this.#options;
    // Nothing is told of what fails in telling.
    if (onDiagnostic !== undefined && count - more < TOLD)
      guarded(
        () => onDiagnostic(diagnostic),
        () => undefined,
      );
  }

  /** The end, once. */
  #over(told: NativeEnd): void {
    const reason = told.reason === "stopped" ? this.#stopped : told.reason;
    const signal = told.signal === null ? null : signalName(told.signal);
    const end = Object.freeze({ reason, code: told.code, signal, stderrTail: told.stderr });
    this.#end = { end, failure: told.message };
    if (reason === "guard_unavailable") forgetGuard();
    this.#listeners.clear();
    for (const controller of this.#asked) controller.abort();
    this.#asked.clear();
    for (const call of this.#calls.drain()) call.reject(this.#overError("request"));
    for (const write of this.#writes.splice(0)) write.reject(this.#overError("request"));
    this.#enter(reason === "closed" ? "closed" : "failed");
    this.#resolveClosed(end);
  }
}
