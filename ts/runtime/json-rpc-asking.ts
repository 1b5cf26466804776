// Requests of a program over the neutral protocol that wait for an answer, by the name that they have in it. A program may say a request
// again, or use the name for another one: each of them is answered, and none with what was decided of another.
import { createHash } from "node:crypto";
import { AdapterRequestError } from "./adapter-process.js";
import type { NativeRequest } from "./driver.js";
import type { RequestOutcome } from "./semantic-event.js";

/** Codes that requests of the program are answered with. */
const REQUEST_REFUSED = -32001;
const REQUEST_ENDED = -32002;
const INVALID_PARAMS = -32602;

/** One message that has to be answered. */
export interface Waiting {
  resolve(result: unknown): void;
  reject(error: unknown): void;
  /** Resolves when the answer is in the pipe. */
  readonly replied: Promise<void>;
  /** Aborted when the process ends. */
  readonly signal: AbortSignal;
}

/** A request: the message, and those that repeat it. */
interface Request {
  readonly print: string;
  readonly waiting: Set<Waiting>;
  /** Set when an answer is on its way; resolves when the host knows what became of it. */
  sent?: Promise<void>;
}

/** That the program asked what the host does not take. */
export const requestRefused = (why: string): AdapterRequestError =>
  new AdapterRequestError(REQUEST_REFUSED, `the host does not take this request${why}`);

/** That what the program asked is no request. */
export const invalidParams = (message: string): AdapterRequestError =>
  new AdapterRequestError(INVALID_PARAMS, message);

/** The requests of one process. Those that wait are as many as the process may have pending. */
export class Asking {
  readonly #open = new Map<string, Request>();
  /** The request that the host is told of, while another of its name is open still. */
  #next: { readonly name: string; readonly request: Request } | undefined;

  /** Tells the host with `tell`, which says whether it takes it, or throws what it is answered with. `content` is all that the program asks. */
  ask(named: NativeRequest, content: unknown, one: Waiting, tell: () => boolean): void {
    const name = nameOf(named);
    const before = this.#open.get(name);
    if (before?.sent !== undefined) {
      // The program may have read the answer: nobody can tell a repeat from a new request with the same content.
      void before.sent.then(() => !one.signal.aborted && this.ask(named, content, one, tell));
      return;
    }
    const print = createHash("sha256").update(JSON.stringify(content)).digest("base64");
    const request = before?.print === print ? before : { print, waiting: new Set<Waiting>() };
    request.waiting.add(one);
    if (before === undefined) this.#open.set(name, request);
    else if (before !== request) this.#next = { name, request };
    one.signal.addEventListener("abort", () => this.#forget(name, request, one), { once: true });
    let fault: unknown;
    try {
      if (!tell()) fault = requestRefused("");
    } catch (error) {
      fault = error;
    }
    if (fault !== undefined) {
      this.#forget(name, request, one);
      one.reject(fault);
    } else if (this.#next?.request === request) {
      // The host has two of one name, and an answer says only the name: neither is answered.
      end(this.#open.get(name)!, "cleared");
      this.#open.delete(name);
      end(request, "cleared");
    }
    this.#next = undefined;
  }

  /** Gives the answer to the request and its repeats; resolves when all are written. @throws where nobody waits for it. */
  async answer(named: NativeRequest, result: unknown): Promise<void> {
    const name = nameOf(named);
    const request = this.#open.get(name);
    if (request === undefined || request.sent !== undefined)
      throw new Error("the program does not wait for this answer any more");
    for (const { resolve } of request.waiting) resolve(result);
    const written = Promise.all(Array.from(request.waiting, ({ replied }) => replied));
    request.sent = this.#leave(name, request, written);
    await written;
  }

  /** It ended without an answer, and the program is told. */
  ended(named: NativeRequest, outcome: RequestOutcome): void {
    const name = nameOf(named);
    const request = this.#open.get(name);
    if (request === undefined) return;
    if (this.#next?.name === name) {
      this.#open.set(name, this.#next.request);
      this.#next = undefined;
    } else this.#open.delete(name);
    end(request, outcome);
  }

  /** When no answer to a request of this name is on its way; undefined where none is. */
  sent(named: NativeRequest): Promise<void> | undefined {
    return this.#open.get(nameOf(named))?.sent;
  }

  async #leave(name: string, request: Request, written: Promise<unknown>): Promise<void> {
    await Promise.allSettled([written]);
    // Whoever answered goes on first.
    await new Promise(setImmediate);
    if (this.#open.get(name) === request) this.#open.delete(name);
  }

  #forget(name: string, request: Request, one: Waiting): void {
    request.waiting.delete(one);
    if (request.waiting.size === 0 && this.#open.get(name) === request) this.#open.delete(name);
  }
}

/** One that was answered already is not ended. */
function end({ waiting }: Request, outcome: RequestOutcome): void {
  for (const { reject } of waiting)
    reject(
      new AdapterRequestError(REQUEST_ENDED, `the request ended without an answer: ${outcome}`, { outcome }),
    );
}

const nameOf = ({ scope, nativeId }: NativeRequest): string => JSON.stringify([scope, nativeId]);
