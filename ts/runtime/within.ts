// Waits: with a bound, and such that a script does not end in the middle.
import { LONGEST_TIMER_MS } from "../timers.js";

/** What `promise` gives, or a rejection with `late()` after that many milliseconds. */
export async function within<T>(
  milliseconds: number,
  promise: PromiseLike<T>,
  late: () => Error,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), milliseconds);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** What `promise` gives. Until then the script is kept alive: what it waits for may be a process that alone would not do that. */
export async function awake<T>(promise: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, LONGEST_TIMER_MS);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
  }
}
