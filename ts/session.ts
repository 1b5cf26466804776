// Sessions as a host declares them: a binding, the journals that are read for it, and the function that maps their records.
import { validateAgentLifecycleEvent } from "./agent-event.js";
import type { AgentMapping } from "./agent-text.js";
import { LifecycleError } from "./error.js";
import type { AgentLifecyclePublisher } from "./publisher.js";

/** Child journals that a session may declare. */
const MOST_CHILD_SOURCES = 64;
/** UTF-16 code units of an identity. */
const MOST_ID_UNITS = 256;

/** Names a journal; hosts may add members. */
export interface AgentJournalHandle {
  /** 1 to 256 UTF-16 code units. */
  readonly id: string;
}

/** A process, or a file, or both: what a host has seen of a session. */
export type AgentSessionEvidence =
  | { readonly process: AgentProcessEvidence; readonly file?: AgentFileEvidence | undefined }
  | { readonly file: AgentFileEvidence; readonly process?: AgentProcessEvidence | undefined };

/** The process that runs the session. */
export interface AgentProcessEvidence {
  /** A safe integer of 1 or more. */
  readonly pid: number;
  /** When it started, as `occurredAt` of an event: it tells the process from a later one with the same pid. */
  readonly startedAt?: string | undefined;
}

/** The file that the session writes. */
export interface AgentFileEvidence {
  /** Not empty. */
  readonly path: string;
}

/** Which native session a host's session is. */
export interface AgentSessionBinding {
  /** The provider's own id of the session: 1 to 256 UTF-16 code units. */
  readonly providerSessionId: string;
  /** The provider version that the records are mapped for: 1 to 256 UTF-16 code units. */
  readonly mappingVersion: string;
  /** The session's root journal, where it has one. */
  readonly journal?: AgentJournalHandle | undefined;
  /** What the host wants to find again; nobody else looks at it. */
  readonly opaque: unknown;
}

/** What `bindAgentSession` wants. */
export interface AgentSessionBindingRequest extends Omit<AgentSessionBinding, "opaque"> {
  readonly opaque?: unknown | undefined;
  readonly evidence: AgentSessionEvidence;
}

/** A binding with what it rests on. */
export interface AgentBoundSession extends AgentSessionBinding {
  readonly evidence: AgentSessionEvidence;
}

/** New bytes of a journal. */
export interface AgentJournalChunk {
  /** `append`: more of the same. After `replace` (other content) and `truncate` (the file shrank) the journal begins anew. */
  readonly type: "append" | "replace" | "truncate";
  /** What follows; with `replace` and `truncate`, from the start of the journal. */
  readonly bytes: Uint8Array;
}

/** A followed journal: raw chunks, not records. */
export interface AgentFileWatcher extends AsyncIterable<AgentJournalChunk> {
  dispose(): void | Promise<void>;
}

/** An `AbortSignal`, or what can be asked like one. */
export interface CancellationSignal {
  readonly aborted: boolean;
  /** Throws where `aborted` is true. */
  throwIfAborted(): void;
}

/** What a record mapper is given beside the record. */
export interface AgentRecordContext {
  readonly binding: AgentSessionBinding;
  /** Whose journal the record is from. */
  readonly journal: { readonly role: "root" } | { readonly role: "child"; readonly childId: string };
  readonly publish: AgentLifecyclePublisher;
  /** Ends with the observation. */
  readonly signal: CancellationSignal;
  /** How often the journal was rewritten with another content: 0, then one more each time. */
  readonly generation: number;
}

/** Publishes what one record says. It is awaited before the next record of that journal. */
export type AgentRecordMapper = (record: unknown, session: AgentRecordContext) => void | Promise<void>;

/** A watcher, or a promise of one. Any async iterable of chunks will do; one with `dispose` is disposed. */
export type AgentJournalSource =
  AsyncIterable<AgentJournalChunk> | PromiseLike<AsyncIterable<AgentJournalChunk>>;

/** The journal of a sub-agent. */
export interface AgentChildSource {
  /** 1 to 256 UTF-16 code units, unique within the session. */
  readonly childId: string;
  readonly journal: AgentJournalHandle;
  readonly source: AgentJournalSource;
}

/** What `jsonlSession` wants. */
export interface AgentJsonlSessionOptions {
  readonly binding: AgentSessionBinding;
  /** The root journal. */
  readonly source: AgentJournalSource;
  readonly mapRecord: AgentRecordMapper;
  /** Journals of sub-agents that are known already, at most 64. */
  readonly childSources?: readonly AgentChildSource[] | undefined;
  /** Journals of sub-agents that become known. */
  readonly childSourceDiscovery?:
    AsyncIterable<AgentChildSource> | PromiseLike<AsyncIterable<AgentChildSource>> | undefined;
}

/** A session whose journals are JSON Lines. */
export interface AgentJsonlSession extends AgentJsonlSessionOptions {
  readonly state: "bound";
}

/** How the records of one program are mapped. Further members will come with what uses them; a member that nothing uses is refused. */
export interface AgentProvider {
  /** Lower-case letters, digits and hyphens, 1 to 64, the first no hyphen: it begins the names of sources. */
  readonly name: string;
  /** At least one. `selectAgentMapping` chooses by the version of the program. */
  readonly mappings: readonly AgentMapping<AgentRecordMapper>[];
}

/**
 * A frozen copy of the request: the proof that a host's session is that native session. `opaque` is kept as it is, not copied.
 *
 * @throws {LifecycleError} `invalid_binding` with the path of what is missing or wrong; without evidence nothing is bound.
 */
export function bindAgentSession(request: AgentSessionBindingRequest): AgentBoundSession {
  const refuse = refuser("invalid_binding");
  if (!isObject(request)) return refuse("$", "must be an object");
  const { providerSessionId, mappingVersion, journal, opaque, evidence } = request;
  if (!isId(providerSessionId)) refuse("$.providerSessionId", ID);
  if (!isId(mappingVersion)) refuse("$.mappingVersion", ID);
  if (journal !== undefined && !isHandle(journal)) refuse("$.journal", HANDLE);
  if (!isObject(evidence)) return refuse("$.evidence", EVIDENCE);
  const { process, file } = evidence;
  if (process === undefined && file === undefined) refuse("$.evidence", EVIDENCE);
  if (process !== undefined) {
    if (!isObject(process) || !Number.isSafeInteger(process.pid) || process.pid < 1) {
      refuse("$.evidence.process.pid", "must be a safe integer of 1 or more");
    }
    if (process.startedAt !== undefined && !isDateTime(process.startedAt)) {
      refuse(
        "$.evidence.process.startedAt",
        "must be an ISO date-time with seconds and Z or an offset, such as 2026-05-17T22:29:21Z",
      );
    }
  }
  if (file !== undefined && !(isObject(file) && typeof file.path === "string" && file.path !== "")) {
    refuse("$.evidence.file.path", "must be text that is not empty");
  }
  return Object.freeze({
    providerSessionId,
    mappingVersion,
    ...(journal !== undefined && { journal: Object.freeze({ ...journal, id: journal.id }) }),
    opaque,
    evidence: Object.freeze({
      // Only what was checked: the whole of Node's own `process` would bring the environment along.
      ...(process !== undefined && { process: Object.freeze(processOf(process)) }),
      ...(file !== undefined && { file: Object.freeze({ path: file.path }) }),
    }) as AgentSessionEvidence,
  });
}

function processOf({ pid, startedAt }: { pid: number; startedAt?: string | undefined }) {
  return startedAt === undefined ? { pid } : { pid, startedAt };
}

/**
 * The session as a driver takes it. Nothing is read or started.
 *
 * @throws {LifecycleError} `invalid_session` with the path of a missing binding, source or mapRecord, of a child source that cannot be read, whose childId is not unique or
 *   whose journal has no id, of the 65th child source, or of a discovery that is neither async iterable nor a promise.
 */
export function jsonlSession(options: AgentJsonlSessionOptions): AgentJsonlSession {
  const refuse = refuser("invalid_session");
  if (!isObject(options)) return refuse("$", "must be an object");
  const { binding, source, mapRecord, childSources = [], childSourceDiscovery } = options;
  if (!isObject(binding)) refuse("$.binding", "must be a binding, as bindAgentSession makes one");
  if (!isReadable(source)) refuse("$.source", READABLE);
  if (typeof mapRecord !== "function") refuse("$.mapRecord", "must be a function");
  if (!Array.isArray(childSources) || childSources.length > MOST_CHILD_SOURCES) {
    refuse("$.childSources", `must be a list of at most ${MOST_CHILD_SOURCES}`);
  }
  const seen = new Set<string>();
  for (const [place, child] of childSources.entries()) {
    const path = `$.childSources[${place}]`;
    const fault = faultOf(child);
    if (fault !== undefined) refuse(`${path}${fault.member}`, fault.message);
    if (seen.has(child.childId)) refuse(`${path}.childId`, "must be unique within the session");
    seen.add(child.childId);
  }
  if (childSourceDiscovery !== undefined && !isReadable(childSourceDiscovery)) {
    refuse("$.childSourceDiscovery", READABLE);
  }
  return { state: "bound", ...options };
}

/** What is wrong with a child source that was discovered. */
export function childSourceFault(child: unknown): string | undefined {
  const fault = faultOf(child);
  return fault && `a discovered child${fault.member} ${fault.message}`;
}

function faultOf(child: unknown): { member: string; message: string } | undefined {
  if (!isObject(child)) return { member: "", message: "must be an object" };
  const { childId, journal, source } = child as Partial<AgentChildSource>;
  if (!isId(childId)) return { member: ".childId", message: ID };
  if (!isHandle(journal)) return { member: ".journal", message: HANDLE };
  return isReadable(source) ? undefined : { member: ".source", message: READABLE };
}

/**
 * The same provider, checked.
 *
 * @throws {LifecycleError} `invalid_provider` with the path of what is missing, wrong or not known.
 */
export function defineAgentProvider<P extends AgentProvider>(provider: P): P {
  const refuse = refuser("invalid_provider");
  if (!isObject(provider)) return refuse("$", "must be an object");
  const { name, mappings, ...others } = provider;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) refuse(`$.${unknown}`, "is no member of a provider");
  if (typeof name !== "string" || !/^[a-z0-9][a-z0-9-]{0,63}$/.test(name)) {
    refuse("$.name", "must be 1 to 64 lower-case letters, digits and hyphens, the first no hyphen");
  }
  if (!Array.isArray(mappings) || mappings.length === 0)
    refuse("$.mappings", "must be a list of at least one");
  for (const [place, mapping] of mappings.entries()) {
    const path = `$.mappings[${place}]`;
    if (!isObject(mapping)) refuse(path, "must be an object");
    if (typeof mapping.providerVersion !== "string" || !/^\d/.test(mapping.providerVersion)) {
      refuse(`${path}.providerVersion`, "must be text that begins with an integer");
    }
    if (typeof mapping.value !== "function") refuse(`${path}.value`, "must be a function");
  }
  return provider;
}

const ID = `must be text of 1 to ${MOST_ID_UNITS} UTF-16 code units without lone surrogates`;
const HANDLE = `must have an id, which ${ID}`;
const READABLE = "must be async iterable or a promise";
const EVIDENCE = "must name a process or a file";

const refuser =
  (code: string) =>
  (path: string, message: string): never => {
    throw new LifecycleError(code, `${path}: ${message}`, { path });
  };

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const isId = (value: unknown) =>
  typeof value === "string" && value.length >= 1 && value.length <= MOST_ID_UNITS && !/\p{Cs}/u.test(value);

const isHandle = (value: unknown) => isObject(value) && isId((value as Partial<AgentJournalHandle>).id);

function isReadable(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { [Symbol.asyncIterator]: iterator, then } = value as Record<PropertyKey, unknown>;
  return typeof iterator === "function" || typeof then === "function";
}

/** By the rule for `occurredAt`. */
const isDateTime = (value: unknown) =>
  validateAgentLifecycleEvent({ kind: "session.stopped", occurredAt: value }).ok;
