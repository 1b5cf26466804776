// What must compile around agent events, and what must not. `tsc` is the test runner.
import {
  type AgentFileWatcher,
  type AgentJournalChunk,
  type AgentJsonlSession,
  type AgentLifecycleEvent,
  type AgentLifecycleEventKind,
  type AgentLifecyclePublisher,
  type AgentMapping,
  type AgentRecordContext,
  type AgentRecordMapper,
  type AgentSessionBinding,
  type CancellationSignal,
  type WaitingReason,
  assertAgentLifecycleEvent,
  bindAgentSession,
  createAgentLifecyclePublisher,
  defineAgentProvider,
  jsonlSession,
  safeAgentString,
  selectAgentMapping,
  validateAgentLifecycleEvent,
} from "agent-lifecycle";

declare const watcher: AgentFileWatcher;
declare const unknownValue: unknown;

const binding: AgentSessionBinding = bindAgentSession({
  providerSessionId: "s",
  mappingVersion: "1",
  evidence: { process: { pid: 42 } },
});

// The published example, as it stands there.
// prettier-ignore
export const published: AgentJsonlSession = jsonlSession({ binding, source: watcher,
mapRecord(record, session) {
  const event = record as { type?: string; tool?: string };
  if (event.type === 'turn_started') {
    return session.publish.turnStarted({ turnId: crypto.randomUUID() });
  }
  if (event.type === 'tool_started' && event.tool) {
    return session.publish.toolStarted({
      toolId: crypto.randomUUID(),
      name: event.tool,
    });
  }
  if (event.type === 'complete') {
    return session.publish.done({ outcome: 'success' });
  }
}
});
export const bound: "bound" = published.state;

export const asynchronous: AgentRecordMapper = async (record, { publish, journal, signal, generation }) => {
  signal.throwIfAborted();
  await publish.turnStarted({ turnId: String(generation) });
  if (journal.role === "child") await publish.subagentStarted({ subagentId: journal.childId });
  // @ts-expect-error: a record is not known before it is looked at.
  console.log(record.type);
};
export const rootOnly = ({ journal }: AgentRecordContext) => {
  // @ts-expect-error: the root journal has no childId.
  return journal.childId as string;
};

// Events: `kind` decides what else there is.
export const events: AgentLifecycleEvent[] = [
  { kind: "session.started" },
  { kind: "session.started", title: undefined, model: { id: "m", contextWindowTokens: 200_000 } },
  { kind: "agent.metadata", agentId: "a", promptText: "p" },
  { kind: "turn.started", turnId: "t", occurredAt: new Date().toISOString() },
  { kind: "tool.started", toolId: "t", name: "Bash", description: "d" },
  { kind: "tool.finished", toolId: "t", outcome: "error" },
  { kind: "wait.started", waitId: "w", state: "blocked", reason: "r" },
  { kind: "wait.finished", waitId: "w" },
  { kind: "agent.done", outcome: "cancelled", summary: "s" },
  { kind: "agent.exited", exitCode: 0, signal: "SIGTERM" },
  { kind: "session.stopped", reason: "r" },
  { kind: "subagent.started", subagentId: "s", parentAgentId: "p" },
  { kind: "subagent.done", subagentId: "s", outcome: "success" },
];
export const kinds: AgentLifecycleEventKind[] = events.map(({ kind }) => kind);
// @ts-expect-error: no such kind.
export const ended: AgentLifecycleEvent = { kind: "turn.ended", turnId: "t" };
// @ts-expect-error: a turn has an id.
export const nameless: AgentLifecycleEvent = { kind: "turn.started" };
// @ts-expect-error: events are closed.
export const open: AgentLifecycleEvent = { kind: "session.stopped", exitCode: 1 };
// @ts-expect-error: null is not absent.
export const empty: AgentLifecycleEvent = { kind: "session.stopped", reason: null };
// @ts-expect-error: three outcomes.
export const failed: AgentLifecycleEvent = { kind: "agent.done", outcome: "failed" };
// @ts-expect-error: two states of a wait.
export const running: AgentLifecycleEvent = { kind: "wait.started", waitId: "w", state: "running" };
// @ts-expect-error: a model has an id.
export const model: AgentLifecycleEvent = { kind: "session.started", model: { displayName: "M" } };
// @ts-expect-error: times are text.
export const timed: AgentLifecycleEvent = { kind: "session.started", occurredAt: new Date() };

export function describe(event: AgentLifecycleEvent): string {
  switch (event.kind) {
    case "tool.started":
      return event.name;
    case "agent.exited":
      return String(event.exitCode ?? event.signal);
    default:
      // @ts-expect-error: only a tool call has a name.
      return event.name as string;
  }
}

const verdict = validateAgentLifecycleEvent(unknownValue);
if (verdict.ok) console.log(verdict.value.kind);
else console.log(verdict.issues[0]?.path, verdict.issues[0]?.code === "invalid_exit_code");
// @ts-expect-error: a fault is not a value.
console.log(verdict.value);
export const asserted: AgentLifecycleEvent = assertAgentLifecycleEvent(unknownValue);

// Publishers.
const publisher: AgentLifecyclePublisher = createAgentLifecyclePublisher(async (event) => {
  console.log(event.kind);
});
createAgentLifecyclePublisher(() => undefined, { fit: true });
// @ts-expect-error: fit is a boolean.
createAgentLifecyclePublisher(() => undefined, { fit: "yes" });
export const answer: void | Promise<void> = publisher.publish({ kind: "session.stopped" });
publisher.sessionStarted();
publisher.metadataChanged({ title: "t" });
publisher.toolFinished({ toolId: "t" });
publisher.waitStarted({ waitId: "w", state: "waiting" });
publisher.waitStarted({ waitId: "w", state: "waiting", reason: "permission" });
publisher.waitStarted({ waitId: "w", state: "waiting", reason: "May I push?" });
// Each waiting reason is offered, and any other text is taken.
declare const known: WaitingReason;
publisher.waitStarted({ waitId: "w", state: "waiting", reason: known });
// @ts-expect-error a reason is text
publisher.waitStarted({ waitId: "w", state: "waiting", reason: 1 });
publisher.waitFinished({ waitId: "w" });
publisher.exited();
publisher.sessionStopped({ reason: "r" });
publisher.subagentDone({ subagentId: "s", outcome: "success" });
// @ts-expect-error: an outcome is required.
publisher.done({});
// @ts-expect-error: an outcome is required.
publisher.done();
// @ts-expect-error: an exit has no outcome.
publisher.exited({ outcome: "success" });
// @ts-expect-error: an event has a kind.
publisher.publish({ turnId: "t" });

// Texts and mappings.
export const safe: string | undefined = safeAgentString(unknownValue, 96);
const mapping: AgentMapping<number> = { providerVersion: "2.1", value: 1 };
export const selected: number | undefined = selectAgentMapping([mapping], "2.1.143");
// @ts-expect-error: the list may be empty.
export const always: number = selectAgentMapping([mapping], "2.1.143");
// @ts-expect-error: a mapping has a version.
selectAgentMapping([{ value: 1 }], "2.1.143");

// Sessions.
export const signals: CancellationSignal[] = [
  new AbortController().signal,
  { aborted: false, throwIfAborted: () => undefined },
];
export const opaque: unknown = binding.opaque;
// @ts-expect-error: a binding is not changed.
binding.providerSessionId = "other";
// @ts-expect-error: evidence is a process or a file.
bindAgentSession({ providerSessionId: "s", mappingVersion: "1", evidence: {} });
// @ts-expect-error: nothing is bound without evidence.
bindAgentSession({ providerSessionId: "s", mappingVersion: "1" });
export const chunk: AgentJournalChunk = { type: "append", bytes: Buffer.from("x") };
// @ts-expect-error: append, replace or truncate.
export const moved: AgentJournalChunk = { type: "rename", bytes: new Uint8Array() };
async function* chunks() {
  yield chunk;
}
async function* discovered() {
  yield { childId: "c", journal: { id: "j" }, source: Promise.resolve(watcher) };
}
jsonlSession({
  binding,
  source: Promise.resolve(watcher),
  mapRecord: () => undefined,
  childSources: [{ childId: "c", journal: { id: "j" }, source: chunks() }],
  childSourceDiscovery: discovered(),
});
// @ts-expect-error: chunks, not records.
jsonlSession({ binding, source: (async function* () {})() as AsyncIterable<string>, mapRecord() {} });
// @ts-expect-error: a session has a mapper.
jsonlSession({ binding, source: watcher });
jsonlSession({
  binding,
  source: watcher,
  mapRecord() {},
  // @ts-expect-error: a child has a journal.
  childSources: [{ childId: "c", source: watcher }],
});

const provider = defineAgentProvider({
  name: "my-agent",
  mappings: [{ providerVersion: "1", value: (_record, { publish }) => publish.sessionStarted() }],
});
export const mapper: AgentRecordMapper | undefined = selectAgentMapping(provider.mappings, "1.2");
// @ts-expect-error: a mapping's value maps records.
defineAgentProvider({ name: "my-agent", mappings: [{ providerVersion: "1", value: 5 }] });
