/// <reference lib="esnext.disposable" preserve="true" />
// Agents that work now: rows, and what changes of them, in batches.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import {
  booleanOption,
  functionOption,
  iterableArgument,
  numberOption,
  optionalText,
  optionsArgument,
  signalOption,
  textArgument,
  set,
} from "./arguments.js";
import { authority } from "./authority.js";
import { type AgentBridge, type AgentBridgeOptions, type ContentLevel, bridgeAgentEvents } from "./bridge.js";
import { bytesOf } from "./bytes.js";
import { guarded, reporter, safeText } from "./callbacks.js";
import { lifetimeOf } from "./cancellation.js";
import type { LifecycleEventInput } from "./contract.js";
import { LifecycleError } from "./error.js";
import type { Explanation } from "./explanation.js";
import {
  type HermesCourt,
  type HermesMonitorSource,
  type HermesObservation,
  hermesSource,
  observeHermes,
} from "./hermes-source.js";
import { type Native, callNative } from "./native.js";
import { observeJsonlSession } from "./observe.js";
import { isReadable, readAll } from "./read-all.js";
import { type ChangeSet, type Row, type RowTree, treeOf } from "./row.js";
import { type AgentJsonlSession, type CancellationSignal, jsonlSession } from "./session.js";
import { stateDirectory } from "./state-directory.js";

/** What a monitor watches. */
export type MonitorSource =
  /** The agents of this machine's user: every provider's default places, their processes, publishers and hooks. */
  | "default"
  /** A file, or a folder whose journals are found by their content. */
  | string
  /** Bytes that come from elsewhere: schema-v1 events or an agent's own journal, such as one of another machine. */
  | { readonly type: "stream"; readonly readable: AsyncIterable<Uint8Array | string>; readonly host?: string }
  /** A session with a mapper of the host's own, and how its events are bridged. */
  | { readonly type: "session"; readonly session: AgentJsonlSession; readonly bridge: AgentBridgeOptions }
  /** A Hermes that the host is connected to: its status on a schedule, and its events. */
  | HermesMonitorSource;

/** Something is not as it should be; the monitor goes on. */
export interface MonitorDiagnostic {
  readonly code: string;
  /** The file or folder, where there is one. */
  readonly path: string | null;
  readonly message: string;
}

/** A question that only an authority can answer. */
export interface MonitorQuestion {
  readonly source: string;
  readonly childId: string;
  /** Why it is asked, such as `silence`. */
  readonly reason: string;
  readonly deadlineAt: string;
}

/**
 * What an authority says of a child: `gone`; `there`, which evidence of its own must show; anything else is no answer. `gone` is
 * drawn at the deadline, and evidence that comes before cancels it.
 */
export type MonitorAnswer = "gone" | "there" | "unknown";

export interface MonitorOptions {
  /** `"default"`, or a list of sources. */
  readonly sources?: "default" | Iterable<MonitorSource> | undefined;
  /** Files that were not written for this long are hidden until they are, unless their agent's process lives; 86,400,000 (a day) by default. */
  readonly activeWithinMs?: number | undefined;
  /** How much of prompts and texts reaches rows and the journal; `titles` by default. */
  readonly content?: ContentLevel | undefined;
  /** A journal of the monitor's own: after a restart it goes on from there, and what was lost stays lost. */
  readonly journal?: string | undefined;
  /** Milliseconds without evidence after which a child is stale; 120,000 by default. */
  readonly staleAfterMs?: number | undefined;
  /** Milliseconds that an authority has to answer; 30,000 by default. */
  readonly reconcileDeadlineMs?: number | undefined;
  /** Gets each batch of changes. The first one has every row and `reset: true`. */
  readonly onChange?: ((changes: ChangeSet) => void | Promise<void>) | undefined;
  /** Gets what is not as it should be; without it the first of each code is a process warning. */
  readonly onDiagnostic?: ((diagnostic: MonitorDiagnostic) => void | Promise<void>) | undefined;
  /**
   * Asks the host's authority about a child. An answer after the deadline is none. A question without an answer is asked again after
   * 30 s, then ever more seldom, at least each 10 min. Without this, rows say that there is nobody to ask.
   */
  readonly reconcile?: ((question: MonitorQuestion) => MonitorAnswer | Promise<MonitorAnswer>) | undefined;
  /** Closes the monitor. */
  readonly signal?: CancellationSignal | undefined;
  /** Whether an open monitor keeps the script alive; false by default. */
  readonly ref?: boolean | undefined;
  /** The home folder that the default places are in; the user's by default. */
  readonly home?: string | undefined;
}

/** An open monitor. */
export interface Monitor extends AsyncDisposable {
  /** All rows in tree order. */
  rows(): Row[];
  /** All rows as a tree. */
  tree(): RowTree[];
  /** What stands behind the state of the row with this key. */
  explain(key: string): Explanation | undefined;
  /** The rows that changed since a cursor; everything, with `reset`, without one or with one that is too old. */
  changesSince(cursor?: string): ChangeSet;
  /** Files that are followed and were not written for long. */
  readonly hidden: number;
  /** Applies schema-v1 events of the host's own. */
  apply(events: Iterable<LifecycleEventInput>): { [status: string]: number };
  /** Drops children that ended before a time; how many. */
  forget(what: { terminalBefore: string }): number;
  /** Ends it, within two seconds. More than once is as good as once. */
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;
/** How long an answer to the first question keeps the script alive. */
const PATIENCE_MS = 1000;
const OPTIONS = [
  "sources",
  "activeWithinMs",
  "content",
  "journal",
  "staleAfterMs",
  "reconcileDeadlineMs",
  "onChange",
  "onDiagnostic",
  "reconcile",
  "signal",
  "ref",
  "home",
] as const;

type Notice =
  | { kind: "changes"; changes: ChangeSet }
  | { kind: "questions"; questions: MonitorQuestion[] }
  | ({ kind: "diagnostic" } & MonitorDiagnostic)
  | { kind: "ready" };

/**
 * Opens a monitor, and resolves when what is there now was read. It never writes to an agent's folders, and never concludes `lost`
 * but from an authority or a provably dead owner.
 *
 * @throws {LifecycleError} `invalid_option`, `invalid_argument`, or the code of the journal's fault, as a rejection.
 */
export async function openMonitor(options?: MonitorOptions): Promise<Monitor> {
  const given = optionsArgument(options, "options", OPTIONS);
  const onChange = functionOption(given.onChange, "onChange");
  const onDiagnostic = functionOption(given.onDiagnostic, "onDiagnostic");
  const reconcile = functionOption(given.reconcile, "reconcile");
  const staysAlive = booleanOption(given.ref, "ref") ?? false;
  const signal = signalOption(given.signal, "signal");
  const { isDefault, paths, streams, sessions, hermes } = sourcesOf(given.sources);
  const content = optionalText(given.content, "content") as ContentLevel | undefined;
  signal?.throwIfAborted();
  const report = reporter(onDiagnostic);
  const scanned = new EventTarget();
  const isReady = new Promise((resolve) => scanned.addEventListener("ready", resolve, { once: true }));
  const home = optionalText(given.home, "home") ?? homedir();
  const nativeOptions: Native.NativeMonitorOptions = {
    defaultPlaces: isDefault,
    paths,
    home,
    activeWithinMs: numberOption(given.activeWithinMs, "activeWithinMs") ?? DAY_MS,
    content: content ?? "titles",
    asks: reconcile !== undefined,
    authorities: hermes.map(({ source }) => source),
    projector: {
      ...set("staleAfterMs", numberOption(given.staleAfterMs, "staleAfterMs")),
      ...set("reconcileDeadlineMs", numberOption(given.reconcileDeadlineMs, "reconcileDeadlineMs")),
    },
    ...set("journal", optionalText(given.journal, "journal")),
    ...set("stateDirectory", stateDirectory({ home })),
  };
  const tell = (text: string) => {
    const notice = JSON.parse(text) as Notice;
    switch (notice.kind) {
      case "changes":
        return guarded(
          () => onChange?.(notice.changes),
          (error) => report({ code: "callback_failed", path: null, message: safeText(error) }),
        );
      case "questions":
        for (const question of notice.questions) {
          asker?.ask(question);
          observed.find(({ source }) => source === question.source)?.ask(question.childId);
        }
        return;
      case "diagnostic":
        return report({ code: notice.code, path: notice.path, message: notice.message });
      case "ready":
        scanned.dispatchEvent(new Event("ready"));
        return;
    }
  };
  const native = callNative((addon) => new addon.NativeMonitor(nativeOptions, tell));
  const asker =
    reconcile &&
    authority({
      reconcile,
      answer: (source, childId, word) => callNative(() => native.answer(source, childId, word)),
      rows: () => JSON.parse(callNative(() => native.rows())) as Row[],
      failed: (message) => report({ code: "reconcile_failed", path: null, message }),
    });
  const observed: HermesObservation[] = [];
  const court: HermesCourt = {
    apply: (made) => {
      callNative(() => native.apply(made.map((event) => JSON.stringify(event)).join("\n")));
    },
    reconcile: (snapshot) => {
      const text = JSON.stringify(snapshot);
      return JSON.parse(callNative(() => native.reconcile(text))) as ReturnType<HermesCourt["reconcile"]>;
    },
    unanswered: (source, childId) => {
      // The host's authority answers for itself.
      if (reconcile === undefined) callNative(() => native.answer(source, childId, "none"));
    },
    report: (code, message) => report({ code, path: null, message }),
  };
  const life = lifetimeOf(signal);
  // While the first scan goes on, and a little after it, the script is kept alive; afterwards where that is wanted.
  const alive = setInterval(() => {}, DAY_MS);
  const ended = new AbortController();
  let isClosed = false;
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= (async () => {
      isClosed = true;
      clearInterval(alive);
      ended.abort();
      asker?.close();
      for (const observation of observed) observation.close();
      life.end();
      await callNative(() => native.close());
    })();
    return closing;
  };
  const aborted = life.until(new Promise<never>(() => {}));
  aborted.catch(close).catch(() => {});
  try {
    const feeds = [
      ...streams.map((stream) => feed(native, stream, ended.signal)),
      ...sessions.map((session) => follow(native, session, ended.signal, report)),
    ];
    for (const running of feeds) {
      running.catch((error: unknown) => {
        if (!isClosed) report({ code: "source_failed", path: null, message: safeText(error) });
      });
    }
    for (const source of hermes) observed.push(observeHermes(source, content, court));
    await Promise.race([isReady, aborted]);
    // An authority of elsewhere may be long in answering.
    const patience = setTimeout(() => staysAlive || alive.unref(), PATIENCE_MS).unref();
    // Where nothing else keeps the script alive it goes on without the answer: else it would end in the middle of its wait.
    let onIdle!: () => void;
    const isIdle = new Promise<void>((resolve) => {
      onIdle = resolve;
    });
    process.once("beforeExit", onIdle);
    const answers = Promise.all(observed.map(({ opened }) => opened));
    await Promise.race([answers, isIdle, aborted]).finally(() => {
      clearTimeout(patience);
      process.off("beforeExit", onIdle);
    });
  } catch (error) {
    await close();
    throw error;
  }
  if (!staysAlive) alive.unref();
  return {
    rows: () => JSON.parse(callNative(() => native.rows())) as Row[],
    tree: () => treeOf(JSON.parse(callNative(() => native.rows())) as Row[]),
    explain(key) {
      const text = callNative(() => native.explain(textArgument(key, "key")));
      return text === null ? undefined : (JSON.parse(text) as Explanation);
    },
    changesSince(cursor) {
      const from = optionalText(cursor, "cursor");
      return JSON.parse(callNative(() => native.changesSince(from))) as ChangeSet;
    },
    get hidden() {
      return callNative(() => native.hidden());
    },
    apply(events) {
      const lines = Array.from(iterableArgument(events, "events"), lineOf);
      const counts = JSON.parse(callNative(() => native.apply(lines.join("\n")))) as {
        [status: string]: number;
      };
      // What is no event is in none of the counts.
      const rest = lines.length - Object.values(counts).reduce((sum, count) => sum + count, 0);
      return rest > 0 ? { ...counts, refused: (counts["refused"] ?? 0) + rest } : counts;
    },
    forget(what) {
      const before = textArgument(optionsArgument(what, "what").terminalBefore, "terminalBefore");
      return callNative(() => native.forget(before));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function sourcesOf(sources: MonitorOptions["sources"]) {
  if (typeof sources === "string" && sources !== "default")
    refuseSource("sources", 'must be "default" or a list; one path alone is a list too: [path]');
  const listed = sources === undefined || sources === "default" ? ["default" as const] : sources;
  const paths: string[] = [];
  const streams: Extract<MonitorSource, { type: "stream" }>[] = [];
  const sessions: Session[] = [];
  const hermes: HermesMonitorSource[] = [];
  let isDefault = false;
  let at = 0;
  for (const source of iterableArgument(listed as Iterable<MonitorSource>, "sources")) {
    const place = `sources[${at}]`;
    at += 1;
    if (source === "default") isDefault = true;
    else if (typeof source === "string") paths.push(pathOf(source, place));
    else if (source?.type === "stream") streams.push(streamOf(source, place));
    else if (source?.type === "session") sessions.push(sessionOf(source, place));
    else if (source?.type === "hermes") hermes.push(within(place, () => hermesSource(source)));
    else {
      refuseSource(
        place,
        "must be default, a path, {type: stream, readable}, {type: session, session, bridge} or {type: hermes, source, sourceEpoch, fetchStatus}",
      );
    }
  }
  if (new Set(hermes.map(({ source }) => source)).size < hermes.length) {
    const message = "two Hermes have the same source; give each its own";
    throw new LifecycleError("invalid_option", message, { path: "sources" });
  }
  return { isDefault, paths, streams, sessions, hermes };
}

function refuseSource(place: string, message: string): never {
  throw new LifecycleError("invalid_option", `${place} ${message}`, { path: place });
}

function pathOf(path: string, place: string): string {
  if (path === "") refuseSource(place, "is empty; name a file or a folder");
  if (!existsSync(path) && !path.endsWith(".jsonl"))
    refuseSource(place, `is not there: ${path}; only a file whose name ends in .jsonl is waited for`);
  return path;
}

type Stream = Extract<MonitorSource, { type: "stream" }>;

function streamOf(source: Stream, place: string): Stream {
  within(place, () => optionsArgument(source, "source", ["type", "readable", "host"]));
  const { readable, host } = source;
  optionalText(host, `${place}.host`);
  if (isReadable(readable)) return source;
  return refuseSource(`${place}.readable`, "must be an async iterable");
}

interface Session {
  /** Which source of the options it is. */
  place: string;
  session: AgentJsonlSession;
  bridge: AgentBridge;
}

/** What is wrong with a session or its bridge is said at once, not when its first record comes. */
function sessionOf(source: Extract<MonitorSource, { type: "session" }>, place: string): Session {
  within(place, () => optionsArgument(source, "source", ["type", "session", "bridge"]));
  const { session, bridge } = source;
  if (session?.state !== "bound") refuseSource(`${place}.session`, "must be what jsonlSession gives");
  if (typeof bridge !== "object" || bridge === null)
    refuseSource(`${place}.bridge`, "must be the options of bridgeAgentEvents");
  return {
    place,
    session: within(`${place}.session`, () => jsonlSession(session)),
    bridge: within(`${place}.bridge`, () => bridgeAgentEvents(bridge)),
  };
}

/** An error of a part of the options, with where that is. */
function within<T>(place: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof LifecycleError)) throw error;
    const member = error.path?.replace(/^\$\.?/, "");
    const path = member ? `${place}.${member}` : place;
    throw new LifecycleError(error.code, `${place}: ${error.message}`, { path, cause: error });
  }
}

let streamCount = 0;

async function feed(
  native: Native.NativeMonitor,
  { readable, host = "stream" }: Extract<MonitorSource, { type: "stream" }>,
  signal: AbortSignal,
): Promise<void> {
  streamCount += 1;
  const name = `${host}:${streamCount}`;
  await readAll(readable, signal, (chunk) => {
    const bytes = bytesOf(chunk);
    callNative(() => native.take(name, bytes));
  });
}

async function follow(
  native: Native.NativeMonitor,
  { place, session, bridge }: Session,
  signal: AbortSignal,
  report: (diagnostic: MonitorDiagnostic) => void,
): Promise<void> {
  await observeJsonlSession(session, {
    signal,
    publish: (event) => {
      const lines = bridge.push(event).map((made) => JSON.stringify(made));
      callNative(() => native.apply(lines.join("\n")));
    },
    onDiagnostic: ({ code, journal, offset, error }) => {
      const ofChild = journal?.role === "child" ? `, sub-agent ${JSON.stringify(journal.childId)}` : "";
      const at = offset === undefined ? "" : `, offset ${offset}`;
      report({ code, path: null, message: `${place}${ofChild}${at}: ${safeText(error)}` });
    },
  });
}

/** An event as a line; what has no text is an empty one, which is no event. */
function lineOf(event: unknown, index: number): string {
  try {
    return JSON.stringify(event) ?? "";
  } catch (cause) {
    const message = `event ${index} cannot be written as JSON: ${safeText(cause)}`;
    throw new LifecycleError("invalid_event", message, { path: `events[${index}]`, cause });
  }
}
