// Arguments from callers: their types are checked here, so that a wrong one is refused by name.
import { LifecycleError } from "./error.js";
import type { CancellationSignal } from "./session.js";

/**
 * `value` where it is text.
 *
 * @throws {LifecycleError} `invalid_argument` with the argument's name as path. The value itself is not repeated.
 */
export function textArgument(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  throw new LifecycleError("invalid_argument", `${name} must be text, not ${typeOf(value)}`, { path: name });
}

/** As {@link textArgument}, for an argument that may be left out. */
export function optionalText(value: unknown, name: string): string | undefined {
  return value === undefined ? undefined : textArgument(value, name);
}

/**
 * An option that is a number, or left out.
 *
 * @throws {LifecycleError} `invalid_option` with the option's name as path.
 */
export function numberOption(value: unknown, name: string): number | undefined {
  if (value === undefined || typeof value === "number") return value;
  throw new LifecycleError("invalid_option", `${name} must be a number, not ${typeOf(value)}`, {
    path: name,
  });
}

/**
 * An option that counts from one: a safe integer of 1 or more, or left out.
 *
 * @throws {LifecycleError} `invalid_option` with the option's name as path.
 */
export function countOption(value: unknown, name: string): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= 1))
    return value as number | undefined;
  throw optionFault(name, `${name} must be a safe integer of 1 or more`);
}

/** The refusal of an option. */
export const optionFault = (name: string, message: string): LifecycleError =>
  new LifecycleError("invalid_option", message, { path: name });

/**
 * An option that is true or false, or left out.
 *
 * @throws {LifecycleError} `invalid_option` with the option's name as path.
 */
export function booleanOption(value: unknown, name: string): boolean | undefined {
  if (value === undefined || typeof value === "boolean") return value;
  throw new LifecycleError("invalid_option", `${name} must be true or false, not ${typeOf(value)}`, {
    path: name,
  });
}

/**
 * An option that is a function, or left out.
 *
 * @throws {LifecycleError} `invalid_option` with the option's name as path.
 */
export function functionOption<T>(value: T | undefined, name: string): T | undefined {
  if (value === undefined || typeof value === "function") return value;
  throw new LifecycleError("invalid_option", `${name} must be a function, not ${typeOf(value)}`, {
    path: name,
  });
}

/**
 * An option that is an `AbortSignal` or what says as much, or left out.
 *
 * @throws {LifecycleError} `invalid_option` with the option's name as path.
 */
export function signalOption(value: unknown, name: string): CancellationSignal | undefined {
  if (value === undefined) return undefined;
  const { aborted, throwIfAborted } = (value ?? {}) as Partial<CancellationSignal>;
  if (typeof aborted === "boolean" && typeof throwIfAborted === "function")
    return value as CancellationSignal;
  const message = `${name} must be an AbortSignal, or have aborted and throwIfAborted`;
  throw new LifecycleError("invalid_option", message, { path: name });
}

/** A member of an object that is left out where its value is. */
export function set<Key extends string, Value>(key: Key, value: Value | undefined): { [key in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { [key in Key]?: Value });
}

/**
 * Options: an object, or left out. `members` names those that there are, where another is refused: a misspelt one would be a default.
 *
 * @throws {LifecycleError} `invalid_argument`, or `invalid_option` for a member that there is not.
 */
export function optionsArgument<T extends object>(
  value: T | undefined,
  name: string,
  members?: readonly (string & keyof T)[],
): Partial<T> {
  if (value === undefined) return {};
  if (typeof value === "object" && value !== null) {
    if (members === undefined) return value;
    const given = Object.keys(value).filter(
      (member) => (value as Record<string, unknown>)[member] !== undefined,
    );
    const unknown = given.find((member) => !(members as readonly string[]).includes(member));
    if (unknown === undefined) return value;
    // A name from the caller: bounded, and nothing that would move a cursor.
    const shown = unknown.slice(0, 64).replaceAll(/\p{C}/gu, "\u{fffd}");
    const meant = nearest(unknown, members);
    const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
    const message = `${name} has no member ${JSON.stringify(shown)}${hint}; there are ${members.join(", ")}`;
    throw new LifecycleError("invalid_option", message, { path: shown });
  }
  throw new LifecycleError("invalid_argument", `${name} must be an object, not ${typeOf(value)}`, {
    path: name,
  });
}

/** UTF-16 units of a name that is compared with others. */
const NAME_UNITS = 64;

/** The one of `names` that `given` is most likely a slip of, where one is near. */
export function nearest(given: string, names: readonly string[]): string | undefined {
  if (given.length > NAME_UNITS) return undefined;
  const [best] = names
    .map((name) => ({ name, slips: slipsBetween(given.toLowerCase(), name.toLowerCase()) }))
    .toSorted((a, b) => a.slips - b.slips);
  return best !== undefined && best.slips <= Math.max(1, Math.floor(given.length / 3))
    ? best.name
    : undefined;
}

/** Characters to be added, left out, changed or swapped with the next until one is the other. */
function slipsBetween(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const same = one[i - 1] === other[j - 1];
      let least = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + (same ? 0 : 1));
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwap) least = Math.min(least, before[j - 2]! + 1);
      row.push(least);
    }
    [before, last] = [last, row];
  }
  return last[other.length]!;
}

/**
 * Things in an order: an iterable that is no text.
 *
 * @throws {LifecycleError} `invalid_argument`.
 */
export function iterableArgument<T>(value: Iterable<T>, name: string): Iterable<T> {
  if (typeof value === "object" && value !== null && typeof value[Symbol.iterator] === "function")
    return value;
  throw new LifecycleError(
    "invalid_argument",
    `${name} must be an array or another iterable, not ${typeOf(value)}`,
    {
      path: name,
    },
  );
}

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
