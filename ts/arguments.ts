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
    const message = `${name} has no member ${JSON.stringify(shown)}; there are ${members.join(", ")}`;
    throw new LifecycleError("invalid_option", message, { path: shown });
  }
  throw new LifecycleError("invalid_argument", `${name} must be an object, not ${typeOf(value)}`, {
    path: name,
  });
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
