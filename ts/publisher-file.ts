/// <reference lib="esnext.disposable" preserve="true" />
// A publisher for one's own agent: agent events go through the bridge into a journal in the state directory.
import { randomBytes, randomUUID } from "node:crypto";
import type { AgentLifecycleEvent } from "./agent-event.js";
import { numberOption, optionalText, optionsArgument, textArgument } from "./arguments.js";
import { bridgeAgentEvents } from "./bridge.js";
import type { LifecycleEvent, LifecycleEventInput } from "./contract.js";
import { LifecycleError } from "./error.js";
import { callNative } from "./native.js";
import { type AgentLifecyclePublisher, createAgentLifecyclePublisher } from "./publisher.js";
import { PublishedJournal } from "./published-journal.js";

export interface OpenPublisherOptions {
  /** What the agent program is called. Made safe for a source and a file: `[A-Za-z0-9._-]`, at most 64 characters. */
  agent: string;
  /** The version of the agent program. */
  version?: string | undefined;
  /** Where the agent works, such as `process.cwd()`. */
  cwd?: string | undefined;
  /** Milliseconds between signs of life; none by default. Clamped to 250..3,600,000. */
  heartbeatMs?: number | undefined;
  /**
   * Is told what went wrong; nothing is ever thrown into the agent. The same code at most once a minute; `unreported` counts those in
   * between. What it throws is dropped.
   */
  onError: (error: Error, unreported: number) => void;
}

/** The methods of a publisher, which here return nothing. */
type Published = {
  [Method in keyof AgentLifecyclePublisher]: (...said: Parameters<AgentLifecyclePublisher[Method]>) => void;
};

/** A publisher that writes a journal. Its methods never throw. */
export interface AgentPublisher extends Published {
  /** The source of the events: `<agent>/<instance>`. */
  readonly source: string;
  /** Stops the heartbeats and settles when what was published is written, or is known to be lost. Never rejects. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const OPTIONS = ["agent", "version", "cwd", "heartbeatMs", "onError"] as const;
const HEARTBEAT_MS = { least: 250, most: 3_600_000 };
const REPORT_EVERY_MS = 60_000;
/** Codes of errors that are told apart. */
const CODES = 64;

/**
 * Opens a publisher for one session of one's own agent. Its journal is in the state directory, where every monitor of this user
 * looks. Written lines survive the end of the process, not a power cut (durability `os`).
 *
 * @throws {LifecycleError} `invalid_argument`, `invalid_option` for options that there are not or of a wrong type. Nothing else throws, now or later.
 */
export function openPublisher(options: OpenPublisherOptions): AgentPublisher {
  const given = optionsArgument(options, "options", OPTIONS);
  const agent = safeName(textArgument(given.agent, "agent"));
  const version = optionalText(given.version, "version");
  const cwd = optionalText(given.cwd, "cwd");
  const every = heartbeat(numberOption(given.heartbeatMs, "heartbeatMs"));
  const { onError } = given;
  if (typeof onError !== "function")
    throw new LifecycleError("invalid_argument", "onError must be a function", { path: "onError" });
  const report = reporter(onError);
  const instance = `${Date.now().toString(36)}-${process.pid}-${randomBytes(4).toString("hex")}`;
  const identity = { source: `${agent}/${instance}`, sourceEpoch: randomUUID(), sessionId: instance };
  const facts = { ...(version && { agentVersion: version }), ...(cwd && { cwd }) };
  try {
    return start({ identity, agent, facts, every, report });
  } catch (error) {
    // Without the addon there is nothing to publish with, and the agent goes on all the same.
    report(error);
    return publisherOf(
      identity.source,
      () => undefined,
      report,
      async () => undefined,
    );
  }
}

interface Opened {
  identity: Identity;
  agent: string;
  facts: { agentVersion?: string; cwd?: string };
  every: number | undefined;
  report: Report;
}

interface Identity {
  source: string;
  sourceEpoch: string;
  sessionId: string;
}

type Report = (error: unknown) => void;

function start({ identity, agent, facts, every, report }: Opened): AgentPublisher {
  const bridge = bridgeAgentEvents({ ...identity, provider: agent, ...facts });
  const name = `${identity.source.replace("/", "-")}.jsonl`;
  const journal = new PublishedJournal(name, report, (lost) => note(identity, "lost", { lost }));
  journal.add([note(identity, "owner", { owner: ownIdentity() })]);
  let root: LifecycleEvent | undefined;
  let isOver = false;
  let beats = 0;
  const timer =
    every === undefined
      ? undefined
      : setInterval(() => {
          // What waits to be written is a better sign of life.
          if (root === undefined || isOver || journal.isBusy()) return;
          beats += 1;
          journal.add([beat(root, beats)]);
        }, every).unref();
  const sink = (event: AgentLifecycleEvent): void => {
    if (!journal.accepts()) return;
    const events = bridge.push(event);
    root = events.findLast(({ lineage }) => lineage.parentChildId === undefined) ?? root;
    isOver = isEnd(event) || (isOver && !isStart(event));
    journal.add(events);
  };
  return publisherOf(identity.source, sink, report, async () => {
    clearInterval(timer);
    await journal.close();
  });
}

/** Whether the session's own agent has ended: then it gives no sign of life, whoever publishes for it lives on. */
const isEnd = (event: AgentLifecycleEvent): boolean =>
  event.kind === "session.stopped" || (event.kind === "agent.exited" && event.agentId === undefined);

const isStart = (event: AgentLifecycleEvent): boolean =>
  event.kind === "session.started" || (event.kind === "turn.started" && event.agentId === undefined);

/** A sign of life of the session's own agent. */
function beat(
  { source, sourceEpoch, childId, lineage }: LifecycleEvent,
  number: number,
): LifecycleEventInput {
  return {
    schemaVersion: 1,
    eventId: `heartbeat-${number}`,
    source,
    sourceEpoch,
    childId,
    lineage,
    kind: "heartbeat",
    observedAt: new Date().toISOString(),
    capabilities: { heartbeat: "known" },
  };
}

/** A note about the source. */
function note(
  { source, sourceEpoch }: Identity,
  what: string,
  details: Record<string, unknown>,
): LifecycleEventInput {
  return {
    schemaVersion: 1,
    eventId: what === "owner" ? what : `${what}-${randomUUID()}`,
    source,
    sourceEpoch,
    childId: "@source",
    lineage: { rootChildId: "@source", attempt: 1, external: false },
    kind: "diagnostic",
    observedAt: new Date().toISOString(),
    details,
  } as LifecycleEventInput;
}

const ownIdentity = (): unknown => JSON.parse(callNative((addon) => addon.ownIdentity()));

function publisherOf(
  source: string,
  sink: (event: AgentLifecycleEvent) => void,
  report: Report,
  end: () => Promise<void>,
): AgentPublisher {
  const methods = Object.entries(createAgentLifecyclePublisher(sink, { fit: true })).map(
    ([name, method]: [string, (event: never) => void]) => {
      const careful = (event: never): void => {
        try {
          method(event);
        } catch (error) {
          report(error);
        }
      };
      return [name, careful] as const;
    },
  );
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= end().catch(report));
  const own = { source, close, [Symbol.asyncDispose]: close };
  return Object.assign(Object.fromEntries(methods) as unknown as Published, own);
}

/** Tells of errors: each code once a minute. */
function reporter(onError: OpenPublisherOptions["onError"]): Report {
  const told = new Map<string, { at: number; unreported: number }>();
  return (thrown) => {
    const error = thrown instanceof Error ? thrown : new Error("something that is no error was thrown");
    const said = String((error as { code?: unknown }).code ?? error.name);
    const code = told.has(said) || told.size < CODES ? said : "other";
    const before = told.get(code);
    const now = performance.now();
    if (before !== undefined && now - before.at < REPORT_EVERY_MS) {
      before.unreported += 1;
      return;
    }
    told.set(code, { at: now, unreported: 0 });
    try {
      const answer: unknown = onError(error, before?.unreported ?? 0);
      if (answer instanceof Promise) answer.catch(() => undefined);
    } catch {
      // The agent's own fault, and no reason to stop the agent.
    }
  };
}

function heartbeat(every: number | undefined): number | undefined {
  if (every === undefined) return undefined;
  if (Number.isNaN(every))
    throw new LifecycleError("invalid_option", "heartbeatMs must be a number, not NaN", {
      path: "heartbeatMs",
    });
  return Math.min(Math.max(every, HEARTBEAT_MS.least), HEARTBEAT_MS.most);
}

/** The name as it can stand in a source and in a file. */
function safeName(agent: string): string {
  const name = agent.replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^[.-]+|[.-]+$/g, "");
  return name.slice(0, 64) || "agent";
}
