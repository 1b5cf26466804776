// docs/bindings.md says what is so: the example runs, and codes, members, words and the table of states are the code's.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { BindingStore } from "agent-lifecycle";
import { blocks, coded, rows, section } from "./support/markdown.mjs";

const root = path.dirname(import.meta.dirname);
const read = (file) => fs.readFileSync(path.join(root, file), "utf8");
const page = read("docs/bindings.md");
const types = read("ts/runtime/binding.ts");

const union = (name) => {
  const [, body] = new RegExp(`export type ${name} =([\\s\\S]*?);`).exec(types);
  return [...body.matchAll(/"([\w-]+)"/g)].map(([, word]) => word);
};

/** A store in a folder that is removed after the test. */
async function open(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "bindings-docs-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const store = await BindingStore.open(path.join(folder, "bindings.db"));
  t.after(() => store.close());
  return store;
}

test("the example runs", (t) => {
  // Inside the package, so that it finds the package by its name.
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "bindings-docs-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, "bindings.db");
  const [example] = blocks(page, "js");
  const code = `${example.replace('"bindings.db"', JSON.stringify(file))}
    const again = await BindingStore.open(${JSON.stringify(file)});
    console.log(JSON.stringify(await again.get("ps_1")));
    await again.close();`;
  const ran = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: root,
    encoding: "utf8",
  });
  assert.equal(ran.stderr, "");
  const { state, nativeSessionId, revision, generation } = JSON.parse(ran.stdout);
  assert.deepEqual([state, nativeSessionId, revision, generation], ["bound", "thread-7", 3, 1]);
});

test("the codes are those of the core, of the types and of the page", () => {
  const core = read("crates/core/src/runtime/binding/fault.rs");
  const codes = [...core.matchAll(/Self::\w+ => "(binding_\w+)"/g)].map(([, code]) => code);
  assert.ok(codes.length > 10);
  assert.deepEqual(union("BindingErrorCode"), codes.toSorted());
  assert.deepEqual(
    rows(section(page, "## Errors")).map(([cell]) => coded(cell)[0]),
    codes.toSorted(),
  );
});

test("the members of a binding are those of the table, and the words those of the types", async (t) => {
  const store = await open(t);
  const full = await store.create({
    productSessionId: "ps_1",
    runtimeInstanceId: "main",
    adapterId: "codex",
    nativeSessionId: "n1",
    state: "bound",
    protocol: "p",
    protocolVersion: "1",
    adapterVersion: "2",
    locator: { kind: "uri" },
    metadata: {},
    diagnostic: { code: "c", phase: "open", at: "2026-05-17T22:29:21Z", message: "m" },
  });
  const shape = rows(section(page, "## The shape"));
  assert.deepEqual(
    shape.flatMap(([cell]) => coded(cell)).map((name) => name.replace("?", "")),
    Object.keys(full),
  );
  const about = (name) => shape.find(([cell]) => cell.includes(name))[1];
  assert.deepEqual(coded(about("`state`")), union("BindingState"));
  assert.deepEqual(coded(about("locator?")).slice(1), union("BindingLocatorKind"));
});

/** The first mode in which a change is allowed. */
async function firstMode(store, id, from, to) {
  const binding = { productSessionId: id, runtimeInstanceId: "main", adapterId: "codex" };
  const native = (state, has) => ({ ...binding, state, ...(has && { nativeSessionId: id }) });
  const has = from.endsWith("+") || ["bound", "missing"].includes(from);
  await store.create(native(from.replace("+", ""), has));
  // Where an id is recorded it stays, but for unbound; where none is, one is given where it is needed.
  const next = native(to, to !== "unbound" && (has || to !== "error"));
  for (const mode of ["normal", "repair", "rebind"]) {
    const tried = await store
      .update({ ...next, protocol: mode }, { expectedRevision: 1, mode })
      .catch((error) => error);
    if (tried.revision === 2) return mode;
    assert.equal(tried.code, "binding_transition");
  }
  return "never";
}

test("the table of states is the store's", async (t) => {
  const store = await open(t);
  const states = union("BindingState");
  const table = rows(section(page, "## States")).filter((cells) => cells.length === 5);
  assert.equal(table.length, 5);
  let tried = 0;
  for (const [name, ...cells] of table) {
    const [state] = coded(name);
    const from = name.includes("with an id") ? `${state}+` : state;
    for (const [at, to] of states.entries()) {
      const said = { any: "normal" }[cells[at].split(",")[0]] ?? cells[at].split(",")[0];
      tried += 1;
      assert.equal(await firstMode(store, `ps_${tried}`, from, to), said, `${from} to ${to}`);
    }
  }
});

test("the command is the one of the page", () => {
  const { stdout } = spawnSync(process.execPath, ["dist/cli/main.js", "--help"], {
    cwd: root,
    encoding: "utf8",
  });
  for (const [cell] of rows(section(page, "## The command"))) {
    const [, name] = /agent-lifecycle bindings (\w+) <db>/.exec(cell);
    assert.match(stdout, new RegExp(`bindings (?:\\w+\\|)?${name}(?:\\|\\w+)? <db>`), name);
  }
});
