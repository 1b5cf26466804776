// The watch screen on data: text in columns, which rows are shown, keys, and lines of exactly the width.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as fc from "fast-check";
import { NOW, row } from "./support/rows.mjs";

const require = createRequire(import.meta.url);
const { cell, columnsOf, fit } = require("../dist/watch/columns.js");
const { arrange } = require("../dist/watch/items.js");
const { explanationWords } = require("../dist/watch/explanation.js");
const { render, fitEnd } = require("../dist/watch/render.js");
const { FIRST_VIEW, press } = require("../dist/watch/view.js");

const now = Date.parse(NOW);
const plain = (line) => line.replaceAll(/\p{Cc}\[[\d;]*m/gu, "");
const draw = (rows, changes = {}) =>
  render({
    rows,
    hidden: 0,
    view: FIRST_VIEW,
    explanation: [],
    notice: "",
    width: 80,
    height: 24,
    now,
    color: false,
    ...changes,
  });
const lines = (rows, changes) => draw(rows, changes).lines.map((line) => plain(line).trimEnd());

test("columns of text: wide characters, emoji, marks and what is invisible", () => {
  for (const [text, columns] of [
    ["", 0],
    ["plain", 5],
    ["é", 1],
    ["e\u0301", 1],
    ["調査", 4],
    ["ｆｕ", 4],
    ["한국", 4],
    ["\u1112\u1161\u11ab", 2],
    ["👍", 2],
    ["👍🏽", 2],
    // A family is its members: terminals disagree on the joined one.
    ["👩\u200d👩\u200d👧", 6],
    ["♥\ufe0f", 1],
    ["🇩🇪", 2],
    ["1\ufe0f\u20e3", 1],
    ["⚡", 2],
    ["─│└…", 4],
    ["\u202eabc\u2066", 3],
    ["\u200b\u00ad\ufeff\u3164", 0],
    ["\ud800", 1],
    ["a\u0000\u001b\u009bb", 2],
    ["a\u3000b", 3],
  ])
    assert.equal(columnsOf(text), columns, JSON.stringify(text));
});

test("text is cut at a column, never inside a character, and says that it is cut", () => {
  for (const [text, columns, expected] of [
    ["abc", 3, "abc"],
    ["abcd", 3, "ab…"],
    ["調査書", 6, "調査書"],
    ["調査書", 5, "調査…"],
    ["調査書", 4, "調…"],
    ["a調査", 3, "a…"],
    ["調", 1, "…"],
    ["abc", 0, ""],
    ["e\u0301e\u0301e\u0301", 2, "é…"],
    ["new\nline\ttab", 20, "new line tab"],
    ["\u001b[2Jred\u202e", 20, "[2Jred"],
  ])
    assert.equal(fit(text, columns), expected, JSON.stringify([text, columns]));
  assert.equal(cell("調", 4), "調  ");
  assert.equal(fitEnd("/a/long/path/file.jsonl", 11), "…file.jsonl");
});

test("a text of 10 MB, and one of marks only, take a bounded line", () => {
  assert.equal(fit("x".repeat(10_000_000), 10), `${"x".repeat(9)}…`);
  assert.equal(fit(`a${"\u0301".repeat(10_000_000)}b`, 10).length < 200, true);
  assert.equal(fit("\u200b".repeat(10_000_000), 10), "…");
  assert.equal(fit("\u0301".repeat(5), 10), "");
});

const DANGEROUS = /[\p{Cc}\p{Bidi_Control}\u200b-\u200d\ufeff\u2028\u2029\p{Cs}]/u;

test("any text in any width: as wide as asked for, and inert", () => {
  let cuts = 0;
  let wides = 0;
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.string({
      unit: fc.constantFrom("a", "調", "👍🏽", "\u0301", "\u202e", "\u001b[31m", "\ud83d", "\n", " "),
    }),
  );
  fc.assert(
    fc.property(text, fc.integer({ min: 0, max: 30 }), (given, columns) => {
      const shown = cell(given, columns);
      assert.equal(columnsOf(shown), columns);
      assert.ok(!DANGEROUS.test(shown));
      if (shown.includes("…")) cuts += 1;
      if (/[調👍]/u.test(shown)) wides += 1;
    }),
    { numRuns: 1000 },
  );
  assert.ok(cuts > 50 && wides > 20, `${cuts} cuts, ${wides} wide`);
});

const FAMILY = [
  row("old", { startedAt: "2026-03-02T11:00:00Z", state: "waiting", waitingReason: "prompt" }),
  row("new", {
    state: "waiting",
    waitingReason: "permission",
    attention: { id: "w", kind: "permission", since: "2026-03-02T11:59:30Z" },
    liveChildren: 1,
  }),
  row("new1", { parentKey: "new", state: "completed" }),
  row("new2", {
    parentKey: "new",
    tools: { count: 1, open: [{ toolId: "t", name: "Bash", since: "2026-03-02T11:59:48Z" }] },
  }),
  row("new2x", { parentKey: "new2", rootKey: "new", place: { cwd: "/work/two", branch: null } }),
];
const shownKeys = (changes) => arrange(FAMILY, { ...FIRST_VIEW, ...changes }).map(({ key }) => key);

test("sessions that started last come first, children as they started", () => {
  assert.deepEqual(shownKeys({}), ["new", "new1", "new2", "new2x", "old"]);
});

const waiting = (kind) =>
  row(kind, { state: "waiting", waitingReason: kind, attention: { id: kind, kind, since: NOW } });

test("a turn that ended calls for nobody; a permission, a question and a block do", () => {
  const rows = ["prompt", "permission", "question", "blocked", "other"].map(waiting);
  const shown = arrange(rows, { ...FIRST_VIEW, filter: "attention" }).map(({ key }) => key);
  assert.deepEqual(shown.toSorted(), ["blocked", "other", "permission", "question"]);
  assert.match(draw(rows).lines[0], / 4 want you, 5 sessions,/);
});

test("a filter keeps what stands above a row that it shows", () => {
  assert.deepEqual(shownKeys({ filter: "active" }), ["new", "new2", "new2x"]);
  assert.deepEqual(shownKeys({ filter: "attention" }), ["new"]);
  const idle = FAMILY.map((one) => (one.key === "new2x" ? one : { ...one, state: "completed" }));
  assert.deepEqual(
    arrange(idle, { ...FIRST_VIEW, filter: "active" }).map(({ key }) => key),
    ["new", "new2", "new2x"],
  );
});

test("folding hides what is below and counts it; grouping sets a line before the sessions of a folder", () => {
  assert.deepEqual(shownKeys({ folded: new Set(["new"]) }), ["new", "old"]);
  const [folded] = arrange(FAMILY, { ...FIRST_VIEW, folded: new Set(["new"]) });
  assert.deepEqual([folded.below, folded.folded], [3, true]);
  const rows = [...FAMILY, row("else", { place: { cwd: null, branch: null } })];
  const items = arrange(rows, { ...FIRST_VIEW, grouped: true });
  assert.deepEqual(
    items.filter(({ kind }) => kind === "folder").map(({ folder, below }) => [folder, below]),
    [
      [null, 1],
      ["/work/one", 2],
    ],
  );
});

test("the picture at 80 columns", () => {
  const picture = lines(FAMILY, { height: 10 });
  assert.deepEqual(picture, [
    " 1 wants you, 2 sessions, 3 sub-agents, 4 not ended                         all",
    "  STATE               TITLE                     DOING             EVIDENCE",
    "› waiting permission  title of new              for 30 s, 1 live  10 s ago",
    "  completed           ├─ title of new1                            lived 30 s",
    "  running             └─ title of new2          Bash 12 s         10 s ago",
    "  running                └─ title of new2x                        10 s ago",
    "  waiting prompt      title of old                                10 s ago",
    "",
    "",
    " ↑↓ select  space fold  f filter  g folders  e explain  / find  ? help  q quit",
  ]);
});

test("what is not fresh, and why a row may not be all that happened, is said", () => {
  const stale = {
    at: "2026-03-02T11:50:00Z",
    estimated: true,
    stale: true,
    reason: "silence",
    reconcile: "unavailable",
  };
  const rows = [row("a", { freshness: stale, gapDetected: true, diagnostics: { malformed: 2 } })];
  assert.match(lines(rows)[2], /^›!running .* stale ~10 min$/);
  const wide = lines(rows, { width: 140 })[2];
  assert.match(wide, /stale ~10 min, no way to ask,… +claude-code 2.1.240$/);
  const why = explanationWords(rows[0], undefined, now);
  assert.deepEqual(Object.fromEntries(why).doubts, "2 bad lines, events missing");
  assert.equal(
    Object.fromEntries(why).evidence,
    "newest at 2026-03-02T11:50:00Z: stale ~10 min, no way to ask",
  );
});

test("a dead process of one that has not ended is said before it is lost", () => {
  const evidence = { pid: 7, processAlive: "no" };
  const fresh = { ...row("a").freshness };
  const [narrow] = lines([row("a", { evidence })]).slice(2);
  assert.match(narrow, /^› running .* process dead$/);
  const wide = (changes) => lines([row("a", { evidence, ...changes })], { width: 140 })[2];
  assert.match(wide({}), / process dead, 10 s ago +claude-code/);
  assert.match(
    wide({ freshness: { ...fresh, reconcile: "unavailable" } }),
    / process dead, 10 s ago, no wa… +claude-code/,
  );
  assert.match(wide({ freshness: { ...fresh, stale: true } }), / process dead, stale 10 s +claude-code/);
  assert.doesNotMatch(wide({ state: "completed" }), /process dead/);
  assert.doesNotMatch(wide({ evidence: { pid: 7, processAlive: "unknown" } }), /process dead/);
});

test("no row at all, and none that the filter shows, are two things", () => {
  assert.equal(lines([])[2], "  No agent session found.");
  const view = { ...FIRST_VIEW, filter: "attention" };
  assert.equal(
    lines([row("a")], { view })[2],
    "  None of 1 row is shown: the filter is attention. f shows others.",
  );
});

const HOSTILE = [
  "\u001b[2J\u001b]0;x\u0007",
  "\u202eevil",
  "調".repeat(100),
  "👩\u200d👩\u200d👧",
  "\u0301".repeat(50),
  "a\nb\r\nc",
  "\ud800",
  "",
];

test("at every size, whatever the rows hold, there are as many lines as asked for, each of exactly the width", () => {
  const seen = { panels: 0, small: 0, folders: 0 };
  const text = fc.constantFrom(...HOSTILE);
  const any = fc.record({
    parent: fc.option(fc.nat(5)),
    title: fc.option(text),
    tool: fc.option(text),
    cwd: fc.option(text),
    state: fc.constantFrom("running", "waiting", "failed", "completed"),
    attention: fc.boolean(),
    stale: fc.boolean(),
  });
  const view = fc.record({
    filter: fc.constantFrom("all", "active", "attention"),
    grouped: fc.boolean(),
    folded: fc.subarray(["r0", "r1", "r2"]).map((keys) => new Set(keys)),
    panel: fc.constantFrom("none", "explain", "help"),
    typing: fc.boolean(),
    find: text,
    message: text,
    at: fc.nat(8),
    top: fc.nat(8),
  });
  const size = fc.record({
    width: fc.integer({ min: 1, max: 160 }),
    height: fc.integer({ min: 1, max: 30 }),
    color: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(any, { maxLength: 8 }), view, size, text, (given, changed, sized, notice) => {
      const rows = given.map(({ parent, title, tool, cwd, state, attention, stale }, at) =>
        row(`r${at}`, {
          parentKey: parent !== null && parent < at ? `r${parent}` : null,
          title,
          state,
          tools: { count: 1, open: tool === null ? [] : [{ toolId: "t", name: tool, since: NOW }] },
          place: { cwd, branch: null },
          attention: attention ? { id: "w", kind: "question", since: NOW } : null,
          freshness: { at: NOW, stale, reason: null, reconcile: null },
        }),
      );
      const explanation = rows.length > 0 ? explanationWords(rows[0], undefined, now) : [];
      const picture = draw(rows, { ...sized, view: { ...FIRST_VIEW, ...changed }, explanation, notice });
      assert.equal(picture.lines.length, sized.height);
      for (const line of picture.lines) {
        assert.equal(columnsOf(plain(line)), sized.width, JSON.stringify(line));
        assert.ok(!DANGEROUS.test(plain(line)), JSON.stringify(line));
      }
      const { at, top } = picture.view;
      const items = arrange(rows, picture.view).length;
      if (items > 0 && picture.page > 0) assert.ok(at >= top && at < top + picture.page, `${at} in ${top}`);
      if (changed.panel !== "none") seen.panels += 1;
      if (sized.width < 40 || sized.height < 6) seen.small += 1;
      if (changed.grouped && items > 0) seen.folders += 1;
    }),
    { numRuns: 500 },
  );
  for (const [name, times] of Object.entries(seen)) assert.ok(times > 20, `${name}: ${times}`);
});

test("columns begin at the same place in each line, also below wide titles", () => {
  const rows = [
    row("a", { title: "調査：データベースの移行手順を確認する" }),
    row("b", { title: "👍🏽 é".repeat(9) }),
    row("c"),
  ];
  for (const width of [80, 100, 140]) {
    const [, heads, ...rest] = draw(rows, { width }).lines.map(plain);
    const place = columnsOf(heads.slice(0, heads.indexOf("EVIDENCE")));
    for (const line of rest.slice(0, 3))
      assert.equal(columnsOf(line.slice(0, line.indexOf("10 s ago"))), place);
  }
});

/** The codes of the picture's escapes. */
function codes(color) {
  const { lines: drawn } = draw(FAMILY, { color });
  return new Set(drawn.flatMap((line) => [...line.matchAll(/\p{Cc}\[(\d+)m/gu)].map(([, code]) => code)));
}

test("without colours only the selected line and the frame are marked, and by no colour", () => {
  assert.deepEqual([...codes(false)].toSorted(), ["0", "2", "7"]);
  assert.ok(codes(true).has("32"));
});

/** The view after keys; each is a name, or a text of one character. */
function after(names, view = FIRST_VIEW, rows = FAMILY) {
  let next = draw(rows, { view, height: 8 });
  for (const name of names) {
    const pressed = press(
      next.view,
      { name: name.toLowerCase(), text: name.length === 1 ? name : undefined },
      rows,
      next.page,
    );
    if (pressed === "quit") return "quit";
    next = draw(rows, { view: pressed, height: 8 });
  }
  return next.view;
}

test("keys select, and stop at the ends", () => {
  for (const [names, selected] of [
    [[], "new"],
    [["j"], "new1"],
    [["down", "down", "k"], "new1"],
    [["k"], "new"],
    [["end"], "old"],
    [["end", "j"], "old"],
    [["end", "home"], "new"],
    [["pagedown"], "old"],
    [["pagedown", "pageup"], "new"],
  ])
    assert.equal(after(names).selected, selected, names.join());
});

test("keys fold, filter, group, open panels and quit", () => {
  assert.deepEqual([...after(["space"]).folded], ["new"]);
  assert.deepEqual([...after(["return", "return"]).folded], []);
  assert.deepEqual([...after(["left", "left"]).folded], ["new"]);
  assert.deepEqual([...after(["left", "right"]).folded], []);
  // A row with nothing below does not fold.
  assert.deepEqual([...after(["end", "space"]).folded], []);
  assert.deepEqual(
    [after(["f"]).filter, after(["f", "f"]).filter, after(["f", "f", "f"]).filter],
    ["active", "attention", "all"],
  );
  // What the filter takes away gives its place to what stands there now.
  assert.equal(after(["end", "f"]).selected, "new2x");
  assert.equal(after(["g"]).grouped, true);
  assert.equal(after(["g", "k", "space"]).selected, "\0/work/one");
  assert.deepEqual(
    [after(["e"]).panel, after(["e", "e"]).panel, after(["e", "escape"]).panel],
    ["explain", "none", "none"],
  );
  assert.equal(after(["?"]).panel, "help");
  assert.equal(after(["q"]), "quit");
  assert.equal(press(FIRST_VIEW, { name: "c", ctrl: true }, FAMILY, 5), "quit");
  assert.equal(press({ ...FIRST_VIEW, typing: true }, { name: "c", ctrl: true }, FAMILY, 5), "quit");
});

test("/ finds text, unfolds it, and n and N go on from there", () => {
  assert.equal(after(["/", "O", "L", "D"]).selected, "old");
  assert.equal(after(["/", "q"]).typing, true);
  const found = after(["space", "/", "2", "x", "return"]);
  assert.deepEqual([found.selected, [...found.folded], found.typing], ["new2x", [], false]);
  assert.equal(after(["/", "b", "a", "s", "h"]).selected, "new2");
  assert.equal(after(["/", "n", "e", "w", "return", "n", "n"]).selected, "new2");
  assert.equal(after(["/", "n", "e", "w", "return", "N"]).selected, "new2x");
  assert.match(after(["/", "z", "z"]).message, /nothing here has "zz"/);
  assert.deepEqual([after(["/", "z", "escape"]).find, after(["/", "z", "backspace"]).find], ["", ""]);
});

test("the selected row stays selected while rows come above it, and its place is kept when it goes", () => {
  const view = after(["j", "j"]);
  const more = [...FAMILY, row("newest", { startedAt: "2026-03-02T11:59:59Z" })];
  assert.deepEqual([draw(more, { view }).view.selected, draw(more, { view }).view.at], ["new2", 3]);
  const fewer = FAMILY.filter(({ key }) => !key.startsWith("new2"));
  assert.equal(draw(fewer, { view }).view.selected, "old");
});

test("an explanation names records by their journal and place", () => {
  const evidence = [
    { journal: "/work/a.jsonl", offset: 12, recordType: "assistant", at: NOW, effect: "turn began" },
    { journal: "/work/b.jsonl", offset: 3, recordType: "result", at: NOW, effect: "running", inferred: true },
    { journal: null, offset: null, recordType: "process", at: NOW, effect: "failed" },
    {
      journal: "/work/c.jsonl",
      offset: 9,
      recordType: "terminal",
      at: NOW,
      effect: "late_evidence",
      eventId: "e7",
      sequence: 7,
    },
  ];
  const one = row("a", {
    state: "failed",
    outcome: { terminal: "failed", exitCode: 2, cause: "known" },
    evidence: { pid: 7, processAlive: "no" },
  });
  const why = {
    source: one.source,
    childId: "a",
    state: "failed",
    waitingReason: null,
    evidence,
    stale: null,
    reconciliation: { reason: "stale", deadlineAt: NOW, asked: "pending" },
    freshness: { at: NOW, evidence: evidence[1] },
    lateEvidence: {
      count: 18,
      recent: [
        { eventId: "e7", kind: "terminal", state: "completed", observedAt: NOW, code: "late_evidence" },
      ],
    },
  };
  assert.deepEqual(explanationWords(one, why, now), [
    ["title", "title of a"],
    ["key", "a"],
    ["program", "claude-code 2.1.240 in /work/one"],
    ["state", "failed since 2026-03-02T11:59:30Z (30 s)"],
    ["ended", "exit code 2, cause known"],
    ["evidence", "newest at 2026-03-02T11:59:50Z: 10 s ago"],
    ["process", "7 is gone"],
    ["asked", "because of stale; an answer is waited for until 2026-03-02T12:00:00Z"],
    ["record", "2026-03-02T12:00:00Z [1] byte 12 assistant: turn began"],
    ["record", "2026-03-02T12:00:00Z [2] byte 3 result: running (in no record: the next step needs it)"],
    ["record", "2026-03-02T12:00:00Z process: failed"],
    ["record", "2026-03-02T12:00:00Z [3] byte 9 terminal: late_evidence, sequence 7, event e7"],
    ["fresh by", "2026-03-02T12:00:00Z [2] byte 3 result: running (in no record: the next step needs it)"],
    ["late", "2026-03-02T12:00:00Z terminal completed: late_evidence, event e7"],
    ["late", "and 17 before these"],
    ["[1]", "/work/a.jsonl"],
    ["[2]", "/work/b.jsonl"],
    ["[3]", "/work/c.jsonl"],
  ]);
  const asked = (word) => {
    const said = explanationWords(
      one,
      { ...why, reconciliation: { ...why.reconciliation, asked: word } },
      now,
    );
    return said.find(([name]) => name === "asked")[1];
  };
  assert.equal(asked("unasked"), "because of stale; this program asked nobody");
  assert.match(asked("unanswered"), /no answer came/);
});
