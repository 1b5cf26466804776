// Displays over rows: a report for an end user, and a list for a host that can show nothing but to-dos.
import { optionsArgument, textArgument } from "./arguments.js";
import { jsonText } from "./contract.js";
import { LifecycleError } from "./error.js";
import { type Native, callNative } from "./native.js";
import type { Row } from "./row.js";

export interface DisplayOptions {
  /** The time that ages are relative to, as RFC 3339 UTC; the clock's by default. */
  now?: string | undefined;
  /**
   * Whether any source of evidence exists, such as `evidence` of `status --json`; `false` by default. It matters where there are
   * no rows: without evidence that is no proof of an absence.
   */
  evidence?: boolean | undefined;
}

/** One item of a to-do list that shows background work. It is a display: what becomes of it changes no state. */
export interface FallbackTodo {
  /** Begins with `DISPLAY ONLY`, but for the one sentence that is said without evidence. */
  readonly content: string;
  /**
   * `completed` where the child's literal state is that (of the aggregate: of all children), `in_progress` of the aggregate alone,
   * while a child has not ended. `pending` says nothing but that it is not known to be completed: the state is in the content.
   */
  readonly status: "pending" | "in_progress" | "completed";
  /** What to show while it is in progress. */
  readonly activeForm?: string;
}

/**
 * A report for an end user: for each child, below its parent, id, literal state, what it waits for, what it does, how fresh that
 * is, outcome, and where its transcript and result are. What is not known is said. Without rows it is one sentence.
 *
 * Rows may come from anywhere: texts are made inert, redacted and cut, and members that are missing are unknown. At most 4,096
 * are shown, and the others counted.
 *
 * @throws {LifecycleError} `invalid_argument` with a path such as `rows[3].state` for what is no row, `invalid_value` and `too_deep`
 *   for what JSON cannot hold, `invalid_timestamp` and `invalid_option` for options.
 */
export function statusReport(rows: readonly Row[], options?: DisplayOptions): string {
  return display(rows, options, (native, ...given) => native.statusReport(...given));
}

/**
 * A list of to-dos for a host that has no display of its own: one active aggregate and one item for each child, frozen. Without
 * evidence it is one item with the sentence that says so; with evidence and without rows it is empty.
 *
 * @throws {LifecycleError} as {@link statusReport}.
 */
export function fallbackTodos(rows: readonly Row[], options?: DisplayOptions): readonly FallbackTodo[] {
  const text = display(rows, options, (native, ...given) => native.fallbackTodos(...given));
  const todos = JSON.parse(text) as FallbackTodo[];
  return Object.freeze(todos.map((todo) => Object.freeze(todo)));
}

function display(
  rows: readonly Row[],
  options: DisplayOptions | undefined,
  draw: (native: typeof Native, rows: string, now: string, evidence: boolean) => string,
): string {
  const { now = new Date().toISOString(), evidence = false } = optionsArgument(options, "options", [
    "now",
    "evidence",
  ]);
  const present = textArgument(now, "now");
  if (typeof evidence !== "boolean") {
    throw new LifecycleError("invalid_option", "evidence must be true or false", { path: "evidence" });
  }
  const text = jsonText(rows, "rows", "invalid_value");
  return callNative((native) => draw(native, text, present, evidence));
}
