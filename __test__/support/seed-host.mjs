// A host that knows only the public page of agent events: its mapper is that page's, and so are the names that it uses.
import { createAgentLifecyclePublisher, createJsonlRecordDecoder } from "agent-lifecycle";

/** As on the page. */
export function mapRecord(record, session) {
  const event = record;
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
}

/** What such a host does without a driver: decodes chunks itself, resets after a rewrite, and maps one record after the other. */
export async function observeByHand(watcher, binding) {
  const events = [];
  const session = {
    binding,
    journal: { role: "root" },
    publish: createAgentLifecyclePublisher((event) => {
      events.push(event);
    }),
    signal: new AbortController().signal,
  };
  const decoder = createJsonlRecordDecoder(64 * 1024);
  for await (const { type, bytes } of watcher) {
    if (type === "replace" || type === "truncate") decoder.reset();
    for (const record of decoder.push(bytes)) await mapRecord(record, session);
  }
  return events;
}
