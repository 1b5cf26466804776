// The rows of agents as they are now, read once.
import { homedir } from "node:os";
import {
  booleanOption,
  iterableArgument,
  numberOption,
  optionFault,
  optionalText,
  optionsArgument,
  set,
  textArgument,
} from "./arguments.js";
import type { ContentLevel } from "./bridge.js";
import { LifecycleError } from "./error.js";
import { type Native, callNative } from "./native.js";
import type { Row } from "./row.js";
import { stateDirectory } from "./state-directory.js";

export interface ReadStatusOptions {
  /**
   * Files and folders; without them the default places of this machine's user, with the journals of publishers and what hooks left
   * in the state directory.
   */
  readonly sources?: Iterable<string> | undefined;
  /** In the default places, sessions without evidence for this long are counted, not read, unless their process lives; 86,400,000 (a day) by default. */
  readonly activeWithinMs?: number | undefined;
  /** How much of prompts and texts reaches rows; `titles` by default. */
  readonly content?: ContentLevel | undefined;
  /** Only what is at work or waits for somebody; false by default. */
  readonly active?: boolean | undefined;
  /** The present time (RFC 3339 UTC); the clock's by default. With it, processes are not looked at. */
  readonly now?: string | undefined;
  /** The home folder that the default places are in; the user's by default. */
  readonly home?: string | undefined;
}

/** What was read. */
export interface StatusRead {
  /** Rows in tree order, the session with the newest evidence first. */
  readonly rows: Row[];
  /** Sessions that were not read. */
  readonly hidden: number;
  /** Faults by their code, and what could not be read, by path. */
  readonly diagnostics: {
    readonly counts: { readonly [code: string]: number };
    /** The first 32 files behind the counts, with their own. */
    readonly files: readonly {
      readonly path: string;
      readonly counts: { readonly [code: string]: number };
    }[];
    /** The files of sessions that named paths are only a part of. */
    readonly parents: readonly string[];
    readonly unsupported: readonly string[];
    readonly unrecognized: readonly string[];
    readonly missing: readonly string[];
    readonly unreadable: readonly string[];
  };
  /** Whether there is any source of evidence. Without one nothing is known, which is not the same as no agents. */
  readonly evidence: boolean;
}

const DAY_MS = 86_400_000;
const OPTIONS = ["sources", "activeWithinMs", "content", "active", "now", "home"] as const;

function activeWithin(given: number | undefined): number {
  const ms = numberOption(given, "activeWithinMs") ?? DAY_MS;
  if (Number.isSafeInteger(ms) && ms >= 0) return ms;
  throw optionFault("activeWithinMs", "activeWithinMs must be a safe integer of 0 or more");
}

/**
 * Reads rows once, session by session, without holding the event loop for longer than one takes. It never concludes `lost`.
 *
 * @throws {LifecycleError} `invalid_option`, `invalid_argument`; `unreadable` where no source is there. As a rejection.
 */
export async function readStatus(options?: ReadStatusOptions): Promise<StatusRead> {
  const given = optionsArgument(options, "options", OPTIONS);
  const paths = [...iterableArgument(given.sources ?? [], "sources")].map((source, at) => {
    const place = `sources[${at}]`;
    if (textArgument(source, place) !== "") return source;
    throw new LifecycleError("invalid_option", `${place} is empty; name a file or a folder`, { path: place });
  });
  const now = optionalText(given.now, "now");
  const home = optionalText(given.home, "home") ?? homedir();
  const native: Native.NativeStatusOptions = {
    paths,
    home,
    stateDirectory: stateDirectory({ home }),
    content: optionalText(given.content, "content") ?? "titles",
    active: booleanOption(given.active, "active") ?? false,
    sinceMs: activeWithin(given.activeWithinMs),
    ...set("now", now),
  };
  const reading = callNative((addon) => new addon.NativeStatus(native));
  while (callNative(() => reading.step())) await new Promise((resolve) => setImmediate(resolve));
  const read = JSON.parse(callNative(() => reading.json())) as StatusRead;
  if (paths.length > 0 && read.diagnostics.missing.length === paths.length) {
    throw new LifecycleError("unreadable", read.diagnostics.missing.join("; "), { path: "sources" });
  }
  return read;
}
