// Compares the record decoder with the plain one over arbitrary streams, and counts what occurred. Runs as a module, as a worker
// and as a process of its own (the answer is then posted or printed).
import assert from "node:assert/strict";
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { createJsonlRecordDecoder } from "agent-lifecycle";
import fc from "fast-check";
import { cases } from "./decoder-streams.mjs";
import { decodePlainly } from "./plain-decoder.mjs";

const SELECT = { type: ["user", "assistant"] };

export function differential(numRuns) {
  const occurred = {};
  const count = (name, times = 1) => (occurred[name] = (occurred[name] ?? 0) + times);
  fc.assert(
    fc.property(cases, ({ limit, stream, sizes, isSelective, before }) => {
      const select = isSelective ? SELECT : undefined;
      const expected = decodePlainly(stream, limit, select);
      const decoder = createJsonlRecordDecoder(isSelective ? { maxRecordBytes: limit, select } : limit);
      if (before !== undefined) decoder.push(before);
      const values = [];
      for (let from = 0, turn = 0; from < stream.length; turn++) {
        const size = sizes[turn % sizes.length];
        const chunk = Uint8Array.from(stream.subarray(from, from + size));
        values.push(...decoder.push(chunk, from === 0 && before !== undefined));
        // The chunk is the caller's again.
        chunk.fill(0x5b);
        from += size;
      }
      if (stream.length === 0) decoder.reset();
      const before2 = decoder.stats();
      const { records, bytes, skipped, nulPadded, dropped, lastDiagnostics } = decoder.end();
      assert.deepStrictEqual(values, expected.values);
      assert.equal(JSON.stringify(values), JSON.stringify(expected.values));
      assert.deepEqual(
        { records, bytes, skipped, nulPadded, dropped },
        {
          records: expected.records,
          bytes: stream.length,
          skipped: expected.skipped,
          nulPadded: expected.nulPadded,
          dropped: expected.dropped,
        },
      );
      assert.equal(lastDiagnostics.at(-1)?.code === "truncated", expected.unterminated);
      assert.ok(before2.lastDiagnostics.length <= 32);
      const offsets = lastDiagnostics.map(({ offset }) => offset);
      assert.deepEqual(
        offsets,
        offsets.toSorted((a, b) => a - b),
      );
      count("records", records);
      count("skipped", skipped);
      count("nulPadded", nulPadded);
      for (const [name, times] of Object.entries(dropped)) count(name, times);
      count("unterminated", Number(expected.unterminated));
      count("non-ASCII", values.filter((value) => /[^\0-\x7f]/.test(JSON.stringify(value))).length);
      count(
        "own __proto__",
        values.filter((value) => value !== null && Object.hasOwn(Object(value), "__proto__")).length,
      );
      count("chunks", Math.ceil(stream.length / sizes[0]));
    }),
    { numRuns },
  );
  return occurred;
}

if (!isMainThread) parentPort.postMessage(differential(workerData));
else if (process.argv[1] === import.meta.filename) {
  console.log(JSON.stringify(differential(Number(process.argv[2]))));
}
