// A child process that speaks newline-delimited JSON-RPC on its standard input and output. docs/adapter-process.md is its page.
import type { RuntimeErrorDetails } from "./errors.js";

/** Where a process is in its life. `closed` and `failed` are ends: `closed` was asked for, `failed` was not. */
export type AdapterProcessState = "starting" | "initializing" | "ready" | "closing" | "closed" | "failed";

/** Why a process ended, the first cause. */
export type AdapterProcessEndReason =
  /** `close()`. */
  | "closed"
  /** It exited or was killed by a signal, unasked. */
  | "exited"
  /** It closed its standard output and did not exit within two seconds. */
  | "output_ended"
  /** A line over the limit. */
  | "message_too_large"
  /** Its standard input was closed at the other end. */
  | "write_failed"
  /** The program could not be run, or its guard. */
  | "spawn_failed"
  /** Not ready in time. */
  | "start_timeout"
  /** `initialize` threw. */
  | "start_failed"
  /** Its guard was killed by somebody else. */
  | "guard_died";

/** How a process ended. */
export interface AdapterProcessEnd {
  readonly reason: AdapterProcessEndReason;
  /** The exit code; null where a signal ended it, or where it is not known. */
  readonly code: number | null;
  /** Such as `SIGKILL`; null where it exited, or where it is not known. */
  readonly signal: string | null;
  /** What it wrote to standard error: the beginning and the end, redacted. */
  readonly stderrTail: string;
}

/** Limits; each may be left out. Times in milliseconds, sizes in bytes. */
export interface AdapterProcessLimits {
  /** Spawn and handshake; 10,000 by default. */
  readonly startMs: number;
  /** One request; 120,000 by default. */
  readonly requestMs: number;
  /** One message in each direction, without its newline; 8 MiB by default. */
  readonly messageBytes: number;
  /** Requests that wait for the process; 128 by default. */
  readonly pendingOut: number;
  /** Requests of the process that wait for the host; 128 by default. */
  readonly pendingIn: number;
}

/** What went wrong without ending anything. The first of a code is told at once, at most 32 of a code are. */
export interface AdapterDiagnostic {
  readonly code:
    | "duplicate_response"
    | "handler_failed"
    | "late_response"
    | "malformed_message"
    | "noise"
    | "too_many_requests"
    | "unknown_response";
  /** For people: redacted, at most 400 UTF-16 units. */
  readonly message: string;
  /** How many of this code there were so far. */
  readonly count: number;
}

/** A request of the process. What the handler returns is the result; what it throws is the error. */
export interface AdapterRequest {
  readonly method: string;
  readonly params: unknown;
  /** The id on the wire, for those who correlate (0 and "0" differ). Never to be shown. */
  readonly nativeId: string | number;
  /** Aborted when the process ends before the reply. */
  readonly signal: AbortSignal;
  /** Resolves when the reply is written; rejects with a `ProtocolError` where it cannot be. Needs no handler. */
  readonly replied: Promise<void>;
}

/** Thrown by a handler of requests: the code and the message of the reply. */
export declare class AdapterRequestError extends Error {
  /** An integer, such as -32602. */
  readonly code: number;
  readonly data?: unknown;
  constructor(code: number, message: string, data?: unknown);
}

/** A notification of the process. */
export interface AdapterNotification {
  readonly method: string;
  readonly params: unknown;
}

export interface AdapterRequestOptions {
  /** Milliseconds; `limits.requestMs` by default, null for none. */
  readonly timeoutMs?: number | null | undefined;
  /** Rejects the request with `request_cancelled`; nothing is sent. A response that comes later is a diagnostic. */
  readonly signal?: AbortSignal | undefined;
}

export interface AdapterProcessOptions {
  /** The program: a path, or a name that is looked for in the child's PATH. No shell. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** The working directory; the host's by default. */
  readonly cwd?: string | undefined;
  /** Variables beside the allow-list; an undefined value takes one away. Values of eight units or more are redacted everywhere. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** The process guard, where it is not to be looked for. */
  readonly guardPath?: string | undefined;
  /** Texts that are redacted everywhere, of eight UTF-16 units or more each. */
  readonly secrets?: readonly string[] | undefined;
  /** `session` by default. A shared process is not ended by `release()`. */
  readonly ownership?: "session" | "shared" | undefined;
  readonly limits?: Partial<AdapterProcessLimits> | undefined;
  /** Whether messages carry `"jsonrpc":"2.0"`; true by default. Both are read. */
  readonly jsonrpc?: boolean | undefined;
  /** What joins errors of this process with events and logs, such as the product session. */
  readonly correlationId?: string | undefined;
  /** The handshake: runs in the state `initializing`, and may request and notify. It counts to `startMs`. */
  readonly initialize?: ((process: AdapterProcess) => unknown) | undefined;
  readonly onNotification?: ((notification: AdapterNotification) => unknown) | undefined;
  /** The one handler of requests; without it they are answered with -32601. */
  readonly onRequest?: ((request: AdapterRequest) => unknown) | undefined;
  readonly onDiagnostic?: ((diagnostic: AdapterDiagnostic) => void) | undefined;
  readonly onState?: ((state: AdapterProcessState) => void) | undefined;
}

/** The facts of an end in an error: `reason`, `exitCode`, `signal`, `stderrTail`. */
export type AdapterEndDetails = RuntimeErrorDetails;

/**
 * A running adapter. An idle one does not keep the script alive; a start, a request and a write that wait do. When the host ends in
 * whatever way, the guard ends the process and its group.
 */
export declare class AdapterProcess {
  /**
   * Starts the program and runs the handshake.
   *
   * @throws {AvailabilityError} `guard_unavailable`, `spawn_failed`.
   * @throws {ProtocolError} `start_timeout`, or how it ended: `process_exited`, `message_too_large` and so on. What `initialize`
   *   throws is thrown as it is, after the process has ended.
   * @throws {LifecycleError} `invalid_argument`, `invalid_option`.
   */
  static start(options: AdapterProcessOptions): Promise<AdapterProcess>;

  readonly state: AdapterProcessState;
  readonly ownership: "session" | "shared";
  /** Of the program itself; undefined before it runs. */
  readonly pid: number | undefined;
  /** Resolves once, when the process and its group are gone. Never rejects. */
  readonly closed: Promise<AdapterProcessEnd>;
  /** The latest diagnostic of each code. */
  readonly diagnostics: readonly AdapterDiagnostic[];
  /** Requests that wait for the process. */
  readonly pending: number;

  /**
   * Sends a request and gives its result.
   *
   * @throws {ProtocolError} `response_error` (details: `rpcCode`), `request_timeout`, `request_cancelled`, `message_too_large`,
   *   `too_many_pending`, `protocol_violation` (the response has not exactly one of result and error), `process_closed` (after or by
   *   `close()`), or how the process ended.
   */
  request<T = unknown>(method: string, params?: unknown, options?: AdapterRequestOptions): Promise<T>;

  /** Sends a notification; resolves when it is written to the pipe. Rejects as `request` does. */
  notify(method: string, params?: unknown): Promise<void>;

  /** Also hears notifications, beside `onNotification`: for sessions that share the process. Returns how to stop. */
  subscribe(listener: (notification: AdapterNotification) => unknown): () => void;

  /** Ends the process: closes its input, then SIGTERM, then SIGKILL to the group. Always the same promise. */
  close(): Promise<AdapterProcessEnd>;

  /** What a session calls that no longer needs it: closes a process of its own; a shared one goes on. */
  release(): Promise<void>;
}
