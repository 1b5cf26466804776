// docs/watch.md says what is so: the picture is drawn, the example runs, and the keys are those of the screen.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";
import { createRowStore } from "agent-lifecycle/client";
import { blocks, coded, rows, section } from "./support/markdown.mjs";

const require = createRequire(import.meta.url);
const { render } = require("../dist/watch/render.js");
const { FIRST_VIEW, press } = require("../dist/watch/view.js");

const root = path.dirname(import.meta.dirname);
const page = fs.readFileSync(path.join(root, "docs/watch.md"), "utf8");
const run = (args) => spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" }).stdout;

test("the picture is what is drawn of a recorded session", () => {
  const now = "2026-03-03T14:01:47.220Z";
  const session = "fixtures/claude-code/three-subagents";
  const status = run(["dist/cli/main.js", "status", session, "--json", "--now", now]);
  const model = { hidden: 0, view: FIRST_VIEW, explanation: [], notice: "", color: false };
  const { lines } = render({
    ...model,
    rows: JSON.parse(status).rows,
    width: 100,
    height: 8,
    now: Date.parse(now),
  });
  const drawn = lines.map((line) => line.replaceAll(/\p{Cc}\[\d+m/gu, "").trimEnd());
  const [picture] = blocks(section(page, "## The screen"), "text");
  assert.equal(`${drawn.join("\n")}\n`, picture);
});

test("the example prints what is said", () => {
  const text = section(page, "## Rows in a process of one's own");
  const [example] = blocks(text, "js");
  assert.equal(run(["--input-type=module", "--eval", example]), blocks(text, "text")[0]);
  const members = rows(text).map(([cell]) => /^\w+/.exec(coded(cell)[0])[0]);
  assert.deepEqual(members.toSorted(), Object.keys(createRowStore()).toSorted());
});

test("each key of one letter is one that does something", () => {
  const letters = rows(section(page, "## The screen"))
    .flatMap(([cell]) => coded(cell))
    .filter((key) => /^[a-z?/]$/.test(key));
  assert.ok(letters.length >= 7, letters.join());
  const none = { ...FIRST_VIEW, selected: null };
  for (const key of letters.filter((name) => !"jk".includes(name)))
    assert.notEqual(press(none, { name: key, text: key }, [], 5), none, key);
});
