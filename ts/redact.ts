// Redaction for hosts: the same rules that events and diagnostics go through.
import { callNative } from "./native.js";

/** `text` with `[REDACTED]` in place of what the rules of `docs/contract.md` take for secrets. */
export function redact(text: string): string {
  return callNative((native) => native.redactTextValue(text));
}
