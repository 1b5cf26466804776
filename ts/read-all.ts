// What comes from a host's iterable, until it ends or is not wanted any more.
import { guarded } from "./callbacks.js";

/** What is iterated: at once, or as it comes. */
export type Readable<Item> = AsyncIterable<Item> | Iterable<Item>;

/** Whether `for await` could read it. */
export function isReadable(value: unknown): value is Readable<unknown> {
  const able = value as (AsyncIterable<unknown> & Partial<Iterable<unknown>>) | null | undefined;
  return typeof (able?.[Symbol.asyncIterator] ?? able?.[Symbol.iterator]) === "function";
}

/**
 * Gives each item to `take`, until the end or the abort; the next one when `take` is done with it. A stream that waits is not waited for;
 * what it does about its end is its own. The first item is asked for before this returns.
 */
export async function readAll<Item>(
  readable: Readable<Item>,
  signal: AbortSignal,
  take: (item: Item) => void | Promise<void>,
): Promise<void> {
  const iterator = iteratorOf(readable);
  const end = () => {
    guarded(() => iterator.return?.(), ignored);
    guarded(() => (readable as { destroy?: () => unknown }).destroy?.(), ignored);
  };
  if (signal.aborted) return end();
  signal.addEventListener("abort", end, { once: true });
  try {
    for (;;) {
      const step = await iterator.next();
      if (step.done === true || signal.aborted) return;
      const taking = take(step.value);
      if (taking !== undefined) await taking;
    }
  } catch (error) {
    end();
    throw error;
  } finally {
    signal.removeEventListener("abort", end);
  }
}

const ignored = (): void => undefined;

/** As `for await` gets it: also from what is iterable at once. */
function iteratorOf<Item>(readable: Readable<Item>): AsyncIterator<Item> {
  if (Symbol.asyncIterator in readable) return readable[Symbol.asyncIterator]();
  return (async function* () {
    yield* readable;
  })();
}
