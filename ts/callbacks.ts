// The host's callbacks: whatever they throw, or reject with later, is told and costs nothing else.
import { LifecycleError } from "./error.js";
import { redact } from "./redact.js";

/** What was thrown, as text. Also where it cannot be turned into text, such as an object without a prototype. */
export function thrownText(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "what was thrown cannot be shown as text";
  }
}

/** As {@link thrownText}, without secrets. */
export const safeText = (error: unknown): string => redact(thrownText(error));

/** As {@link safeText}; of an error of this package also which member it is about, where its message does not say so. */
export function safePlacedText(error: unknown): string {
  const text = safeText(error);
  const path = error instanceof LifecycleError ? error.path : undefined;
  return path === undefined || text.includes(path) ? text : `${text} (at ${redact(path)})`;
}

/** Calls, and gives `failed` what the call throws or its promise rejects with. */
export function guarded(call: () => unknown, failed: (error: unknown) => void): void {
  try {
    Promise.resolve(call()).catch(failed);
  } catch (error) {
    failed(error);
  }
}

/**
 * A host's clock that never throws: where it has no reading, that of `fallback` counts. `failed` is told the first time.
 * `isReading` says whether what it gave is one.
 */
export function steadyClock(
  clock: () => number,
  isReading: (value: number) => boolean,
  fallback: () => number,
  failed: (error: unknown) => void,
): () => number {
  let isTold = false;
  const fail = (error: unknown) => {
    if (!isTold) failed(error);
    isTold = true;
    return fallback();
  };
  return () => {
    try {
      const value = clock();
      if (typeof value === "number" && isReading(value)) return value;
    } catch (error) {
      return fail(error);
    }
    return fail(new TypeError("it gave no number of milliseconds that can be counted on"));
  };
}

/** A process warning about what a callback threw. */
export function warnOf(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : thrownText(error));
}

/** What is told of a thing that is not as it should be. */
interface Told {
  readonly code: string;
  readonly path?: string | null;
  readonly message: string;
}

/** Tells the host; without a callback the first of each code is a process warning. */
export function reporter<Diagnostic extends Told>(
  onDiagnostic: ((diagnostic: Diagnostic) => unknown) | undefined,
): (diagnostic: Diagnostic) => void {
  const warned = new Set<string>();
  return (diagnostic) => {
    if (onDiagnostic !== undefined) {
      return guarded(
        () => onDiagnostic(diagnostic),
        (error) => process.emitWarning(`onDiagnostic failed: ${safeText(error)}`, "LifecycleWarning"),
      );
    }
    if (warned.has(diagnostic.code)) return;
    warned.add(diagnostic.code);
    const where = typeof diagnostic.path === "string" ? `${diagnostic.path}: ` : "";
    process.emitWarning(`${where}${diagnostic.message}`, "LifecycleWarning", diagnostic.code);
  };
}
