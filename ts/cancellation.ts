// The lifetime of an observation: until its host cancels it, or until it is over.
import type { CancellationSignal } from "./session.js";

/** How often a signal is asked that cannot call. */
const ASK_MS = 100;

export interface Lifetime {
  /** For those who work within it: an `AbortSignal` where the host gave one or none. */
  readonly signal: CancellationSignal;
  /** Throws the host's reason where it has cancelled. */
  check(): void;
  /** What `promise` gives; rejects with the host's reason as soon as that is known. */
  until<T>(promise: PromiseLike<T>): Promise<T>;
  /** It is over. */
  end(): void;
}

export function lifetimeOf(host: CancellationSignal | undefined): Lifetime {
  const own = new AbortController();
  const waiting = new Set<() => void>();
  const check = () => {
    if (host?.aborted !== true) return;
    host.throwIfAborted();
    throw new DOMException("the observation was cancelled", "AbortError");
  };
  const wake = () => {
    for (const rejected of waiting) rejected();
    waiting.clear();
  };
  const onAbort = () => {
    own.abort((host as AbortSignal).reason);
    wake();
  };
  let timer: NodeJS.Timeout | undefined;
  if (isAbortSignal(host)) {
    host.addEventListener("abort", onAbort, { once: true });
  } else if (host !== undefined) {
    timer = setInterval(() => host.aborted && wake(), ASK_MS);
    timer.unref();
  }
  return {
    signal: host === undefined || isAbortSignal(host) ? own.signal : both(host, own.signal),
    check,
    until(promise) {
      return new Promise((resolve, reject) => {
        const rejected = () => {
          try {
            check();
          } catch (reason) {
            reject(reason);
          }
        };
        waiting.add(rejected);
        const settle =
          <V>(how: (value: V) => void) =>
          (value: V) => {
            waiting.delete(rejected);
            how(value);
          };
        promise.then(settle(resolve), settle(reject));
      });
    },
    end() {
      clearInterval(timer);
      if (isAbortSignal(host)) host.removeEventListener("abort", onAbort);
      own.abort();
    },
  };
}

const isAbortSignal = (signal: CancellationSignal | undefined): signal is AbortSignal =>
  typeof (signal as Partial<AbortSignal> | undefined)?.addEventListener === "function";

/** Aborted when one of the two is. */
const both = (host: CancellationSignal, own: AbortSignal): CancellationSignal => ({
  get aborted() {
    return host.aborted || own.aborted;
  },
  throwIfAborted() {
    host.throwIfAborted();
    own.throwIfAborted();
  },
});
