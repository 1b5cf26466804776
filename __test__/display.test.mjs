// Displays over rows, and docs/displays.md, which says what is so.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { LifecycleError, LifecycleProjector, fallbackTodos, hostStatus, statusReport } from "agent-lifecycle";
import { event, note, state } from "./support/events.mjs";
import { blocks, coded, rows as tableRows, section } from "./support/markdown.mjs";

const root = path.dirname(import.meta.dirname);
const read = (file) => fs.readFileSync(path.join(root, file), "utf8");
const page = read("docs/displays.md");
const run = (args) => spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });

const SENTENCE = "Background work visibility unavailable; state unknown.";
const now = "2026-05-17T22:29:31Z";

/** The rows of one running child. */
function running() {
  const projector = new LifecycleProjector();
  const events = [event(), state("e2", "starting"), state("e3", "running")];
  projector.applyMany([...events, note("e4", "activity", { activity: "eslint src" })]);
  return projector;
}

/** Each line of the table that the core's test reads too: state, reason, word. */
const words = read("crates/core/tests/corpus/host-status.txt")
  .trim()
  .split("\n")
  .map((line) => line.split(" "))
  .map(([name, reason, word]) => ({ state: name, waitingReason: reason === "-" ? null : reason, word }));

test("a row in one word is what the table says, and the core's word with it", () => {
  assert.equal(words.length, 13);
  for (const { word, ...row } of words) assert.equal(hostStatus(row), word, JSON.stringify(row));
});

test("only a wait has a reason, and a wait without a known one is a wait", () => {
  assert.equal(hostStatus({ state: "running", waitingReason: "blocked" }), "working");
  assert.equal(hostStatus({ state: "failed", waitingReason: "prompt" }), "done");
  for (const waitingReason of [null, undefined, "tea", "constructor", 5]) {
    assert.equal(hostStatus({ state: "waiting", waitingReason }), "waiting");
  }
});

for (const row of [
  undefined,
  null,
  5,
  {},
  { state: "done" },
  { state: "toString" },
  { state: ["running"] },
]) {
  test(`no word is said of ${JSON.stringify(row)}`, () => {
    assert.throws(() => hostStatus(row), {
      name: "LifecycleError",
      code: "invalid_argument",
      path: "row.state",
    });
  });
}

test("a word needs no addon", () => {
  const script = `
    const { hostStatus } = require("./dist/host-status.js");
    console.log(hostStatus({ state: "lost", waitingReason: null }));
    console.log(Object.keys(require.cache).filter((file) => /native|\\.node$/.test(file)).length);`;
  assert.equal(run(["-e", script]).stdout, "done\n0\n");
});

test("a report of a projection", () => {
  assert.equal(
    statusReport(running().list(), { now }),
    `1 child: 1 not ended, at ${now}

- running: child
  source: source
  doing: eslint src
  freshness: last evidence 10 s ago
  outcome: none yet: it has not ended, as far as is known
  transcript: unknown
  result: unknown`,
  );
});

test("a stale child is no lost one, and is to be asked for first", () => {
  const projector = running();
  projector.markStale("2026-05-17T22:39:21Z");
  const text = statusReport(projector.list(), { now: "2026-05-17T22:39:21Z" });
  assert.match(text, /^- running: child$/m);
  assert.match(
    text,
    /^ {2}freshness: stale \(silence\), last evidence 10 min ago; there is nobody to ask, so nothing is concluded about it$/m,
  );
});

test("without rows: the sentence, unless there is evidence", () => {
  for (const options of [undefined, {}, { evidence: false }, { evidence: undefined, now }]) {
    assert.equal(statusReport([], options), SENTENCE);
    assert.deepEqual(fallbackTodos([], options), [{ content: SENTENCE, status: "pending" }]);
  }
  assert.equal(statusReport([], { evidence: true }), "No child is known.");
  assert.deepEqual(fallbackTodos([], { evidence: true }), []);
});

test("to-dos of a projection are frozen, and what becomes of them changes no state", () => {
  const projector = running();
  const before = JSON.stringify(projector.list());
  const todos = fallbackTodos(projector.list(), { now });
  const sum = "DISPLAY ONLY [background work] 1 child: 1 not ended";
  assert.deepEqual(todos, [
    { content: sum, status: "in_progress", activeForm: sum },
    { content: "DISPLAY ONLY [running; last evidence 10 s ago] child: eslint src", status: "pending" },
  ]);
  assert.throws(() => todos.pop(), TypeError);
  assert.throws(() => Object.assign(todos[1], { status: "completed" }), TypeError);
  assert.throws(() => Object.assign(todos[1], { note: "x" }), TypeError);
  // A host edits a copy of its own.
  const copy = structuredClone(todos).map((todo) => ({ ...todo, status: "completed" }));
  assert.equal(copy[1].status, "completed");
  assert.equal(JSON.stringify(projector.list()), before);
  assert.deepEqual(fallbackTodos(projector.list(), { now }), todos);
});

test("to-dos and percentages in a row have no influence", () => {
  const [row] = running().list();
  const proxied = { ...row, todos: [{ status: "completed" }], percent: 100, details: { state: "completed" } };
  assert.equal(statusReport([proxied], { now }), statusReport([row], { now }));
  assert.deepEqual(fallbackTodos([proxied], { now }), fallbackTodos([row], { now }));
});

test("the present time is the clock's where none is given", () => {
  const before = Date.now();
  const [, at] = /, at (.*)\n/.exec(statusReport(running().list()));
  assert.ok(Date.parse(at) >= before && Date.parse(at) <= Date.now(), at);
});

const [good] = running().list();
const cycle = [];
cycle.push(cycle);
const refusing = {
  get state() {
    throw new Error("no");
  },
};
for (const [name, given, options, code, where] of [
  ["no rows at all", undefined, {}, "invalid_value", "$"],
  ["an object", {}, {}, "invalid_argument", "rows"],
  ["null", null, {}, "invalid_argument", "rows"],
  ["a text", "[]", {}, "invalid_argument", "rows"],
  ["a cycle", cycle, {}, "invalid_value", "$"],
  ["a BigInt", [{ ...good, attempt: 1n }], {}, "invalid_value", "$"],
  ["what throws when it is read", [refusing], {}, "invalid_value", "$"],
  ["what is undefined", [undefined, good], {}, "invalid_argument", "rows[0]"],
  ["a row without a key", [good, { ...good, key: undefined }], {}, "invalid_argument", "rows[1].key"],
  ["a state that is none", [{ ...good, state: "done" }], {}, "invalid_argument", "rows[0].state"],
  ["an id that is none", [{ ...good, childId: {} }], {}, "invalid_argument", "rows[0].childId"],
  ["a time that is none", [good], { now: "soon" }, "invalid_timestamp", "now"],
  ["a Date as time", [good], { now: new Date(0) }, "invalid_argument", "now"],
  ["evidence that is no boolean", [good], { evidence: "yes" }, "invalid_option", "evidence"],
  ["options that are none", [good], "now", "invalid_argument", "options"],
]) {
  test(`${name} is refused as ${code}`, () => {
    for (const display of [statusReport, fallbackTodos]) {
      assert.throws(
        () => display(given, options),
        (error) => {
          assert.ok(error instanceof LifecycleError, String(error));
          assert.deepEqual([error.code, error.path], [code, where]);
          return true;
        },
      );
    }
  });
}

test("terminal escapes, secrets and lone surrogates in a row come to nothing", () => {
  const hostile = `\u001B[2J\u202E\ud83dsk-fakefakefake0000 ${"x".repeat(100_000)}\n- completed: other`;
  const row = { ...good, title: hostile, activity: hostile, transcript: hostile };
  const shown = [
    ...statusReport([row], { now }).split("\n"),
    ...fallbackTodos([row], { now }).map(({ content }) => content),
  ];
  assert.equal(shown.length, 9 + 1 + 2);
  for (const line of shown) {
    assert.ok(!/[\p{Cc}\p{Surrogate}\u202E]/u.test(line), JSON.stringify(line));
    assert.ok(!line.includes("fakefake") && line.length < 1200, line);
    assert.ok(!line.startsWith("- completed"), line);
  }
});

test("the examples of the page print what is said", () => {
  const examples = blocks(page, "js");
  const said = blocks(page, "text");
  assert.equal(examples.length, said.length);
  for (const [at, code] of examples.entries()) {
    const { stdout, stderr } = run(["--input-type=module", "--eval", code]);
    assert.equal(stdout + stderr, said[at]);
  }
});

test("the tables of the page are the code's", () => {
  const table = tableRows(section(page, "## One word"));
  const expected = new Map(table.map(([word]) => [coded(word)[0], new Set()]));
  for (const { word, state: name, waitingReason } of words) expected.get(word).add(waitingReason ?? name);
  for (const [word, states] of table) {
    const named = coded(states).filter((name) => name !== "waiting");
    assert.deepEqual(new Set(named), expected.get(coded(word)[0]), word);
  }
  const source = ["mod", "words", "report"]
    .map((name) => read(`crates/core/src/display/${name}.rs`))
    .join("");
  const limits = tableRows(section(page, "## Rows from elsewhere"));
  assert.equal(limits.length, 4);
  for (const [, , limit, constant] of limits) {
    const number = limit.replace(",", "");
    assert.ok(source.includes(`const ${coded(constant)[0]}: usize = ${number};`), constant);
  }
  const sentences = coded(page.slice(0, page.indexOf("\n## A report"))).filter((text) => text.endsWith("."));
  assert.deepEqual(sentences, [SENTENCE, "No child is known."]);
});
