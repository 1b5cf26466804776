// The record decoder: Rust cuts, checks and selects lines, `JSON.parse` makes their values. docs/decoder.md says how.
import { numberOption, optionsArgument } from "./arguments.js";
import { bytesOf } from "./bytes.js";
import { LifecycleError } from "./error.js";
import { type Native, callNative } from "./native.js";
import type { Diagnostic } from "./parser.js";

export interface JsonlRecordDecoderOptions {
  /** Longer records are dropped; 262,144 by default, clamped to 1 byte..64 MiB. The line end does not count. */
  maxRecordBytes?: number | undefined;
  /**
   * Only records whose top-level members of these names (1 to 64) each have one of their strings become values. The others are
   * checked and counted as `skipped`.
   */
  select?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** What became of a stream since it began. */
export interface JsonlRecordDecoderStats {
  /** Records given out. */
  records: number;
  /** Bytes taken. */
  bytes: number;
  /** Valid records that `select` did not want. */
  skipped: number;
  /** Records given out (or skipped) that NUL bytes followed in their line. */
  nulPadded: number;
  /** Lines that were dropped. */
  dropped: { malformed: number; oversize: number; invalidUtf8: number; tooDeep: number };
  /** The last 32 faults, in the order of the stream; redacted. */
  lastDiagnostics: Diagnostic[];
}

/** Cuts a JSON Lines stream into the values of its records. */
export interface JsonlRecordDecoder {
  /**
   * Takes the next bytes, in chunks of any size, and returns the values of the lines that they complete, each what `JSON.parse` of
   * the line gives. The chunk is the caller's again at once. With `reset` it is the first chunk of a new stream. Text is taken as
   * UTF-8; a pair of surrogates must not be cut.
   *
   * @throws {LifecycleError} `invalid_chunk` for what is no bytes, or shared or detached memory, `invalid_argument` for a `reset` that
   *   is no boolean; the decoder is then as it was. `torn_stream` where an earlier push was left in its middle.
   */
  push(chunk: Uint8Array | string, reset?: boolean): unknown[];
  /** Forgets everything: what comes next is a new stream. */
  reset(): void;
  /**
   * Ends the stream: a last line that no line end closed is reported as `truncated`, and is no record. Bytes that come all the same
   * go on with that line; `reset` begins a new stream.
   */
  end(): JsonlRecordDecoderStats;
  /** What became of the stream so far. */
  stats(): JsonlRecordDecoderStats;
}

/** Where a record stands. */
export interface RecordMark {
  /** Where its line begins in the stream, in bytes. */
  readonly offset: number;
  /** The line's length in bytes. */
  readonly length: number;
  /** 8 bytes, of the record's bytes. */
  readonly hash: bigint;
}

/** Bytes that cross at a time. */
const SLICE = 65_536;

interface Table {
  bytes: Buffer;
  entries: Int32Array;
}

/** What the addon answers in. All decoders of a thread share it; one that is called while another decodes makes its own. */
let table: Table | undefined;

/**
 * A bounded decoder of JSON Lines in UTF-8. Lines that are no record are dropped and counted, and never cost a neighbour.
 *
 * @throws {LifecycleError} `invalid_argument`, `invalid_option`.
 */
export function createJsonlRecordDecoder(
  options: number | JsonlRecordDecoderOptions = {},
): JsonlRecordDecoder {
  return decoderOf(options);
}

/** As {@link createJsonlRecordDecoder}; each push fills `marks`, where it is given, with those of the records that it returns. */
export function decoderOf(
  options: number | JsonlRecordDecoderOptions,
  marks?: RecordMark[],
): JsonlRecordDecoder {
  const { maxRecordBytes, select } = optionsOf(options);
  const native = callNative(({ NativeRecordDecoder }) => new NativeRecordDecoder(maxRecordBytes, select));
  let isTorn = false;
  // Inside a line that is dropped its bytes are only counted, and told when something else is to be done.
  let isDropping = false;
  let uncounted = 0;
  const count = () => {
    if (uncounted > 0) callNative(() => native.skip(uncounted));
    uncounted = 0;
  };
  const stats = () => {
    count();
    return JSON.parse(callNative(() => native.stats())) as JsonlRecordDecoderStats;
  };
  const reset = () => {
    callNative(() => native.reset());
    isTorn = false;
    isDropping = false;
    uncounted = 0;
  };
  return {
    push(chunk, begins = false) {
      const bytes = bytesOf(chunk);
      if (typeof begins !== "boolean") {
        // The type of a chunk in its place would wipe the stream.
        throw new LifecycleError("invalid_argument", "reset must be true or false", { path: "reset" });
      }
      if (begins) reset();
      if (isTorn) {
        const message =
          "an earlier push was left in its middle, by a call from within or an error of JSON.parse; reset first";
        throw new LifecycleError("torn_stream", message);
      }
      const values: unknown[] = [];
      if (marks !== undefined) marks.length = 0;
      // Taken back at the end: whoever calls from within, or is thrown out, finds the stream torn instead of wrong.
      isTorn = true;
      for (let from = 0; from < bytes.length; from += SLICE) {
        const slice = bytes.length <= SLICE ? bytes : bytes.subarray(from, from + SLICE);
        if (isDropping && !hasLineEnd(slice)) {
          uncounted += slice.length;
          continue;
        }
        count();
        isDropping = decode(native, slice, values, marks);
      }
      isTorn = false;
      return values;
    },
    reset,
    end() {
      count();
      callNative(() => native.end());
      return stats();
    },
    stats,
  };
}

/** Whether there is a line end, found as fast as the machine can. */
const hasLineEnd = (slice: Uint8Array): boolean => Buffer.prototype.indexOf.call(slice, 10) !== -1;

/** Adds the values of a slice. Whether it ends inside a line that is dropped. */
function decode(
  native: Native.NativeRecordDecoder,
  slice: Uint8Array,
  values: unknown[],
  marks: RecordMark[] | undefined,
): boolean {
  const answer = table ?? makeTable();
  table = undefined;
  try {
    const refused = parseAll(native, slice, values, answer);
    if (marks !== undefined) addMarks(native, answer.entries[0] as number, refused, marks);
    return answer.entries[2] === 1;
  } finally {
    table = answer;
  }
}

/** Adds the values of a slice; the places of those that are no JSON, where there are any. */
function parseAll(
  native: Native.NativeRecordDecoder,
  slice: Uint8Array,
  values: unknown[],
  answer: Table,
): Set<number> | undefined {
  let refused: Set<number> | undefined;
  const { bytes, entries } = answer;
  const narrow = callNative(() => native.push(slice, bytes));
  const count = entries[0] as number;
  if (count === 0) return refused;
  const wide = entries[1] === 0 ? "" : callNative(() => native.wide());
  let narrowEnd = 0;
  let wideEnd = 0;
  for (let index = 0; index < count; index++) {
    const end = entries[index + 3] as number;
    // No copies: the engine parses a part of a text where it is.
    const text = end > 0 ? narrow.substring(narrowEnd, end) : wide.substring(wideEnd, -end);
    if (end > 0) narrowEnd = end;
    else wideEnd = -end;
    try {
      values.push(JSON.parse(text));
    } catch (error) {
      // By name: in a vm context it may be of another realm.
      if ((error as Error | null)?.name !== "SyntaxError") throw error;
      callNative(() => native.refuse(index));
      refused ??= new Set();
      refused.add(index);
    }
  }
  return refused;
}

/** Adds the marks of the `count` records of a slice without those that are no JSON. */
function addMarks(
  native: Native.NativeRecordDecoder,
  count: number,
  refused: Set<number> | undefined,
  marks: RecordMark[],
): void {
  const places = new Float64Array(3 * count);
  const hashes = new BigUint64Array(places.buffer);
  callNative(() => native.marks(Buffer.from(places.buffer)));
  for (let index = 0; index < count; index++) {
    if (refused?.has(index)) continue;
    const [offset, length] = places.subarray(3 * index) as unknown as [number, number];
    marks.push({ offset, length, hash: hashes[3 * index + 2] as bigint });
  }
}

function makeTable(): Table {
  const entries = new Int32Array(SLICE / 2 + 4);
  return { bytes: Buffer.from(entries.buffer), entries };
}

function optionsOf(options: unknown): {
  maxRecordBytes: number | undefined;
  select: Native.NativeSelected[] | undefined;
} {
  if (typeof options === "number") return { maxRecordBytes: options, select: undefined };
  if (typeof options !== "object" || options === null) {
    throw new LifecycleError("invalid_argument", "options must be a limit in bytes or an object", {
      path: "options",
    });
  }
  const { maxRecordBytes, select } = optionsArgument<Record<string, unknown>>(
    options as Record<string, unknown>,
    "options",
    ["maxRecordBytes", "select"],
  );
  return {
    maxRecordBytes: numberOption(maxRecordBytes, "maxRecordBytes"),
    select: select === undefined ? undefined : selectedOf(select),
  };
}

function selectedOf(select: unknown): Native.NativeSelected[] {
  if (typeof select !== "object" || select === null || Array.isArray(select)) {
    throw new LifecycleError("invalid_option", "select must be an object of lists", { path: "select" });
  }
  return Object.entries(select).map(([name, strings]: [string, unknown]) => {
    // Spread, so that a hole is a member like others.
    if (!Array.isArray(strings) || ![...strings].every((text) => typeof text === "string")) {
      const message = `select.${name} must be a list of strings`;
      throw new LifecycleError("invalid_option", message, { path: `select.${name}` });
    }
    return { name, strings };
  });
}
