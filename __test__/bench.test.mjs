// The benches run and their variants agree, on a tiny corpus. No time is asserted. The Rust stages are left out: building
// them takes longer than all other tests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { smallEvents } from "../benches/corpus.mjs";
import { ROWS, measureRow } from "../benches/rows.mjs";

const shape = { lines: 2000, children: 20, duplicates: 0.02, seed: 7 };

/** A corpus of the row's kind, tiny. */
function tiny(row) {
  if (row.shape.journals !== undefined) return { ...row.shape, journals: 20 };
  if (row.shape.appends !== undefined) return { ...row.shape, files: 20, appends: 10 };
  if (row.shape.seconds !== undefined) return { ...row.shape, files: 20, seconds: 0.2 };
  if (row.shape.make === undefined) return shape;
  return { ...row.shape, lines: 200, ...(row.shape.huge && { huge: 500_000 }) };
}
for (const row of ROWS.filter(({ script }) => script)) {
  test(`the variants of ${row.name} agree`, () => {
    const { result, variants, lines } = measureRow(row, { shape: tiny(row), rounds: 1 });
    assert.ok(variants.every(({ ms }) => ms > 0));
    if (row.name === "session") {
      assert.ok(result.rows > 1 && result.turns > 1 && result.tools > 10, JSON.stringify(result));
      return;
    }
    if (row.name === "status") {
      assert.ok(result.sessions > 5 && result.sessions < 20, `${result.sessions} sessions`);
      assert.ok(variants.every(({ peakMegabytes }) => peakMegabytes.every((peak) => peak > 10)));
      return;
    }
    if (row.name.startsWith("follow")) return;
    const events = Object.values(result).reduce((sum, count) => sum + count, 0);
    if (row.name.startsWith("select"))
      assert.ok(events > 0 && events < lines * 0.1, `${events} are selected`);
    else assert.equal(events, row.name === "decoder-C" ? lines - 5 : lines);
  });
}

test("a corpus has the lines and the repeats that it is asked for, and is the same every time", () => {
  const bytes = smallEvents(shape);
  const lines = bytes.toString().trimEnd().split("\n");
  assert.equal(lines.length, shape.lines);
  const repeats = lines.length - new Set(lines).size;
  assert.ok(repeats > shape.lines * 0.01 && repeats < shape.lines * 0.03, `${repeats} repeats`);
  assert.deepEqual(smallEvents(shape), bytes);
});
