// The requests that wait for the process: each has its own id, and is settled once.
import { type RpcError } from "./adapter-messages.js";
import { ProtocolError, type RuntimeErrorOptions } from "./errors.js";

/** Ids of requests that nobody waits for any more and that were not answered; older ones are forgotten. */
const ABANDONED = 1024;

/** An answer of the process that is an error. Its message is redacted, its data is as it came. */
export class AdapterResponseError extends ProtocolError {
  /** The code of JSON-RPC. */
  readonly rpcCode: number;
  /** Not an own member, so that nothing that shows errors shows it. */
  readonly #data: unknown;

  constructor(error: RpcError, message: string, options: RuntimeErrorOptions) {
    super("response_error", message, options);
    this.rpcCode = error.code;
    this.#data = error.data;
  }

  /** What the process sent with it. It may hold secrets: never to be shown. */
  get rpcData(): unknown {
    return this.#data;
  }
}

/** A request that waits. */
export interface Call {
  readonly method: string;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** What a response is to the requests that wait. */
export type Match = Call | "duplicate_response" | "late_response" | "unknown_response";

export class Calls {
  readonly #waiting = new Map<number, Call & { end(): void }>();
  readonly #abandoned = new Set<number>();
  #last = 0;

  get size(): number {
    return this.#waiting.size;
  }

  /** Registers a request; its id. It is over after `timeoutMs`, or when `signal` is aborted. */
  add(
    call: Call,
    timeoutMs: number | null,
    signal: AbortSignal | undefined,
    giveUp: (why: "request_cancelled" | "request_timeout") => void,
  ): number {
    const id = ++this.#last;
    const abandon = (why: "request_cancelled" | "request_timeout") => {
      if (this.#take(id) === undefined) return;
      this.#abandoned.add(id);
      for (const oldest of this.#abandoned) {
        if (this.#abandoned.size <= ABANDONED) break;
        this.#abandoned.delete(oldest);
      }
      giveUp(why);
    };
    const timer = timeoutMs === null ? undefined : setTimeout(() => abandon("request_timeout"), timeoutMs);
    const onAbort = () => abandon("request_cancelled");
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#waiting.set(id, {
      ...call,
      end() {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      },
    });
    return id;
  }

  /** The request that a response is for, which waits no longer. */
  match(id: number): Match {
    const call = this.#take(id);
    if (call !== undefined) return call;
    if (this.#abandoned.delete(id)) return "late_response";
    return Number.isInteger(id) && id >= 1 && id <= this.#last ? "duplicate_response" : "unknown_response";
  }

  /** Takes back a request that was not sent. */
  remove(id: number): void {
    this.#take(id);
  }

  /** Every request that waits; none does any longer. */
  drain(): Call[] {
    return [...this.#waiting.keys()].map((id) => this.#take(id) as Call);
  }

  #take(id: number): Call | undefined {
    const call = this.#waiting.get(id);
    if (call === undefined) return undefined;
    this.#waiting.delete(id);
    call.end();
    return call;
  }
}
