// Watchers that tests play: what they yield is given by hand, and what is asked of them is counted.
import { setImmediate } from "node:timers/promises";
import { jsonlSession } from "agent-lifecycle";

/** A chunk of JSON lines. */
export const lines = (type, ...records) => ({
  type,
  bytes: Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join("")),
});

export const append = (...records) => lines("append", ...records);

/** A watcher that yields what it is given, and ends with `end()` or when it is disposed. */
export function watcher(...chunks) {
  const queue = [...chunks];
  let wake;
  let isOver = false;
  const made = {
    disposed: 0,
    asked: 0,
    push(...more) {
      queue.push(...more);
      wake?.();
    },
    /** Ends after what is queued. */
    end() {
      isOver = true;
      wake?.();
      return made;
    },
    dispose() {
      made.disposed += 1;
      isOver = true;
      wake?.();
    },
    [Symbol.asyncIterator]() {
      return {
        async next() {
          made.asked += 1;
          while (queue.length === 0) {
            if (isOver) return { done: true, value: undefined };
            await new Promise((resolve) => {
              wake = resolve;
            });
          }
          const value = queue.shift();
          if (value instanceof Error) throw value;
          return { done: false, value };
        },
      };
    },
  };
  return made;
}

export const binding = { providerSessionId: "s", mappingVersion: "1", opaque: undefined };

export const session = (source, mapRecord, options) =>
  jsonlSession({ binding, source, mapRecord, ...options });

export const child = (childId, source) => ({ childId, journal: { id: childId }, source });

/** Resolves when `condition` holds. */
export async function until(condition) {
  const deadline = Date.now() + 10_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`never held: ${condition}`);
    await setImmediate();
  }
}
