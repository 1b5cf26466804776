// A reconciler on a clock of the test's own.
import { LifecycleProjector, createReconciler } from "agent-lifecycle";
import { state } from "./events.mjs";

const START = Date.parse("2026-05-17T22:29:21Z");
export const life = [state("e1", "created"), state("e2", "starting"), state("e3", "running")];
export const time = (ms) => new Date(START + ms).toISOString();
export const running = { childId: "child", state: "running" };

/** Lets everything run that a promise waits for. */
export const settled = async () => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

/** A reconciler each of whose requests is answered by the test: `requests` has `{reason, signal, answer, fail}`. */
export function made(t, options = {}) {
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  t.mock.method(Math, "random", () => 0);
  let now = START;
  let count = 0;
  const [requests, audited, told] = [[], [], []];
  const projector = options.projector ?? new LifecycleProjector({ staleAfterMs: 10_000, corrections: true });
  if (options.projector === undefined) projector.applyMany(life);
  const reconciler = createReconciler({
    projector,
    source: "source",
    fetchSnapshot: (reason, { signal }) =>
      new Promise((answer, fail) => requests.push({ reason, signal, answer, fail })),
    intervalMs: 60_000,
    deadlineMs: 5000,
    onAudit: (entry) => audited.push(entry),
    onDiagnostic: (diagnostic) => told.push(diagnostic),
    clock: () => now,
    ...options,
  });
  t.after(() => reconciler.close());
  const pass = async (ms) => {
    for (let left = ms; left > 0; left -= 1000) {
      const step = Math.min(left, 1000);
      now += step;
      t.mock.timers.tick(step);
      await settled();
    }
  };
  /** A snapshot observed now. */
  const snapshot = (children, changes = {}) => ({
    complete: true,
    source: "source",
    sourceEpoch: "epoch",
    snapshotId: `s${(count += 1)}`,
    observedAt: new Date(now).toISOString(),
    coverage: "all",
    children,
    ...changes,
  });
  const row = () => projector.list()[0];
  return {
    reconciler,
    projector,
    requests,
    audited,
    told,
    pass,
    snapshot,
    row,
    clock: () => time(now - START),
  };
}
