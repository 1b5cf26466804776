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
