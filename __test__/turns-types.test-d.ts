// Types of the sequencer, the registry and semantic events: what compiles, and what must not.
import {
  type AdapterContext,
  type AgentRuntimeSemanticEvent,
  ApprovalRegistry,
  type Json,
  type OpenResult,
  TurnSequencer,
  bridgeAgentEvents,
  bridgeSemanticEvents,
} from "agent-lifecycle";

const at = "2026-05-17T12:00:00Z";
const turns = new TurnSequencer({ productSessionId: "ps_1", generation: 1, nativeTurnIds: true });
turns.push({ at, input: "begin", turnId: "t1" });
turns.push({ at, input: "accepted", turnId: "t1", nativeTurnId: "x" });
turns.push({ at, input: "observation", kind: "assistant", nativeItemId: 0, text: { delta: "x" } });
turns.push({ at, input: "observation", kind: "tool_call", scope: "sub", toolName: "Bash", args: { a: [1] } });
turns.push({ at, input: "terminal", status: "failed", usage: { input: 1 } });
// @ts-expect-error: a turn has an id.
turns.push({ at, input: "begin" });
// @ts-expect-error: an input has a time.
turns.push({ input: "close" });
// @ts-expect-error: text is a delta or cumulative.
turns.push({ at, input: "observation", kind: "assistant", text: "x" });
// @ts-expect-error: a process that ends is `exit`.
turns.push({ at, input: "observation", kind: "adapter", state: "crashed" });
// @ts-expect-error: a sequencer has a generation.
export const incomplete = new TurnSequencer({ productSessionId: "ps_1", nativeTurnIds: true });

export function shown(event: AgentRuntimeSemanticEvent): string {
  switch (event.kind) {
    case "assistant_message":
      return event.truncated ? `${event.text} ...` : event.text;
    case "turn_failed":
      return `${event.details.code} ${event.turnId}`;
    case "approval_requested": {
      // @ts-expect-error: it may belong to no turn.
      const turnId: string = event.turnId;
      return turnId + event.request.decisions.map(({ label }) => label).join();
    }
    default:
      return event.kind;
  }
}

const requests = new ApprovalRegistry({
  generation: 1,
  write(reply) {
    if (reply.ask === "approval") return void reply.decision;
    // @ts-expect-error: questions have answers.
    return void reply.decision;
  },
});
const opened: OpenResult = requests.open({
  ask: "userInput",
  nativeId: 1,
  questions: [{ id: "q", question: "?" }],
});
if (opened.status !== "refused" && "userInput" in opened) {
  void requests.respondToUserInput(opened.userInput.requestId, { q: { text: "x" } });
}
// @ts-expect-error: nobody but the registry says that a request was answered.
requests.clear({}, "responded");
// @ts-expect-error: an approval has decisions.
requests.open({ ask: "approval", nativeId: 1, kind: "command" });

const bridge = bridgeAgentEvents({ source: "a/1", sourceEpoch: "1", sessionId: "ps_1" });
const semantic = bridgeSemanticEvents({ title: "x" });
turns
  .push({ at, input: "close" })
  .flatMap((event) => semantic.push(event))
  .forEach((event) => bridge.push(event));

// What an adapter has from elsewhere may be undefined where it may be left out.
declare const context: AdapterContext;
declare const text: string | undefined;
declare const count: number | undefined;
declare const json: Json | undefined;
declare const flag: boolean | undefined;
context.terminal({
  status: "failed",
  nativeTurnId: text,
  scope: text,
  message: text,
  details: json,
  usage: undefined,
});
context.terminal({ status: "completed", usage: { input: count, contextWindow: count } });
context.observe({ kind: "tool_call", toolName: text, args: json, argsComplete: flag, nativeItemId: text });
context.observe({ kind: "tool_updated", text: undefined, partialResult: json, nativeEventId: count });
context.observe({ kind: "tool_finished", toolName: undefined, result: json, isError: flag });
context.observe({ kind: "assistant", text: undefined, done: flag, scope: text, nativeTurnId: text });
context.observe({ kind: "usage", usage: { output: count } });
context.observe({ kind: "error", code: text, message: "m", details: json });
context.requestApproval({
  nativeId: 1,
  kind: "command",
  title: text,
  detail: text,
  arguments: json,
  connection: text,
  scope: text,
  decisions: [],
});
context.requestUserInput({
  nativeId: 1,
  questions: [
    { id: "q", question: "?", header: text, options: [{ id: "a", label: "A", description: text }] },
  ],
});
context.requestUserInput({
  nativeId: 1,
  questions: [{ id: "q", question: "?", options: undefined, secret: flag }],
});
context.requestCleared({ nativeId: 1, scope: text });
turns.push({ at, input: "exit", exitCode: count, signal: text, message: text, expected: flag });
turns.push({ at, input: "abort", turnId: text });
// @ts-expect-error: what must be there must be something.
context.terminal({ status: undefined });
// @ts-expect-error: a message has a text.
context.observe({ kind: "warning", message: text });
// @ts-expect-error: a request has an id.
context.requestCleared({ nativeId: undefined });
/** Of an event a member is there with a value, or is not there. */
// @ts-expect-error: it is left out where there is none.
export const resolved: AgentRuntimeSemanticEvent = {
  kind: "approval_resolved",
  productSessionId: "s",
  generation: 1,
  sequence: 1,
  at,
  requestId: "r",
  outcome: "responded",
  decision: undefined,
};
