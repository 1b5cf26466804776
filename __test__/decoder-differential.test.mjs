// The record decoder gives what a plain JavaScript decoder gives, whatever the stream and the chunks, wherever it runs.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { differential } from "./support/decoder-differential.mjs";

const RUNS = 1000;
const script = path.join(import.meta.dirname, "support", "decoder-differential.mjs");
const CLASSES = [
  "records",
  "skipped",
  "nulPadded",
  "malformed",
  "oversize",
  "invalidUtf8",
  "tooDeep",
  "unterminated",
  "non-ASCII",
  "own __proto__",
];

function assertAllOccurred(occurred) {
  for (const name of CLASSES) assert.ok(occurred[name] > 0, `${name} in ${JSON.stringify(occurred)}`);
}

test("the values and counts are those of a plain decoder", () => assertAllOccurred(differential(RUNS)));

test("they are in a worker", async () => {
  const occurred = await new Promise((resolve, reject) =>
    new Worker(script, { workerData: RUNS }).on("message", resolve).on("error", reject),
  );
  assertAllOccurred(occurred);
});

test("they are where code cannot be generated from strings", () => {
  const run = spawnSync(process.execPath, ["--disallow-code-generation-from-strings", script, String(RUNS)], {
    encoding: "utf8",
  });
  assert.equal(run.status, 0, run.stderr);
  assertAllOccurred(JSON.parse(run.stdout));
});
