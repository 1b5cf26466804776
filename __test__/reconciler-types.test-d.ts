// What must compile around a reconciler, and what must not. `tsc` is the test runner.
import {
  type Asked,
  type AuditEntry,
  type JsonlLifecycleJournal,
  type LifecycleSnapshot,
  type OpenQuestion,
  type ReconcileResult,
  type Reconciler,
  LifecycleProjector,
  createReconciler,
} from "agent-lifecycle";
import {
  type HermesRecord,
  type HermesStatusSnapshot,
  createHermesDelegationReconciler,
} from "agent-lifecycle/hermes";

declare const journal: JsonlLifecycleJournal;
declare const snapshot: LifecycleSnapshot;
declare function get(url: string, options: { signal: AbortSignal }): Promise<LifecycleSnapshot>;

const projector = new LifecycleProjector({ corrections: true });
const required = { projector, source: "s", intervalMs: 1000 };
export const reconciler: Reconciler = createReconciler({
  ...required,
  fetchSnapshot: (reason, options) => get(`/children?why=${reason}`, options),
  deadlineMs: 1000,
  graceSnapshots: 3,
  onAudit: ({ childId, from, to }: AuditEntry) => console.log(childId, from, to),
  onReconciled: async ({ discovered }, reason) => console.log(discovered.length, reason),
  onDiagnostic: ({ code, error }) => console.log(code, error),
  journal,
  automatic: false,
  clock: Date.now,
});
createReconciler({ ...required, fetchSnapshot: () => snapshot });
// @ts-expect-error: whose children.
createReconciler({ projector, intervalMs: 1000, fetchSnapshot: () => snapshot });
// @ts-expect-error: a snapshot.
createReconciler({ ...required, fetchSnapshot: () => ({ complete: true }) });
// @ts-expect-error: one that may be incomplete is none.
createReconciler({ ...required, fetchSnapshot: () => ({ ...snapshot, complete: false }) });
// @ts-expect-error: milliseconds.
createReconciler({ ...required, fetchSnapshot: () => snapshot, intervalMs: "1s" });

export async function used(): Promise<unknown[]> {
  await using owner = createReconciler({ ...required, fetchSnapshot: () => snapshot });
  const asked: Asked<ReconcileResult> = await owner.sessionOpened();
  const due: Asked<ReconcileResult> | undefined = await owner.reconcileIfDue();
  if (asked.status === "answered") return asked.result.results;
  // @ts-expect-error: there is a result only where it was answered.
  console.log(due?.result);
  const { entries, complete } = owner.audit({ childId: "c", reason: "authoritative_snapshot" });
  // @ts-expect-error: a reason that there is.
  owner.audit({ reason: "because" });
  const questions: OpenQuestion[] = projector.questions("s");
  projector.reconcile(snapshot, { receivedAt: "2026-05-17T22:29:21Z", graceSnapshots: 1 });
  return [...entries, complete, ...questions, asked.status === "unanswered" ? asked.error : asked.reason];
}

declare const status: HermesStatusSnapshot;
declare const records: HermesRecord[];
const hermes = createHermesDelegationReconciler({
  clock: Date.now,
  intervalMs: 1000,
  fetchStatus: async (reason, { signal }) => (reason === "periodic" && signal.aborted ? status : status),
  current: () => records,
  onReconciled: ({ inputs, intents }, reason) => console.log(inputs.length, intents.length, reason),
});
export const asked: Promise<unknown>[] = [hermes.sessionOpened(), hermes.reconcileIfDue()];
createHermesDelegationReconciler({
  intervalMs: 1,
  fetchStatus: () => status,
  current: new Map([["k", records[0]!]]),
});
const few = { intervalMs: 1, current: records };
// @ts-expect-error: a snapshot says whether it is complete.
createHermesDelegationReconciler({ ...few, fetchStatus: () => ({ delegations: [] }) });
// @ts-expect-error: the records.
createHermesDelegationReconciler({ intervalMs: 1, fetchStatus: () => status });
