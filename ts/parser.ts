// The schema-v1 JSONL parser.
import { numberOption, optionsArgument } from "./arguments.js";
import { bytesOf } from "./bytes.js";
import type { LifecycleEvent } from "./contract.js";
import { type Native, callNative } from "./native.js";

/** What was wrong with a line; the stable codes are listed in `docs/contract.md`. */
export type DiagnosticCode =
  "malformed" | "oversize" | "truncated" | "invalid_utf8" | "too_deep" | "invalid_event" | "nul_padding";

/** One fault of a stream. */
export interface Diagnostic {
  code: DiagnosticCode;
  /** One sentence. */
  message: string;
  /** Absolute offset of the line in the stream, in bytes. */
  offset: number;
  /** Its length in bytes, without the line end. */
  length: number;
  /** A redacted excerpt of at most 512 UTF-16 code units. */
  raw: string;
}

export interface JsonlLifecycleParserOptions {
  /** Longer lines are dropped and reported; 262,144 by default, clamped to 1 byte..64 MiB. */
  maxLineBytes?: number | undefined;
}

/**
 * Parses a stream of schema-v1 events, one JSON text a line, in chunks of any size. Every valid line around a bad one is
 * kept; faults are data, in the order of the input.
 */
export class JsonlLifecycleParser {
  readonly #native: Native.NativeParser;
  #records: LifecycleEvent[] = [];

  /** @throws {LifecycleError} `invalid_option`. */
  constructor(options?: JsonlLifecycleParserOptions) {
    const limit = numberOption(
      optionsArgument(options, "options", ["maxLineBytes"]).maxLineBytes,
      "maxLineBytes",
    );
    this.#native = callNative((native) => new native.NativeParser(limit));
  }

  /** Takes the next bytes and returns the events that they complete. The chunk is the caller's again at once. */
  push(chunk: Uint8Array | string): LifecycleEvent[] {
    const bytes = bytesOf(chunk);
    const events = JSON.parse(callNative(() => this.#native.push(bytes))) as LifecycleEvent[];
    for (const event of events) this.#records.push(event);
    return events;
  }

  /** Ends the stream: bytes that no line end closed are reported as `truncated`, never taken for a record. Bytes
   * that come all the same go on with that line. */
  end(): { records: LifecycleEvent[]; diagnostics: Diagnostic[] } {
    callNative(() => this.#native.end());
    return { records: this.records, diagnostics: this.diagnostics };
  }

  /** All events so far, or since {@link take}. */
  get records(): LifecycleEvent[] {
    return [...this.#records];
  }

  /** The first 32 faults, in input order. */
  get diagnostics(): Diagnostic[] {
    return this.#log().diagnostics;
  }

  /** How many faults there were. */
  get diagnosticCount(): number {
    return this.#log().total;
  }

  /** The events so far, which are then let go: for long streams. */
  take(): LifecycleEvent[] {
    const records = this.#records;
    this.#records = [];
    return records;
  }

  #log(): { diagnostics: Diagnostic[]; total: number } {
    return JSON.parse(callNative(() => this.#native.log())) as { diagnostics: Diagnostic[]; total: number };
  }
}
