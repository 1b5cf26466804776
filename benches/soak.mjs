// `npm run soak [pushes]`: pushes into one decoder after another and prints the memory of the process as JSON lines, so that a leak
// shows as a slope. `__test__/decoder-memory.test.mjs` runs a short one.
import { setImmediate } from "node:timers/promises";
import { createJsonlRecordDecoder } from "agent-lifecycle";

const pushes = Number(process.argv[2] ?? 1_000_000);
const SAMPLES = 10;

const lines = Array.from({ length: 64 }, (_, at) =>
  at % 9 === 4
    ? "{broken"
    : JSON.stringify({ type: at % 2 ? "user" : "system", at, text: ["é🙂", "plain"][at % 2].repeat(at) }),
);
const chunks = lines.flatMap((line, at) => {
  const bytes = Buffer.from(at % 16 === 5 ? `${line}\0\n` : `${line}\n`);
  const cut = at % 3 === 0 ? bytes.length >> 1 : bytes.length;
  return [bytes.subarray(0, cut), bytes.subarray(cut)].filter((chunk) => chunk.length > 0);
});

// What a host keeps of a chunk must not keep the chunk's whole text.
const kept = [];
let records = 0;
let decoder = createJsonlRecordDecoder();
for (let push = 0, sample = 0; push < pushes; push++) {
  if (push % 10_000 === 9999)
    decoder = createJsonlRecordDecoder(push % 20_000 > 10_000 ? 64 : { select: { type: ["user"] } });
  const values = decoder.push(chunks[push % chunks.length], push % 5000 === 0);
  records += values.length;
  if (values.length > 0 && kept.push(values[0]) > 100) kept.shift();
  if (push === Math.ceil(((sample + 1) * pushes) / SAMPLES) - 1) {
    globalThis.gc();
    // Native memory of what was collected is let go from the event loop.
    await setImmediate();
    const { heapUsed, rss, external, arrayBuffers } = process.memoryUsage();
    console.log(JSON.stringify({ pushes: push + 1, records, heapUsed, rss, external, arrayBuffers }));
    sample++;
  }
}
