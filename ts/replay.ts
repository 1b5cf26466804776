// Which records of a journal are new after it was rewritten: hashes of the records that were mapped, compared from the start.
import { createHash } from "node:crypto";
import type { RecordMark } from "./decoder.js";

/** Records whose hashes are kept one by one. */
const EXACT = 65_536;
/** Records behind those that share a digest. */
const BLOCK = 1024;
/** Bytes of records that wait for the digest of their block. */
const MOST_HELD_BYTES = 8 * 1024 * 1024;

/** A record with its mark. */
export interface MarkedRecord {
  readonly value: unknown;
  readonly mark: RecordMark;
}

/** The records of one journal. */
export interface ReplayFilter {
  /** How often the journal was rewritten with another content. */
  readonly generation: number;
  /** Whether records wait until it is known whether their block is the same. */
  readonly isHolding: boolean;
  /** The next record; those that are to be mapped now, in order. */
  take(record: MarkedRecord): readonly MarkedRecord[];
  /** Nothing follows for now: records that wait are to be mapped, as it cannot be known that they are the same. */
  flush(): readonly MarkedRecord[];
  /** The journal begins anew. */
  rewind(): void;
}

/** A filter that has seen nothing. Memory: 8 bytes a record, at most 512 KiB, and 8 bytes for every 1,024 records behind. */
export function createReplayFilter(): ReplayFilter {
  const exact = new Hashes();
  const digests = new Hashes();
  // Of the last block, which is not full.
  const open = new Hashes();
  let generation = 0;
  let position = 0;
  let held: MarkedRecord[] = [];
  let heldBytes = 0;

  const known = () => exact.length + digests.length * BLOCK + open.length;
  const remember = ({ mark }: MarkedRecord) => {
    position += 1;
    if (exact.length < EXACT) return exact.push(mark.hash);
    open.push(mark.hash);
    if (open.length < BLOCK) return;
    digests.push(digestOf(digests.last, open.bytes()));
    open.truncate(0);
  };
  /** Forgets what was known from a position on, which begins a block or has its own hash. */
  const forgetFrom = (from: number) => {
    const block = Math.floor((from - EXACT) / BLOCK);
    exact.truncate(Math.min(from, EXACT));
    if (from < EXACT) {
      digests.truncate(0);
      open.truncate(0);
    } else if (block < digests.length) {
      digests.truncate(block);
      open.truncate(0);
    } else {
      open.truncate(from - EXACT - block * BLOCK);
    }
    position = from;
    generation += 1;
  };
  /** The records that wait are others, or may be. */
  const release = (): MarkedRecord[] => {
    const records = held;
    held = [];
    heldBytes = 0;
    if (records.length > 0) forgetFrom(position - records.length);
    for (const record of records) remember(record);
    return records;
  };

  return {
    get generation() {
      return generation;
    },
    get isHolding() {
      return held.length > 0;
    },
    take(record) {
      const { hash } = record.mark;
      if (position < known()) {
        const inBlocks = position - EXACT;
        const block = Math.floor(inBlocks / BLOCK);
        if (inBlocks >= 0 && block < digests.length) {
          held.push(record);
          heldBytes += record.mark.length;
          position += 1;
          if (heldBytes > MOST_HELD_BYTES) return release();
          if (held.length < BLOCK) return [];
          const hashes = new Hashes();
          for (const { mark } of held) hashes.push(mark.hash);
          const before = block === 0 ? 0n : digests.at(block - 1);
          if (digestOf(before, hashes.bytes()) !== digests.at(block)) return release();
          held = [];
          heldBytes = 0;
          return [];
        }
        const before = inBlocks < 0 ? exact.at(position) : open.at(inBlocks - digests.length * BLOCK);
        if (before === hash) {
          position += 1;
          return [];
        }
        forgetFrom(position);
      }
      remember(record);
      return [record];
    },
    flush: release,
    rewind() {
      position = 0;
      held = [];
      heldBytes = 0;
    },
  };
}

/** A list of hashes that takes 8 bytes for each. */
class Hashes {
  #items = new BigUint64Array(16);
  length = 0;

  get last(): bigint {
    return this.length === 0 ? 0n : this.at(this.length - 1);
  }

  at(index: number): bigint {
    return this.#items[index] as bigint;
  }

  push(hash: bigint): void {
    if (this.length === this.#items.length) {
      const items = new BigUint64Array(2 * this.length);
      items.set(this.#items);
      this.#items = items;
    }
    this.#items[this.length] = hash;
    this.length += 1;
  }

  truncate(length: number): void {
    this.length = length;
  }

  bytes(): Uint8Array {
    return new Uint8Array(this.#items.buffer, 0, 8 * this.length);
  }
}

/** Of a block and all before it. */
const digestOf = (before: bigint, hashes: Uint8Array): bigint =>
  createHash("sha256").update(BigUint64Array.of(before)).update(hashes).digest().readBigUInt64LE();
