// The messages of newline-delimited JSON-RPC: what a line is, and what is written. Pure.
import { LifecycleError } from "../error.js";

/** A request of the process. What the handler returns is the result; what it throws is the error. */
export interface AdapterRequest {
  readonly method: string;
  readonly params: unknown;
  /** The id on the wire, for those who correlate (0 and "0" differ). Never to be shown. */
  readonly nativeId: string | number;
  /** Aborted when the process ends before the reply. */
  readonly signal: AbortSignal;
  /** Resolves when the reply is in the pipe; rejects with a `ProtocolError` where it cannot be. Nobody need listen. */
  readonly replied: Promise<void>;
}

/** A notification of the process. */
export interface AdapterNotification {
  readonly method: string;
  readonly params: unknown;
}

/** Thrown by a handler of requests: the code, the message and the data of the reply, as they are to be written. */
export class AdapterRequestError extends Error {
  /** An integer, such as -32602. */
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

Object.defineProperty(AdapterRequestError.prototype, "name", {
  value: "AdapterRequestError",
  configurable: true,
  writable: true,
});

/** An error that the process gave for an answer. */
export interface RpcError {
  code: number;
  message: string;
  data: unknown;
}

/** What a line is. */
export type Message =
  | { kind: "request"; nativeId: string | number; method: string; params: unknown }
  | { kind: "notification"; method: string; params: unknown }
  | { kind: "result"; id: number; result: unknown }
  | { kind: "error"; id: number; error: RpcError }
  /** Of one of our requests, but not exactly one of result and error, or an error without code and message. */
  | { kind: "invalid_response"; id: number }
  /** To a request that was never made: an id of another type. */
  | { kind: "foreign_response" }
  /** An object, but no message. */
  | { kind: "malformed" }
  /** No object. */
  | { kind: "noise" };

/** What a line, or anything else that is text, says. */
export function readMessage(line: string): Message {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { kind: "noise" };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { kind: "noise" };
  const { method, id, params, result, error } = value as Record<string, unknown>;
  const [hasMethod, hasId, hasResult, hasError] = ["method", "id", "result", "error"].map((name) =>
    Object.hasOwn(value as object, name),
  );
  if (hasMethod) {
    if (typeof method !== "string" || hasResult || hasError) return { kind: "malformed" };
    if (!hasId) return { kind: "notification", method, params };
    const isId = typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id));
    return isId ? { kind: "request", nativeId: id, method, params } : { kind: "malformed" };
  }
  if (!hasId) return { kind: "malformed" };
  if (typeof id !== "number") return { kind: "foreign_response" };
  if (hasResult && !hasError) return { kind: "result", id, result };
  const rpc = hasError && !hasResult ? rpcError(error) : undefined;
  return rpc === undefined ? { kind: "invalid_response", id } : { kind: "error", id, error: rpc };
}

function rpcError(value: unknown): RpcError | undefined {
  const { code, message, data } = (value ?? {}) as Partial<RpcError>;
  if (typeof code !== "number" || typeof message !== "string") return undefined;
  return { code, message, data };
}

/** The codes of JSON-RPC that this package gives for an answer. */
export const RPC = { methodNotFound: -32_601, internal: -32_603, server: -32_000 } as const;

/**
 * A result that JSON leaves out would make an answer with neither a result nor an error.
 *
 * @throws {LifecycleError} `invalid_value`.
 */
export function checkAnswer(answer: { readonly result?: unknown }): void {
  const { result } = answer;
  const isLeftOut =
    typeof result === "function" ||
    typeof result === "symbol" ||
    (typeof (result as { toJSON?: unknown } | null | undefined)?.toJSON === "function" &&
      JSON.stringify(result) === undefined);
  if (isLeftOut)
    throw new LifecycleError("invalid_value", "the answer must be a value that JSON can hold", {
      path: "result",
    });
}
