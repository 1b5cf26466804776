// Times variants against each other in this process and prints JSON lines for rows.mjs: `{"variant","result"}` of the
// warm-up, then `{"variant","ms"}` for each round. The Rust stages print the same.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

/** What a host reads at a time. */
const CHUNK = 64 * 1024;

/**
 * Runs `variants`, `{name: (chunks) => work, or a promise of it}`, over the corpus of the command line. `look(work)` is what every variant must
 * come to; it is not timed. `count(work)` is what the row reports of it. `floors` do only a part of the work, so that they come
 * to nothing.
 */
export async function measure(variants, look, count, floors = {}) {
  const [file, rounds] = process.argv.slice(2);
  const chunks = chunksOf(readFileSync(file));
  let expected;
  for (const [variant, run] of Object.entries(variants)) {
    const work = await run(chunks);
    const found = look(work);
    expected ??= found;
    assert.deepEqual(found, expected, `${variant} comes to something else`);
    console.log(JSON.stringify({ variant, result: count(work) }));
  }
  for (const run of Object.values(floors)) await run(chunks);
  for (let round = 0; round < Number(rounds); round++) {
    for (const [variant, run] of Object.entries({ ...variants, ...floors })) {
      // The garbage of one variant is not to be collected in the time of the next.
      globalThis.gc();
      const started = performance.now();
      await run(chunks);
      console.log(JSON.stringify({ variant, ms: performance.now() - started }));
    }
  }
}

/** The floor of everything that parses in JavaScript: the texts of the lines are made before. */
export function parseFloor() {
  let lines;
  return (chunks) => {
    lines ??= Buffer.concat(chunks).toString().trimEnd().split("\n");
    for (const line of lines) JSON.parse(line);
  };
}

function chunksOf(bytes) {
  const chunks = [];
  for (let at = 0; at < bytes.length; at += CHUNK) chunks.push(bytes.subarray(at, at + CHUNK));
  return chunks;
}
