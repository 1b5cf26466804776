// What an adapter threw, as the cause of an error that a host may log: whoever prints an error prints its causes too.
import { inspect } from "node:util";
import { thrownText } from "../callbacks.js";

/** Units beyond which a cause is not looked through. */
const MOST = 65_536;

/** What was thrown, where nothing of it is a secret; else an error that has its text and its place without them. */
export function safeCause(error: unknown, redacted: (text: string) => string): unknown {
  try {
    const text = inspect(error);
    if (text.length <= MOST && redacted(text) === text) return error;
  } catch {
    // What cannot be shown is not given on.
  }
  const copy = new Error(redacted(thrownText(error).slice(0, MOST)));
  const stack = error instanceof Error ? error.stack : undefined;
  if (typeof stack === "string") copy.stack = redacted(stack.slice(0, MOST));
  return copy;
}
