// What a record decoder holds and how it crosses: bounds on memory, and no external buffers. Each in a process of its own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";

const root = path.join(import.meta.dirname, "..");
const MIB = 1024 * 1024;

function run(args, options = {}) {
  const done = spawnSync(process.execPath, ["--expose-gc", ...args], {
    cwd: root,
    encoding: "utf8",
    ...options,
  });
  assert.equal(done.status, 0, done.stderr);
  return done;
}

/** What a script prints, as JSON lines. */
const printed = ({ stdout }) =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

test("a hundred thousand pushes leave heap and resident size as they were", () => {
  const samples = printed(run(["benches/soak.mjs", "100000"]));
  assert.equal(samples.at(-1).pushes, 100_000);
  const [first, last] = [samples[1], samples.at(-1)];
  assert.ok(last.records > first.records);
  const grown = (name) => last[name] - first[name];
  assert.ok(grown("heapUsed") < MIB, `the heap grew by ${grown("heapUsed")} bytes`);
  assert.ok(grown("external") < MIB, `external memory grew by ${grown("external")} bytes`);
  assert.ok(grown("rss") < 64 * MIB, `the resident size grew by ${grown("rss")} bytes`);
});

test("a value that is kept does not keep the text of its chunk", () => {
  const script = `
    const decoder = require("./index.js").createJsonlRecordDecoder();
    const chunk = Buffer.from('{"id":"some text of a record","n":[1,2]}\\n'.repeat(1500));
    const kept = [];
    const used = () => (gc(), process.memoryUsage().heapUsed);
    for (let at = 0; at < 10; at++) decoder.push(chunk);
    const before = used();
    for (let at = 0; at < 500; at++) kept.push(decoder.push(chunk)[700]);
    console.log(JSON.stringify({ kept: kept.length, grown: used() - before, chunk: chunk.length }));`;
  const [{ kept, grown, chunk }] = printed(run(["-e", script]));
  assert.ok(grown < (kept * chunk) / 10, `${grown} bytes for ${kept} records`);
});

test("D4: a line of 16 MiB that is dropped takes no memory", () => {
  const script = `
    const decoder = require("./index.js").createJsonlRecordDecoder();
    const chunk = Buffer.alloc(65536, "x");
    const push = (times) => { for (let at = 0; at < times; at++) decoder.push(chunk); };
    push(16);
    gc();
    const before = process.memoryUsage().rss;
    push(256);
    decoder.push("\\n1\\n");
    const { rss } = process.memoryUsage();
    console.log(JSON.stringify({ grown: rss - before, dropped: decoder.stats().dropped.oversize }));`;
  const [{ grown, dropped }] = printed(run(["-e", script]));
  assert.equal(dropped, 1);
  assert.ok(grown < 8 * MIB, `the resident size grew by ${grown} bytes`);
});

const isGlibc = process.platform === "linux" && process.report.getReport().header.glibcVersionRuntime;
const hasCompiler = isGlibc && spawnSync("cc", ["--version"]).status === 0;
const skip = hasCompiler ? false : "it takes glibc and a C compiler";

test("K1: the decoder works where external buffers are refused, and makes none", { skip }, (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), "agent-lifecycle-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const library = path.join(folder, "refuse.so");
  const source = path.join(import.meta.dirname, "support", "no-external-buffers.c");
  const built = spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], {
    encoding: "utf8",
  });
  assert.equal(built.status, 0, built.stderr);
  const script = `
    const { createJsonlRecordDecoder } = require("./index.js");
    const decoder = createJsonlRecordDecoder({ select: { type: ["é", "x"] } });
    const values = [
      ...decoder.push(Buffer.from('{"type":"é","n":1}\\n{"type":"x"}\\n{"type":"y"}\\n{bad\\n{"type":"é",')),
      ...decoder.push(Buffer.from('"n":2}\\n'.padEnd(200000, " ") + '\\n"cut')),
    ];
    const ended = decoder.end();
    decoder.reset();
    console.log(JSON.stringify({ values, ended, fresh: decoder.stats() }));`;
  const plain = run(["-e", script]);
  const refused = run(["-e", script], { env: { ...process.env, LD_PRELOAD: library } });
  assert.equal(refused.stdout, plain.stdout);
  assert.deepEqual(
    printed(plain)[0].values.map(({ n }) => n ?? null),
    [1, null, 2],
  );
  // Both functions were replaced, and neither was called.
  const said = refused.stderr.trim().split("\n");
  assert.deepEqual([...new Set(said)].toSorted(), [
    "looked up napi_create_external_arraybuffer",
    "looked up napi_create_external_buffer",
  ]);
});
