// docs/adapter-process.md says what is so: the example runs, and words, codes, limits and names are the code's.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import typescript from "typescript";
import { INHERITED } from "../dist/runtime/adapter-environment.js";
import { LIMITS, OPTIONS } from "../dist/runtime/adapter-options.js";
import { blocks, coded, rows, section } from "./support/markdown.mjs";

const root = path.dirname(import.meta.dirname);
const read = (...parts) => fs.readFileSync(path.join(root, ...parts), "utf8");
const page = read("docs", "adapter-process.md");
const sources = ["calls", "end", "messages", "options", "process"].map((name) =>
  read("ts", "runtime", `adapter-${name}.ts`),
);
const ts = [...sources, read("ts", "runtime", "guard.ts")].join("\n");
const rust = ["ending", "exchange", "stderr"]
  .map((name) => read("crates", "io", "src", "adapter", `${name}.rs`))
  .join("\n");

const sorted = (list) => [...new Set(list)].toSorted();
const groups = (text, pattern) => [...text.matchAll(pattern)].map(([, word]) => word);
const numbers = (text) => groups(text, /(\d[\d,]*)/g).map((number) => Number(number.replaceAll(",", "")));
/** The words in the first cells of the tables below a heading. */
const firsts = (heading) => rows(section(page, heading)).map(([cell]) => coded(cell)[0]);
/** The words of a union type or of a member that is one. */
const union = (start) => {
  const from = ts.indexOf(start);
  assert.ok(from >= 0, start);
  return sorted(groups(ts.slice(from, ts.indexOf(";", from)), /"(\w+)"/g));
};

test("the example runs", () => {
  const [example] = blocks(page, "ts");
  const { outputText } = typescript.transpileModule(example, {
    compilerOptions: { module: typescript.ModuleKind.ESNext, target: typescript.ScriptTarget.ES2022 },
  });
  const run = spawnSync(process.execPath, ["--input-type=module", "--eval", outputText], {
    cwd: root,
    encoding: "utf8",
  });
  assert.deepEqual([run.status, run.stdout, run.stderr], [0, "", ""]);
});

test("options, states, reasons, diagnostics and codes are the code's", () => {
  assert.deepEqual(sorted(firsts("## Options")), sorted(OPTIONS));
  const states = union("export type AdapterProcessState =");
  const reasons = union("export type AdapterProcessEndReason =");
  assert.equal(states.length, 6);
  assert.deepEqual(sorted(firsts("## States")), sorted([...states, ...reasons]));
  assert.deepEqual(sorted(firsts("## Diagnostics")), union("export interface AdapterDiagnostic {"));
  const [, table] = /const CODES[\s\S]*?= \{([\s\S]*?)\};/.exec(ts);
  const given = [
    ...groups(table, /: "(\w+)"/g),
    ...groups(ts, /(?:#error|super|new AvailabilityError|new ProtocolError)\(\s*"(\w+)"/g),
    ...groups(ts, /why: "(\w+)" \| "\w+"/g),
    ...groups(ts, /why: "\w+" \| "(\w+)"/g),
  ].filter((code) => code !== "start_failed");
  assert.deepEqual(sorted(firsts("## Errors")), sorted(given));
});

test("the limits are the constants", () => {
  const [set, fixed] = section(page, "## Limits").split("These do not change");
  const said = rows(set).map(([name, number]) => [coded(name)[0], numbers(number)[0]]);
  assert.deepEqual(Object.fromEntries(said), { ...LIMITS });
  assert.match(set, /4,096 at least/);
  const constant = (name) =>
    new RegExp(`const ${name}: \\w+ = ([\\d_* ]+);`)
      .exec(rust)[1]
      .split("*")
      .reduce((product, factor) => product * Number(factor.replaceAll("_", "")), 1);
  const [, grace, closedGrace, close, terminate, kill] =
    /grace: millis\((\d+)\),\s+closed_grace: millis\((\d+)\),\s+close: millis\((\d+)\),\s+terminate: millis\((\d+)\),\s+kill: millis\((\d+)\)/.exec(
      rust,
    );
  const values = rows(fixed).map(([, value]) => numbers(value));
  assert.deepEqual(values, [
    [constant("OUTBOX_MESSAGES"), constant("OUTBOX_BYTES")],
    [constant("HEAD"), constant("TAIL")],
    [constant("INBOX_BYTES")],
    [Number(grace), Number(closedGrace)],
    ...[close, terminate, kill].map((millis) => [Number(millis)]),
  ]);
});

test("the variables that are inherited are those of the page", () => {
  const system = process.platform === "win32" ? "On Windows: " : "On Linux and macOS: ";
  const line = section(page, "## Environment")
    .split("\n")
    .find((text) => text.startsWith(system));
  assert.deepEqual(coded(line), [...INHERITED]);
});
