// The publisher: checks an agent event and hands it to the host's sink.
import {
  type AgentDoneEvent,
  type AgentExitedEvent,
  type AgentLifecycleEvent,
  type AgentLifecycleEventKind,
  type AgentMetadataEvent,
  type AgentTextCut,
  type SessionStartedEvent,
  type SessionStoppedEvent,
  type SubagentDoneEvent,
  type SubagentStartedEvent,
  type ToolFinishedEvent,
  type ToolStartedEvent,
  type TurnStartedEvent,
  type WaitFinishedEvent,
  type WaitStartedEvent,
  assertAgentLifecycleEvent,
  checkAgentEvent,
  refuseIssues,
} from "./agent-event.js";
import { optionsArgument } from "./arguments.js";
import { LifecycleError } from "./error.js";

/** Takes a valid event; what it returns, the publisher returns. */
export type AgentLifecycleSink = (event: AgentLifecycleEvent) => void | Promise<void>;

export interface AgentLifecyclePublisherOptions {
  /**
   * Cuts display text to its limit, on a character boundary, instead of refusing the event; false by default. Identities are never
   * cut. A cut event reaches the sink as a copy.
   */
  fit?: boolean | undefined;
}

/** An event without its kind, which the helper knows. */
type Said<Event extends AgentLifecycleEvent> = Omit<Event, "kind">;

/**
 * Publishes agent events. Every method returns exactly what the sink returned, and throws a `LifecycleError` with all issues
 * before the sink is called where the event is not valid. The methods work detached from the object.
 */
export interface AgentLifecyclePublisher {
  /** Publishes an event of any kind; the sink gets the same object. */
  publish(event: AgentLifecycleEvent): void | Promise<void>;
  /** Publishes `session.started`. */
  sessionStarted(event?: Said<SessionStartedEvent>): void | Promise<void>;
  /** Publishes `agent.metadata`. */
  metadataChanged(event?: Said<AgentMetadataEvent>): void | Promise<void>;
  /** Publishes `turn.started`. */
  turnStarted(event: Said<TurnStartedEvent>): void | Promise<void>;
  /** Publishes `tool.started`. */
  toolStarted(event: Said<ToolStartedEvent>): void | Promise<void>;
  /** Publishes `tool.finished`. */
  toolFinished(event: Said<ToolFinishedEvent>): void | Promise<void>;
  /** Publishes `wait.started`. */
  waitStarted(event: Said<WaitStartedEvent>): void | Promise<void>;
  /** Publishes `wait.finished`. */
  waitFinished(event: Said<WaitFinishedEvent>): void | Promise<void>;
  /** Publishes `agent.done`. */
  done(event: Said<AgentDoneEvent>): void | Promise<void>;
  /** Publishes `agent.exited`. */
  exited(event?: Said<AgentExitedEvent>): void | Promise<void>;
  /** Publishes `session.stopped`. */
  sessionStopped(event?: Said<SessionStoppedEvent>): void | Promise<void>;
  /** Publishes `subagent.started`. */
  subagentStarted(event: Said<SubagentStartedEvent>): void | Promise<void>;
  /** Publishes `subagent.done`. */
  subagentDone(event: Said<SubagentDoneEvent>): void | Promise<void>;
}

/**
 * A publisher that checks each event and gives it to `sink`.
 *
 * @throws {LifecycleError} `invalid_argument` where `sink` is no function, `invalid_option` where `fit` is no boolean.
 */
export function createAgentLifecyclePublisher(
  sink: AgentLifecycleSink,
  options?: AgentLifecyclePublisherOptions,
): AgentLifecyclePublisher {
  if (typeof sink !== "function") {
    throw new LifecycleError("invalid_argument", "sink must be a function", { path: "sink" });
  }
  const { fit = false } = optionsArgument(options, "options", ["fit"]);
  if (typeof fit !== "boolean") {
    throw new LifecycleError("invalid_option", "fit must be true or false", { path: "fit" });
  }
  const publish = (event: AgentLifecycleEvent) =>
    sink(fit ? fitted(event) : assertAgentLifecycleEvent(event));
  const helper = (kind: AgentLifecycleEventKind) => (event?: object) => publish(ofKind(kind, event));
  return {
    publish,
    sessionStarted: helper("session.started"),
    metadataChanged: helper("agent.metadata"),
    turnStarted: helper("turn.started"),
    toolStarted: helper("tool.started"),
    toolFinished: helper("tool.finished"),
    waitStarted: helper("wait.started"),
    waitFinished: helper("wait.finished"),
    done: helper("agent.done"),
    exited: helper("agent.exited"),
    sessionStopped: helper("session.stopped"),
    subagentStarted: helper("subagent.started"),
    subagentDone: helper("subagent.done"),
  };
}

/** What a helper was given, as an event of its kind, which is yet to be checked. */
function ofKind(kind: AgentLifecycleEventKind, given: object = {}): AgentLifecycleEvent {
  // A promise, a map or a date has no members to publish: taking it for an empty event would say what nobody said.
  if (typeof given !== "object" || given === null || !isPlain(given)) {
    refuseIssues([{ path: "$", code: "invalid_type", message: "must be a plain object" }]);
  }
  const event = { kind, ...copyOf(given) };
  event.kind = kind;
  return event as AgentLifecycleEvent;
}

/** Whether an object is a record of members, of this realm or another, and no built-in thing. */
function isPlain(given: object): boolean {
  try {
    return Object.prototype.toString.call(given) === "[object Object]";
  } catch {
    return false;
  }
}

/** The own members of an object. Spreading keeps one that is named __proto__ a member. */
function copyOf(given: object): Record<string, unknown> {
  try {
    return { ...given };
  } catch (cause) {
    const issue = { path: "$", code: "invalid_type", message: "cannot be read" };
    throw new LifecycleError(issue.code, `$: ${issue.message}`, { path: "$", issues: [issue], cause });
  }
}

/** The event, its display texts cut to their limits. */
function fitted(event: AgentLifecycleEvent): AgentLifecycleEvent {
  const { issues, cuts } = checkAgentEvent(event, true);
  refuseIssues(issues);
  // A getter may have given another text by now, so the copy is checked again.
  return cuts.length === 0 ? event : assertAgentLifecycleEvent(withCuts(event, cuts));
}

function withCuts(event: object, cuts: readonly AgentTextCut[]): object {
  const copy = copyOf(event);
  for (const { in: parent, member, units } of cuts) {
    if (parent === undefined) copy[member] = cut(copy[member], units);
    else {
      const nested = copyOf(Object(copy[parent]));
      copy[parent] = { ...nested, [member]: cut(nested[member], units) };
    }
  }
  return copy;
}

const cut = (text: unknown, units: number) => (typeof text === "string" ? text.slice(0, units) : text);
