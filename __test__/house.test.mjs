// The scripts behind `npm start` and `npm test`: what they say of a machine, and how they go on after a failure.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const { atLeast, fault, required, root } = require("../scripts/tools.cjs");
const { runChecks } = require("../scripts/checks.cjs");
const { distFiles } = require("../scripts/setup.cjs");

const least = required();

/** A machine whose commands print what is given; `undefined` is a command that does not run. */
function machine(changes = {}) {
  const printed = {
    "rustc --version": `rustc ${least.rustc}.0 (abc 2026-01-01)`,
    "cargo --version": "cargo",
    "cc --version": "cc",
    "cargo fmt --version": "rustfmt",
    "cargo clippy --version": "clippy",
    ...changes,
  };
  return (command, args) => printed[[command, ...args].join(" ")];
}

test("a machine with the least versions will do", () => {
  assert.equal(fault("build", machine(), least.node), undefined);
  assert.equal(fault("test", machine(), least.nodeForChecks), undefined);
  assert.equal(fault("test", machine({ "rustc --version": "rustc 2.0.0" }), "100.0.0"), undefined);
});

for (const [name, said, purpose, changes, node] of [
  [
    "an old Node",
    new RegExp(`^Node ${least.node} or newer is needed, and this is Node 18\\.0\\.0\\.$`),
    "build",
    {},
    "18.0.0",
  ],
  ["a Node that is too old for the linter", /^Node .* for the checks/, "test", {}, least.node],
  ["no rustc", /^Rust .* does not run here/, "build", { "rustc --version": undefined }],
  ["no cargo", /^Rust .* does not run here/, "build", { "cargo --version": undefined }],
  ["an old Rust", /^Rust .*this is Rust 1\.70\.0/, "build", { "rustc --version": "rustc 1.70.0 (abc)" }],
  ["no C compiler", /^A C compiler is needed/, "build", { "cc --version": undefined }],
  ["no rustfmt", /^rustfmt is needed/, "test", { "cargo fmt --version": undefined }],
  ["no clippy", /^clippy is needed/, "test", { "cargo clippy --version": undefined }],
]) {
  const skip =
    name === "no C compiler" && process.platform === "win32" ? "the linker comes with the toolchain" : false;
  test(`${name} is said in one sentence`, { skip }, () => {
    const sentence = fault(purpose, machine(changes), node ?? least.nodeForChecks);
    assert.match(sentence, said);
    assert.ok(!sentence.includes("\n"));
  });
}

test("the checks' own tools are not asked for by `npm start`", () => {
  const bare = machine({ "cargo fmt --version": undefined, "cargo clippy --version": undefined });
  assert.equal(fault("build", bare, least.node), undefined);
});

test("versions compare by number", () => {
  assert.ok(atLeast("20.17.0", "20.17"));
  assert.ok(atLeast("20.100.0", "20.17"));
  assert.ok(!atLeast("20.9.0", "20.17"));
  assert.ok(!atLeast("9.0.0", "20.17"));
});

for (const script of ["start", "test", "build", "bench", "soak"]) {
  test(`${script} on a machine without tools ends with the sentence and exit code 1, before anything else`, () => {
    // The first fault of this Node: one that builds can be too old for the checks, which is then said first.
    const sentence = fault(script === "test" ? "test" : "build", () => undefined);
    const run = spawnSync(process.execPath, [path.join(root, "scripts", `${script}.cjs`)], {
      encoding: "utf8",
      env: { ...process.env, PATH: "", Path: "" },
    });
    assert.match(sentence, script === "test" ? /^(?:Node|Rust) .* needed/ : /^Rust .* is needed/);
    assert.equal(run.stderr, `${sentence}\n`);
    assert.equal(run.stdout, "");
    assert.equal(run.status, 1);
  });
}

test("the TypeScript build is known by every file it writes", () => {
  const written = fs
    .readdirSync(path.join(root, "dist"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath ?? entry.path, entry.name)));
  assert.ok(written.includes(path.join("dist", "parser.js")));
  assert.deepEqual(distFiles().toSorted(), written.toSorted());
});

test("a failing check does not stop the others, but what needs it is not run", () => {
  const ran = [];
  const check = (name, needs, fails) => ({
    name,
    needs,
    run() {
      ran.push(name);
      if (fails) throw new Error("broken");
    },
  });
  const faults = runChecks(
    [check("a", [], true), check("b", ["a"]), check("c", ["b"]), check("d", [])],
    () => undefined,
  );
  assert.deepEqual(ran, ["a", "d"]);
  assert.deepEqual(faults, ["a: broken", 'b: not run: it needs "a"', 'c: not run: it needs "b"']);
});
