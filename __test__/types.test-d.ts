// What must compile, and what must not. `tsc` is the test runner.
import {
  type ApplyResult,
  type ChangeSet,
  type Diagnostic,
  type FallbackTodo,
  type HostStatus,
  type JournalledEvent,
  type LifecycleErrorCode,
  type LifecycleEvent,
  type LifecycleEventBody,
  type LifecycleEventInput,
  type LifecycleSnapshot,
  type ReconcileResult,
  type Row,
  type RowTree,
  JsonlLifecycleJournal,
  JsonlLifecycleParser,
  LifecycleError,
  LifecycleProjector,
  coreVersion,
  fallbackTodos,
  hostStatus,
  normalizeLifecycleEvent,
  redact,
  statusReport,
  treeOf,
} from "agent-lifecycle";

export const version: string = coreVersion();
// @ts-expect-error: it takes nothing.
coreVersion(1);

export const error: TypeError = new LifecycleError("invalid_value", "no", { path: "a.b" });
export const code: string = new LifecycleError("invalid_value", "no").code;
// @ts-expect-error: the code is set once.
new LifecycleError("invalid_value", "no").code = "other";
// @ts-expect-error: a code and a message.
export const incomplete = new LifecycleError("invalid_value");

const envelope = {
  schemaVersion: 1,
  eventId: "e1",
  source: "s",
  sourceEpoch: "1",
  childId: "c",
  lineage: { rootChildId: "c", attempt: 1, external: false },
  observedAt: "2026-01-01T00:00:00Z",
} as const;

export const created: LifecycleEventInput = { ...envelope, kind: "created", state: "created" };
export const waiting: LifecycleEventInput = {
  ...envelope,
  kind: "state_changed",
  state: "waiting",
  waitingReason: "permission",
  capabilities: { cancel: "known" },
  details: { nested: [1, { a: null }] },
};
export const beat: LifecycleEventInput = { ...envelope, kind: "heartbeat" };
export const reasoned: LifecycleEventInput = {
  ...envelope,
  kind: "terminal",
  state: "lost",
  // @ts-expect-error: only a wait has a reason.
  waitingReason: "other",
};
export const body: LifecycleEventBody = { kind: "state_changed", state: "waiting", waitingReason: "child" };
export const said: LifecycleEventInput = { ...envelope, ...body };
// @ts-expect-error: whom it is about is no part of the body.
export const whole: LifecycleEventBody = { ...body, childId: "c" };
export const known: LifecycleErrorCode = "invalid_state";
export const foreign: LifecycleErrorCode = "of_a_newer_version";
// @ts-expect-error: a change to `created` does not exist.
export const again: LifecycleEventInput = { ...envelope, kind: "state_changed", state: "created" };
// @ts-expect-error: only a terminal state ends a child.
export const end: LifecycleEventInput = { ...envelope, kind: "terminal", state: "running" };
// @ts-expect-error: exactly eight states.
export const idle: LifecycleEventInput = { ...envelope, kind: "state_changed", state: "idle" };
// @ts-expect-error: a capability is known or unknown.
export const sure: LifecycleEventInput = { ...beat, capabilities: { cancel: true } };
// @ts-expect-error: details are JSON.
export const odd: LifecycleEventInput = { ...beat, details: { when: new Date() } };

export const event: LifecycleEvent = normalizeLifecycleEvent(JSON.parse("{}"));
if (event.kind === "terminal") {
  const state: "completed" | "failed" | "cancelled" | "lost" = event.state;
  console.log(state);
}

const projector = new LifecycleProjector({ staleAfterMs: 1000 });
// @ts-expect-error: milliseconds are a number.
export const wrong = new LifecycleProjector({ staleAfterMs: "1s" });
export const result: ApplyResult = projector.apply(event, { receivedAt: "2026-01-01T00:00:00Z" });
// @ts-expect-error: an event of one's own is checked as it is written.
projector.apply({ nonsense: true });
const tried = projector.tryApply(event);
if (tried.status === "refused") console.log(tried.error.code);
else console.log(tried.record?.state);
// @ts-expect-error: only a refusal has an error.
console.log(tried.error);
export const rows: Row[] = projector.list();
export const tree: RowTree[] = projector.tree();
export const same: RowTree[] = treeOf(rows);
export const epoch: string | undefined = projector.epoch("s");
export const below: RowTree[] | undefined = tree[0]?.children;
// @ts-expect-error: a state is literal; there is no percentage.
console.log(rows[0]?.percent);
const snapshot: LifecycleSnapshot = {
  complete: true,
  source: "s",
  sourceEpoch: "1",
  snapshotId: "x",
  observedAt: "2026-01-01T00:00:00Z",
  coverage: "all",
  children: [{ childId: "c", state: "running", lineage: envelope.lineage }],
};
export const reconciled: ReconcileResult = projector.reconcile(snapshot);
// @ts-expect-error: nothing may be concluded from an incomplete one.
projector.reconcile({ ...snapshot, complete: false });
// @ts-expect-error: all, or a list of ids.
projector.reconcile({ ...snapshot, coverage: "some" });
export const failed: ApplyResult = projector.reconciliationFailed("s", "c", "2026-01-01T00:00:00Z");
// @ts-expect-error: when is given; no clock is read.
projector.reconciliationFailed("s", "c");
export const changes: ChangeSet = projector.changesSince();
export const keys: string[] = projector.changesSince(changes.cursor).removed;
// @ts-expect-error: a process lives, does not, or nobody knows.
projector.setProcess("s", "c", { pid: 1, alive: true });
projector.setProcess("s", "c", undefined);
export const corrections: LifecycleEvent[] = projector.takeCorrections();
projector.applyJsonl(new Uint8Array(), { end: true });
// @ts-expect-error: bytes or text.
projector.applyJsonl(5);

const parser = new JsonlLifecycleParser({ maxLineBytes: 1000 });
export const records: LifecycleEvent[] = parser.push("{}\n");
export const faults: Diagnostic[] = parser.end().diagnostics;
// @ts-expect-error: what was parsed is read, not set.
parser.records = [];

export const hidden: string = redact("text");
export const object: { a: number } = redact({ a: 1 }, { secrets: ["longer than eight"] });
// @ts-expect-error: secrets are texts.
redact("text", { secrets: [1] });

export const report: string = statusReport(rows, { now: "2026-01-01T00:00:00Z", evidence: true });
// @ts-expect-error: a time is text.
statusReport(rows, { now: new Date() });
// @ts-expect-error: rows, not one row.
statusReport(rows[0]);
export const todos: readonly FallbackTodo[] = fallbackTodos(tree);
// @ts-expect-error: a display is read, not set.
if (todos[0]) todos[0].status = "completed";
// @ts-expect-error: it is frozen.
todos.push({ content: "x", status: "pending" });
export const word: HostStatus = hostStatus({ state: "running", waitingReason: null });
// @ts-expect-error: exactly eight states.
hostStatus({ state: "idle", waitingReason: null });

// The journal.
export async function journals(): Promise<unknown[]> {
  const journal = new JsonlLifecycleJournal("j.jsonl", { durability: "os", tornTail: "quarantine" });
  // What is not known is given as undefined, also under exactOptionalPropertyTypes.
  const unset = {
    lockTimeoutMs: undefined,
    staleLockMs: undefined,
    durability: undefined,
    tornTail: undefined,
  };
  const plain = new JsonlLifecycleJournal("j.jsonl", unset);
  await plain.append({ ...beat, sequence: undefined, activity: undefined }, { receivedAt: undefined });
  await plain.rotate({ sharedWriters: false, keep: undefined });
  const projection = new LifecycleProjector({ staleAfterMs: undefined, corrections: undefined });
  await plain.replayInto(projection);
  // @ts-expect-error no such durability
  const unsure = new JsonlLifecycleJournal("j.jsonl", { durability: "maybe" });
  const written: JournalledEvent = await journal.append(beat, { receivedAt: "2026-05-17T22:29:21Z" });
  const sequence: number = written.journalSequence;
  const offsets: unknown[] = [unsure];
  const [first] = await journal.appendMany([beat, 1, null]);
  const refused: string | undefined = first !== undefined && "status" in first ? first.error.code : undefined;
  offsets.push(refused);
  for await (const { events, problems } of journal.replay())
    offsets.push(events[0]?.journalSequence, problems[0]?.offset);
  const { entries }: { entries: number } = await journal.replayInto(new LifecycleProjector());
  // @ts-expect-error rotate needs its confirmation
  await journal.rotate({ keep: 1 });
  // @ts-expect-error and only this one
  await journal.rotate({ sharedWriters: true });
  const rotated = await journal.rotate({ sharedWriters: false });
  const old: string | null = rotated.old;
  offsets.push(old);
  await journal.close();
  return [sequence, entries, offsets, (await journal.verify()).valid, (await journal.repair()).kept];
}
