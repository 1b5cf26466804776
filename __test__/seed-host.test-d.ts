// A strict TypeScript host that knows only the public page of agent events.
import {
  type AgentJsonlSession,
  type AgentLifecycleEvent,
  type AgentLifecyclePublisher,
  type AgentMapping,
  assertAgentLifecycleEvent,
  createAgentLifecyclePublisher,
  createJsonlRecordDecoder,
  jsonlSession,
  observeJsonlSession,
  safeAgentString,
  selectAgentMapping,
} from "agent-lifecycle";

declare const watcher: AgentJsonlSession["source"];
declare const binding: AgentJsonlSession["binding"];

const declared = jsonlSession({
  binding,
  source: watcher,
  mapRecord(record, session) {
    const event = record as { type?: string; tool?: string };
    if (event.type === "turn_started") {
      return session.publish.turnStarted({ turnId: crypto.randomUUID() });
    }
    if (event.type === "tool_started" && event.tool) {
      return session.publish.toolStarted({
        toolId: crypto.randomUUID(),
        name: event.tool,
      });
    }
    if (event.type === "complete") {
      return session.publish.done({ outcome: "success" });
    }
  },
});

/** As an extension declares one without a helper. */
export const byHand: AgentJsonlSession = {
  state: "bound",
  binding,
  source: watcher,
  async mapRecord(record, { journal, publish, signal, binding: bound }) {
    signal.throwIfAborted();
    const childId: string | undefined = journal.role === "child" ? journal.childId : undefined;
    const title = safeAgentString((record as { title?: unknown }).title, 512);
    await publish.metadataChanged({ title, agentId: childId, occurredAt: new Date().toISOString() });
    await publish.publish({ kind: "session.stopped", reason: bound.providerSessionId });
  },
};

const publisher: AgentLifecyclePublisher = createAgentLifecyclePublisher(
  (event: AgentLifecycleEvent): void | Promise<void> => void assertAgentLifecycleEvent(event),
);
export const observed: Promise<void> = observeJsonlSession(declared, {
  publish: publisher,
  signal: { aborted: false, throwIfAborted() {} },
  onDiagnostic({ journal, offset, error }) {
    const at: number | undefined = offset;
    const role: "root" | "child" | undefined = journal?.role;
    console.log(at, role, error);
  },
});
// @ts-expect-error: a driver publishes.
observeJsonlSession(declared, {});

const mappings: AgentMapping<number>[] = [{ providerVersion: "1", value: 1 }];
export const selected: number | undefined = selectAgentMapping(mappings, "1.0.1");
const decoder = createJsonlRecordDecoder(1024);
export const records: unknown[] = decoder.push(new Uint8Array(), true);
decoder.reset();
