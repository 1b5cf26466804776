// Followed journals: Rust watches and reads, this hands each chunk to who asked for it. docs/following.md says how.
import { booleanOption, numberOption, optionsArgument, textArgument } from "./arguments.js";
import { guarded, warnOf } from "./callbacks.js";
import { LifecycleError } from "./error.js";
import { type Native, callNative } from "./native.js";
import type { AgentFileWatcher, AgentJournalChunk } from "./session.js";

export interface FollowJournalOptions {
  /** True, the default: from the first byte. False: from the end, a last line that is not complete from its start. */
  readonly fromStart?: boolean | undefined;
  /** Milliseconds between looks where the system does not tell of changes; 500 by default, clamped to 10..3,600,000. */
  readonly pollMs?: number | undefined;
  /** Bytes of a chunk at most; 65,536 by default, clamped to 1 byte..64 MiB. */
  readonly maxChunkBytes?: number | undefined;
  /**
   * Keep the script alive while a chunk is waited for. False by default: then waiting does so only until what is there was read, and
   * for a quarter of a second after each time that somebody began to wait.
   */
  readonly ref?: boolean | undefined;
  /** Is told what keeps the file from being followed well. Without it, that is a process warning. */
  readonly onDiagnostic?: ((diagnostic: FollowDiagnostic) => void) | undefined;
}

const LINGER_MS = 250;

/** What keeps a file from being followed well. Nothing is lost: it is tried again. */
export interface FollowDiagnostic {
  /**
   * `polling`: the system does not tell of changes, so the file is looked at regularly; said once for all files that a thread of
   * JavaScript follows. `unreadable`: the file cannot be read for now; said once until it can.
   */
  readonly code: "polling" | "unreadable";
  /** As it was given. */
  readonly path: string;
  /** Why. */
  readonly message: string;
}

/** New bytes of a followed file. */
export interface FollowedChunk extends AgentJournalChunk {
  /** Where in the file they begin. */
  readonly offset: number;
}

/** A followed file. It ends when it is disposed, never by itself. */
export interface FollowedJournal extends AgentFileWatcher {
  [Symbol.asyncIterator](): AsyncIterator<FollowedChunk, undefined>;
  /** Ends what waits for chunks. More than once is as good as once. */
  dispose(): void;
}

type Step = IteratorResult<FollowedChunk, undefined>;

type Told =
  | { kind: "chunk"; key: number; type: FollowedChunk["type"]; offset: number }
  | { kind: "caughtUp"; key: number }
  | { kind: FollowDiagnostic["code"]; key: number; message: string };

/** Takes what is told of its file. */
type Listener = (told: Told, bytes: Uint8Array | undefined) => void;

/**
 * Follows a file that others write, whatever they do to it. Nothing is read before it is asked for.
 *
 * @throws {LifecycleError} `invalid_argument`, `invalid_option`; `unreadable` where nothing can be followed at all.
 */
export function followJournal(path: string, options?: FollowJournalOptions): FollowedJournal {
  if (textArgument(path, "path") === "") {
    throw new LifecycleError("invalid_argument", "path must not be empty", { path: "path" });
  }
  const { fromStart, pollMs, maxChunkBytes, ref, onDiagnostic } = optionsArgument(options, "options");
  const beginsAtStart = booleanOption(fromStart, "fromStart") ?? true;
  const staysAlive = booleanOption(ref, "ref") ?? false;
  const poll = numberOption(pollMs, "pollMs");
  const most = numberOption(maxChunkBytes, "maxChunkBytes");

  const waiting: ((step: Step) => void)[] = [];
  let isRequested = false;
  let hasCaughtUp = false;
  let isDisposed = false;
  const key = follow((native) => native.addFile(path, beginsAtStart, poll, most), listen);

  function listen(told: Told, bytes: Uint8Array | undefined): void {
    if (told.kind === "chunk") {
      isRequested = false;
      const { type, offset } = told;
      waiting.shift()?.({ done: false, value: { type, bytes: bytes as Uint8Array, offset } });
    } else if (told.kind === "caughtUp") {
      hasCaughtUp = true;
    } else {
      // What cannot be read has nothing to wait for now: it keeps no script alive.
      if (told.kind === "unreadable") hasCaughtUp = true;
      tell({ code: told.kind, path, message: told.message }, onDiagnostic);
    }
    settle();
  }
  /** Asks for the next chunk where somebody waits for one. */
  function settle(): void {
    if (waiting.length > 0 && !isRequested) {
      isRequested = true;
      callNative(() => shared?.native.request(key));
    }
    if (waiting.length > 0) linger();
    hold(key, waiting.length > 0 && (staysAlive || !hasCaughtUp));
  }
  function dispose(): void {
    if (isDisposed) return;
    isDisposed = true;
    hold(key, false);
    unfollow(key);
    for (const resolve of waiting.splice(0)) resolve({ done: true, value: undefined });
  }
  const iterator: AsyncIterator<FollowedChunk, undefined> = {
    next: () =>
      new Promise((resolve) => {
        if (isDisposed) return resolve({ done: true, value: undefined });
        waiting.push(resolve);
        settle();
      }),
    async return() {
      dispose();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator, dispose };
}

/** What all followed files of a thread of JavaScript share. */
let shared: { native: Native.NativeFollower; listeners: Map<number, Listener> } | undefined;

/** Files that keep the script alive, and what does it. */
const holding = new Set<number>();
let alive: NodeJS.Timeout | undefined;
let lingering: NodeJS.Timeout | undefined;

function follow(add: (native: Native.NativeFollower) => number, listener: Listener): number {
  const { native, listeners } = (shared ??= {
    native: callNative(({ NativeFollower }) => new NativeFollower(drain)),
    listeners: new Map(),
  });
  const key = callNative(() => add(native));
  listeners.set(key, listener);
  return key;
}

function unfollow(key: number): void {
  if (shared === undefined) return;
  const { native, listeners } = shared;
  listeners.delete(key);
  callNative(() => (listeners.size > 0 ? native.remove(key) : native.close()));
}

/** Hands out everything that was told. */
function drain(): void {
  if (shared === undefined) return;
  const { native, listeners } = shared;
  for (;;) {
    const text = callNative(() => native.take());
    if (text === null) return;
    const told = JSON.parse(text) as Told;
    const bytes = told.kind === "chunk" ? callNative(() => native.bytes()) : undefined;
    listeners.get(told.key)?.(told, bytes);
  }
}

/** Keeps the script alive for a moment: what was written before somebody began to wait is seen. */
function linger(): void {
  lingering ??= setTimeout(() => undefined, LINGER_MS);
  lingering.refresh();
}

function hold(key: number, isHeld: boolean): void {
  if (isHeld) holding.add(key);
  else holding.delete(key);
  if (holding.size > 0) alive ??= setInterval(() => undefined, 2 ** 30);
  else {
    clearInterval(alive);
    alive = undefined;
  }
}

function tell(diagnostic: FollowDiagnostic, onDiagnostic: FollowJournalOptions["onDiagnostic"]): void {
  if (onDiagnostic !== undefined) return guarded(() => onDiagnostic(diagnostic), warnOf);
  const { code, path, message } = diagnostic;
  process.emitWarning(`followJournal: ${path}: ${message}`, { code });
}
