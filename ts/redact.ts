// Redaction for hosts: the same rules that events and diagnostics go through.
import { iterableArgument, optionsArgument, textArgument } from "./arguments.js";
import { jsonText } from "./contract.js";
import { callNative } from "./native.js";

export interface RedactOptions {
  /** Texts to hide wherever they occur, of 8 UTF-16 code units or more each. */
  secrets?: readonly string[] | undefined;
}

/**
 * A copy of `value`, taken as JSON, with `[REDACTED]` in place of each text that the rules of `docs/contract.md` take for a secret:
 * by the name of its member, by what it says, or because it is registered.
 *
 * @throws {LifecycleError} `invalid_option` for a secret that is too short, `invalid_argument` for one that is no text, `too_deep`, or `invalid_value` for what JSON cannot
 *   hold.
 */
export function redact<T>(value: T, options?: RedactOptions): T {
  const text = jsonText(value, "value", "invalid_value");
  const given = optionsArgument(options, "options", ["secrets"]).secrets ?? [];
  const secrets = Array.from(iterableArgument(given, "secrets"), (secret, at) =>
    textArgument(secret, `secrets[${at}]`),
  );
  return JSON.parse(callNative((native) => native.redactJson(text, secrets))) as T;
}
