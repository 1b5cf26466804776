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
  const given = words(core, /Self::(?:TooMany|TooLarge\(_\)|Invalid\(_\)) => "(\w+)"/g);
  assert.deepEqual(first(refusals), given);
  const registry = read("ts/runtime/approval-registry.ts");
  const codes = words(registry, /(?:refused|new TurnError)\(\s*"(\w+)"/g);
  assert.deepEqual(first(section(page, "### Errors of answers")).toSorted(), codes.toSorted());
});
