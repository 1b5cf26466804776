// Arguments from callers: their types are checked here, so that a wrong one is refused by name.
import { LifecycleError } from "./error.js";

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

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
