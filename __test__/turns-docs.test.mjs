// docs/turns.md says what is so: its example runs, and its kinds, reasons, limits and codes are those of the code.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { TurnSequencer } from "agent-lifecycle";
import { blocks, coded, rows, section } from "./support/markdown.mjs";

const root = path.dirname(import.meta.dirname);
const read = (file) => fs.readFileSync(path.join(root, file), "utf8");
const page = read("docs/turns.md");
const first = (text) => rows(text).map(([cell]) => coded(cell)[0]);
const between = (text, from, to) => text.slice(text.indexOf(from), text.indexOf(to, text.indexOf(from)));
const words = (text, pattern) => [...text.matchAll(pattern)].map(([, word]) => word);

const core = ["fields.rs", "approvals", "sequencer"]
  .map((name) => path.join(root, "crates/core/src/runtime", name))
  .flatMap((file) =>
    file.endsWith(".rs") ? [file] : fs.readdirSync(file).map((name) => path.join(file, name)),
  )
  .map((file) => fs.readFileSync(file, "utf8"))
  .join("\n");

test("the example prints what is said", () => {
  const [example] = blocks(page, "js");
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", example], {
    cwd: root,
    encoding: "utf8",
  });
  assert.equal(stdout + stderr, blocks(page, "text")[0]);
});

test("the kinds of events and inputs are those of the types", () => {
  const events = read("ts/runtime/semantic-event.ts");
  const [table] = section(page, "## Events").split("\n### ");
  assert.deepEqual(first(table).toSorted(), words(events, /^ {2}readonly kind: "(\w+)";$/gm).toSorted());
  for (const [kind, members] of rows(table)) {
    const name = coded(kind)[0].replaceAll(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase());
    const body = between(events, `export interface ${name}SemanticEvent`, "\n}");
    for (const member of coded(members).filter((word) => /^[a-z]\w*\??$/.test(word))) {
      if (["contentIndex", "toolCallId", "toolName"].includes(member)) continue;
      if (["completed", "interrupted"].includes(member)) continue;
      assert.ok(body.includes(`readonly ${member}:`), `${name}.${member}`);
    }
  }
  const inputs = read("ts/runtime/observation.ts");
  const [table2] = section(page, "## Inputs").split("\n### ");
  const known = new Set(words(inputs, /readonly input: "(\w+)"/g));
  assert.deepEqual(first(table2).toSorted(), [...known].toSorted());
  const observed = rows(table2).find(([cell]) => cell.includes("observation"))[2];
  const union = between(inputs, "export type Observed =", "/** Where an observation belongs");
  const kinds = words(union, /readonly kind: ((?:"\w+"(?: \| )?)+)/g).flatMap((list) =>
    words(list, /"(\w+)"/g),
  );
  assert.deepEqual(coded(observed).toSorted(), kinds.toSorted());
});

/** The members of each kind in a union of objects: a name, with `?` where it may be left out. */
function membersOf(union) {
  const found = new Map();
  for (const [, body] of union.matchAll(/\{([^{}]*)\}/g)) {
    const [, kinds] = /readonly kind: ((?:"\w+"(?: \| )?)+)/.exec(body);
    const members = [...body.matchAll(/readonly (\w+\??):/g)].map(([, name]) => name);
    for (const kind of words(kinds, /"(\w+)"/g)) {
      assert.ok(!found.has(kind), kind);
      found.set(
        kind,
        members.filter((name) => name !== "kind"),
      );
    }
  }
  return found;
}

test("the members of observations, of usage and the kinds of approvals are those of the types", () => {
  const inputs = read("ts/runtime/observation.ts");
  const expected = membersOf(between(inputs, "export type Observed =", "/** Where an observation belongs"));
  assert.ok(expected.size > 14);
  const text = section(page, "### What an observation has");
  const table = rows(text);
  const described = new Map();
  const TYPES = { text: "ObservedText", string: "string", boolean: "boolean", JSON: "Json" };
  const at = table.findIndex(([name]) => name === "`input?`");
  for (const [kinds, members] of table.slice(0, at)) {
    const named = [...members.matchAll(/`(\w+\??)`: (\w+)?/g)];
    for (const kind of coded(kinds))
      described.set(
        kind,
        named.map(([, name]) => name),
      );
    for (const [, name, type] of named) {
      if (TYPES[type] === undefined) continue;
      assert.ok(inputs.includes(`readonly ${name}: ${TYPES[type]}`), `${kinds} ${name}: ${type}`);
    }
  }
  assert.deepEqual(described, expected);
  const states = coded(table.find(([kind]) => kind === "`adapter`")[1]).slice(1, 4);
  assert.ok(inputs.includes(`readonly state: ${states.map((state) => `"${state}"`).join(" | ")};`));
  const events = read("ts/runtime/semantic-event.ts");
  const usage = words(between(events, "export interface RuntimeUsage", "\n}"), /readonly (\w+\?): number;/g);
  assert.deepEqual(
    first(
      table
        .slice(at)
        .map((cells) => `|${cells.join("|")}|`)
        .join("\n"),
    ),
    usage,
  );
  const kinds = between(between(events, "export interface ApprovalRequest {", "\n}"), "readonly kind:", "(");
  const said = coded(/^Each is a number.*$/m.exec(text)[0]).slice(1);
  assert.deepEqual(said.toSorted(), words(kinds, /"(\w+)"/g).toSorted());
});

test("the reasons are those that are counted", () => {
  const turns = new TurnSequencer({ productSessionId: "s", generation: 0, nativeTurnIds: true });
  const reasons = Object.keys(turns.stats().dropped);
  assert.deepEqual(first(section(page, "### What makes no event")), reasons);
  const union = between(read("ts/runtime/observation.ts"), "export type DropReason", ";\n");
  assert.deepEqual(words(union, /\| "(\w+)"/g), reasons);
});

test("each number in a table of limits is the constant's", () => {
  let checked = 0;
  for (const heading of ["### Limits of a sequencer", "### Limits of a registry"]) {
    for (const [, number, cell] of rows(section(page, heading))) {
      const [name] = coded(cell);
      const [, value] = new RegExp(`const ${name}: usize = ([\\d_ <]+);`).exec(core);
      const [base, shift = "0"] = value.replaceAll("_", "").split("<<");
      assert.equal(Number(base) * 2 ** Number(shift), Number(number.replaceAll(",", "")), name);
      checked += 1;
    }
  }
  assert.equal(checked, 20);
});

test("the codes of refusals and of answers are those of the code", () => {
  const requests = section(page, "## Requests");
  const [refusals] = requests.slice(requests.indexOf("| why a request")).split("\n### ");
  const union = between(read("ts/runtime/approval.ts"), "export type RequestRefusal", ";");
  assert.deepEqual(first(refusals), words(union, /"(\w+)"/g));
  const given = words(between(core, "impl Refusal", "/// For people"), /=> "(\w+)"/g);
  assert.deepEqual(first(refusals), given);
  const registry = read("ts/runtime/approval-registry.ts");
  const codes = words(registry, /(?:refused|new TurnError)\(\s*"(\w+)"/g);
  assert.deepEqual(first(section(page, "### Errors of answers")).toSorted(), codes.toSorted());
});
