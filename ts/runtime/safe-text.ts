// Texts of harnesses and drivers as they may be shown: redacted as a whole, then cut.
import { inspect } from "node:util";
import { thrownText } from "../callbacks.js";
import { redact } from "../redact.js";
import { RuntimeError } from "./errors.js";

/** UTF-16 code units of a text that are looked at, and that are shown. */
const READ = 65_536;
const SHOWN = 2000;
/** Units of a secret that can be found in a text. */
export const LEAST_SECRET = 8;

/** What is hidden in one session, and how its texts are shown. */
export class SafeText {
  readonly #secrets: string[];

  constructor(secrets: readonly string[]) {
    this.#secrets = [...secrets];
  }

  /** Hides one more text from now on. */
  hide(secret: string): void {
    this.#secrets.push(secret);
  }

  /** Whatever it is, as text. */
  of(value: unknown): string {
    return this.#redacted(typeof value === "string" ? value : thrownText(value)).slice(0, SHOWN);
  }

  /** An error of this package, whose texts may be those of a driver or a harness. The same error, with what is hidden taken out. */
  cleaned<T extends RuntimeError>(error: T): T {
    error.message = this.of(error.message);
    if (error.stack !== undefined) error.stack = this.#redacted(error.stack);
    if (error.details !== undefined) set(error, "details", redact(error.details, { secrets: this.#secrets }));
    if (error.cause !== undefined) set(error, "cause", this.cause(error.cause));
    return error;
  }

  /** What was thrown, where printing it shows nothing that is hidden; else an error that has its text and its place without that. */
  cause(thrown: unknown): unknown {
    if (thrown instanceof RuntimeError) return this.cleaned(thrown);
    try {
      const shown = inspect(thrown);
      if (shown.length <= READ && this.#redacted(shown) === shown) return thrown;
    } catch {
      // What cannot be shown is not given on.
    }
    const cause = new Error(this.of(thrown));
    const stack = thrown instanceof Error ? thrown.stack : undefined;
    if (typeof stack === "string") cause.stack = this.#redacted(stack);
    return cause;
  }

  #redacted(text: string): string {
    return redact(text.slice(0, READ), { secrets: this.#secrets });
  }
}

function set(error: Error, name: string, value: unknown): void {
  Object.defineProperty(error, name, {
    value,
    configurable: true,
    writable: true,
    enumerable: name === "details",
  });
}
