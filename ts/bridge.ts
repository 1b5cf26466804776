// Agent events to schema-v1 events: the one way into the projection for a host's own agents and mappings.
import {
  type AgentLifecycleEvent,
  assertAgentLifecycleEvent,
  validateAgentLifecycleEvent,
} from "./agent-event.js";
import {
  booleanOption,
  numberOption,
  optionalText,
  optionsArgument,
  textArgument,
  set,
} from "./arguments.js";
import type { LifecycleEvent } from "./contract.js";
import { LifecycleError } from "./error.js";
import { type Native, callNative } from "./native.js";
import type { LifecycleProjector, LifecycleRecord } from "./projector.js";

/** How much of prompts and texts goes into events: nothing, titles and descriptions, or everything. */
export type ContentLevel = "none" | "titles" | "full";

export interface AgentBridgeOptions {
  /** The source of the events, such as `my-agent/1`. */
  source: string;
  /** Their epoch; a new one wherever the agent's ids begin anew. */
  sourceEpoch: string;
  /** The session: the root child's id. */
  sessionId: string;
  /** What kind of agent it is, for the rows; by default the source up to its first `/`. */
  provider?: string | undefined;
  /** `titles` by default. */
  content?: ContentLevel | undefined;
  /** Whether somebody else started the session: then it is adopted when it is first seen. False by default. */
  external?: boolean | undefined;
  /** Whether everything from its start is told; true by default. */
  history?: boolean | undefined;
  /**
   * A projection that knows what an earlier process said of this source, such as one that was replayed from a journal. With the first
   * event the source enters `sourceEpoch`, which must be new, and the session begins its next attempt, `<id>#<n+1>`. Whoever resumes
   * says that the earlier process is gone: a life that has not ended gets its exit. Without anything known it changes nothing.
   */
  resume?: Pick<LifecycleProjector, "epoch" | "list"> | undefined;
  /** The version of the agent program, for the row of the session. */
  agentVersion?: string | undefined;
  /** Where the agent works, for the row of the session. */
  cwd?: string | undefined;
}

/** Where an agent event comes from. The same record gives the same event ids, so a second reading changes nothing. */
export interface AgentEventContext {
  /** When it happened; without it and without `occurredAt`, now. */
  at?: string | undefined;
  /** The turn that it belongs to; without it, the one opened last. */
  turnId?: string | undefined;
  /** The id of its record, unique in the session. */
  uuid?: string | undefined;
  /** Without `uuid`: its journal and the offset of its line there. Without both, the event is said once. */
  journal?: string | undefined;
  offset?: number | undefined;
  /** Its place among the events of its record, from 0. */
  index?: number | undefined;
}

export interface AgentBridge {
  /**
   * The schema-v1 events that an agent event makes, in order: only legal edges, missing steps inserted.
   *
   * @throws {LifecycleError} with all issues where the event is not valid.
   */
  push(event: AgentLifecycleEvent, context?: AgentEventContext): LifecycleEvent[];

  /**
   * Says how a child is where no event of this bridge made it so: an authority set its state (`reconcile`) or it was lost
   * (`reconciliationFailed`). What is pushed next goes on from there, over legal edges; after an end, a `turn.started` of the session,
   * or a `subagent.started`, begins the next attempt. Give it the `record` of each result of these calls.
   *
   * @returns whether the record is of the present life of a child of this session, which has not ended by an event of this bridge;
   *   else it changes nothing.
   * @throws {LifecycleError} `invalid_argument`, `invalid_timestamp`.
   */
  corrected(record: CorrectedRecord): boolean;
}

/** What a bridge needs of a record. */
export type CorrectedRecord = Pick<
  LifecycleRecord,
  "source" | "childId" | "state" | "waitingReason" | "stateSince"
>;

/**
 * A bridge for one session. A turn's end never ends a record: `agent.done` of the session's own agent gives `waiting` for a prompt.
 *
 * @throws {LifecycleError} `invalid_id`, `invalid_option`.
 */
export function bridgeAgentEvents(options: AgentBridgeOptions): AgentBridge {
  const given = optionsArgument(options, "options", OPTIONS);
  const source = textArgument(given.source, "source");
  const sourceEpoch = textArgument(given.sourceEpoch, "sourceEpoch");
  const sessionId = textArgument(given.sessionId, "sessionId");
  const former = given.resume && formerOf(given.resume, source, sessionId);
  if (former?.epoch === sourceEpoch) {
    const message =
      "sourceEpoch must be a new one where a session is resumed: the source is in this one already";
    throw new LifecycleError("invalid_option", message, { path: "sourceEpoch" });
  }
  const native = {
    source,
    sourceEpoch,
    sessionId,
    ...set("former", former),
    provider: optionalText(given.provider, "provider") ?? source.split("/", 1)[0] ?? source,
    content: optionalText(given.content, "content") ?? "titles",
    external: booleanOption(given.external, "external") ?? false,
    history: booleanOption(given.history, "history") ?? true,
    ...set("agentVersion", optionalText(given.agentVersion, "agentVersion")),
    ...set("cwd", optionalText(given.cwd, "cwd")),
  };
  const bridge = callNative((addon) => new addon.NativeBridge(native));
  return {
    push(event, context) {
      const { occurredAt } = assertAgentLifecycleEvent(event);
      const { at, turnId, uuid, journal, offset, index } = optionsArgument(context, "context", CONTEXT);
      const time = utc(optionalText(at, "at") ?? occurredAt);
      const origin = {
        ...set("uuid", optionalText(uuid, "uuid")),
        ...set("journal", optionalText(journal, "journal")),
        ...set("offset", numberOption(offset, "offset")),
        ...set("index", numberOption(index, "index")),
      };
      const turn = optionalText(turnId, "turnId");
      const text = callNative(() => bridge.push(JSON.stringify(event), time, turn, origin));
      return JSON.parse(text) as LifecycleEvent[];
    },
    corrected(record) {
      const members: Partial<CorrectedRecord> = optionsArgument(record, "record");
      const text = (member: keyof CorrectedRecord) => textArgument(members[member], `record.${member}`);
      const reason = optionalText(members.waitingReason, "record.waitingReason");
      const names: [string, string, string] = [text("source"), text("childId"), text("state")];
      const since = text("stateSince");
      return callNative(() => bridge.corrected(...names, reason, since));
    },
  };
}

const OPTIONS = [
  "source",
  "sourceEpoch",
  "sessionId",
  "provider",
  "content",
  "external",
  "history",
  "resume",
  "agentVersion",
  "cwd",
] as const;
const CONTEXT = ["at", "turnId", "uuid", "journal", "offset", "index"] as const;

/** What a projection knows of a session: the epoch of its source, and its newest life. */
function formerOf(
  projection: Pick<LifecycleProjector, "epoch" | "list">,
  source: string,
  sessionId: string,
): Native.NativeFormer | undefined {
  const epoch = projection.epoch(source);
  if (epoch === undefined) return undefined;
  const lives = projection
    .list()
    .filter((row) => row.source === source)
    .filter(({ childId, attempt }) => childId === sessionId || childId === `${sessionId}#${attempt}`)
    .toSorted((a, b) => b.attempt - a.attempt);
  const [newest] = lives;
  if (newest === undefined) return { epoch };
  const { attempt, state, turn } = newest;
  return {
    epoch,
    attempt,
    state,
    ...set("openTurn", turn?.open ? turn.turnId : undefined),
    ...set("outcome", turn?.outcome),
  };
}

/** A date-time as schema-v1 events have it: UTC. */
function utc(time: string | undefined): string {
  if (time === undefined) return new Date().toISOString();
  if (/(?:Z|\+00:00)$/.test(time)) return time;
  // By the rule for `occurredAt`.
  if (!validateAgentLifecycleEvent({ kind: "session.stopped", occurredAt: time }).ok) {
    const message = "at must be an ISO date-time, such as 2026-05-17T22:29:21Z";
    throw new LifecycleError("invalid_timestamp", message, { path: "at" });
  }
  return new Date(time).toISOString();
}
