// The host's callbacks: whatever they throw, or reject with later, is told and costs nothing else.

/** What was thrown, as text. Also where it cannot be turned into text, such as an object without a prototype. */
export function thrownText(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "what was thrown cannot be shown as text";
  }
}

/** Calls, and gives `failed` what the call throws or its promise rejects with. */
export function guarded(call: () => unknown, failed: (error: unknown) => void): void {
  try {
    Promise.resolve(call()).catch(failed);
  } catch (error) {
    failed(error);
  }
}

/** A process warning about what a callback threw. */
export function warnOf(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : thrownText(error));
}
