// Which records are mapped again after a journal was rewritten, also where it has more of them than hashes are kept of.
import assert from "node:assert/strict";
import { test } from "node:test";
import { observeJsonlSession } from "agent-lifecycle";
import { createReplayFilter } from "../dist/replay.js";
import { session, until, watcher } from "./support/watchers.mjs";

const range = (from, to) => Array.from({ length: to - from }, (_, at) => from + at);

const values = (records) => records.map(({ value }) => value);

/** Plays records whose hash is their number, and gives what is mapped. */
function filterOf(numbers) {
  const filter = createReplayFilter();
  const play = (list, length = 10) =>
    list.flatMap((value) => filter.take({ value, mark: { offset: 0, length, hash: BigInt(value) } }));
  const first = play(numbers);
  assert.equal(first.length, numbers.length);
  filter.rewind();
  return { filter, play: (...args) => values(play(...args)), flush: () => values(filter.flush()) };
}

const EXACT = 65_536;
const BLOCK = 1024;
const SIZE = EXACT + 2 * BLOCK + 10;

test("behind 65,536 records blocks of 1,024 are compared", () => {
  const { filter, play } = filterOf(range(0, SIZE));
  assert.deepEqual(play(range(0, SIZE)), []);
  assert.deepEqual(play([SIZE]), [SIZE]);
  assert.equal(filter.generation, 0);
  // A difference in the second block: that block is mapped, and what follows.
  filter.rewind();
  const changed = range(0, SIZE + 1);
  changed[EXACT + BLOCK + 5] = 7;
  assert.deepEqual(play(changed), changed.slice(EXACT + BLOCK));
  assert.equal(filter.generation, 1);
  // And now that is what is known.
  filter.rewind();
  assert.deepEqual(play([...changed, 1]), [1]);
  assert.equal(filter.generation, 1);
});

test("in the last block, which is not full, and before 65,536 the first difference is exact", () => {
  for (const at of [0, 5, EXACT - 1, EXACT + 2 * BLOCK + 3]) {
    const { filter, play } = filterOf(range(0, SIZE));
    assert.deepEqual(play([...range(0, at), 7_000_000]), [7_000_000]);
    assert.equal(filter.generation, 1);
    assert.deepEqual(play([8_000_000]), [8_000_000]);
    filter.rewind();
    assert.deepEqual(play([...range(0, at), 7_000_000, 8_000_000, 9_000_000]), [9_000_000]);
  }
});

test("records that wait for their block are mapped when it does not come, or is too large", () => {
  const waiting = filterOf(range(0, SIZE));
  assert.deepEqual(waiting.play(range(0, EXACT + 3)), []);
  assert.equal(waiting.filter.isHolding, true);
  assert.deepEqual(waiting.flush(), range(EXACT, EXACT + 3));
  assert.deepEqual([waiting.filter.isHolding, waiting.filter.generation], [false, 1]);
  assert.deepEqual(waiting.flush(), []);
  const large = filterOf(range(0, SIZE));
  const mapped = large.play(range(0, EXACT + 9), 1024 * 1024);
  assert.deepEqual(mapped, range(EXACT, EXACT + 9));
});

const all = (type, numbers) => ({
  type,
  bytes: Buffer.from(numbers.map((number) => `${number}\n`).join("")),
});

test("a rewritten journal of more than 65,536 records is mapped without waiting for ever", async () => {
  const many = range(0, EXACT + BLOCK + 1);
  const root = watcher(all("append", many), all("replace", many.slice(0, EXACT + 2)));
  const seen = [];
  const declared = session(root, (record, { generation }) => void seen.push([generation, record]));
  const done = observeJsonlSession(declared, { publish: () => undefined });
  await until(() => seen.length === many.length + 2);
  assert.deepEqual(seen.slice(many.length), [
    [1, EXACT],
    [1, EXACT + 1],
  ]);
  root.end();
  await done;
});
