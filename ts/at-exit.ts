// What is done when the process or the worker thread ends: no cleanup hook of the addon runs on `process.exit`.

const ends = new Set<() => void>();
let listens = false;

/** Has `end` called at the end, unless it is taken back by {@link notAtExit}. */
export function atExit(end: () => void): void {
  ends.add(end);
  if (listens) return;
  listens = true;
  process.once("exit", () => {
    for (const each of ends) each();
  });
}

/** It was done before. */
export function notAtExit(end: () => void): void {
  ends.delete(end);
}
