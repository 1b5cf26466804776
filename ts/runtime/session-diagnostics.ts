// What people should know of a session beside its events: told as it comes, and the last ones kept.
import { guarded } from "../callbacks.js";
import type { RuntimeDiagnostic } from "./registry.js";
import type { SafeText } from "./safe-text.js";

const KEPT = 32;

export class SessionDiagnostics {
  readonly #safe: SafeText;
  readonly #tell: ((diagnostic: RuntimeDiagnostic) => unknown) | undefined;
  readonly #kept: RuntimeDiagnostic[] = [];

  constructor(safe: SafeText, tell: ((diagnostic: RuntimeDiagnostic) => unknown) | undefined) {
    this.#safe = safe;
    this.#tell = tell;
  }

  /** Tells the host, whose own fault in hearing it is dropped. */
  warn(code: string, message: string): void {
    const diagnostic = { code: this.#safe.of(code), message: this.#safe.of(message) };
    if (this.#kept.push(diagnostic) > KEPT) this.#kept.shift();
    guarded(
      () => this.#tell?.(diagnostic),
      () => undefined,
    );
  }

  /** The last 32. */
  kept(): RuntimeDiagnostic[] {
    return [...this.#kept];
  }
}
