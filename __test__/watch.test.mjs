// `watch` and `explain` as a user runs them, over rows that the test holds: lines, changes, and a screen in a real terminal.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import fs from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { createRowStore } from "agent-lifecycle/client";
import { row } from "./support/rows.mjs";

const require = createRequire(import.meta.url);
const { columnsOf, fit } = require("../dist/watch/columns.js");
const { openScreen } = require("../dist/watch/screen.js");
const host = path.join(import.meta.dirname, "support", "watch-host.mjs");

/** A file of rows, and how to give it others. */
function rowsFile(t, rows, explanations = {}) {
  const folder = fs.mkdtempSync(path.join(tmpdir(), "agent-lifecycle-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, "rows.json");
  const set = (next, more = {}) => {
    fs.writeFileSync(`${file}.new`, JSON.stringify({ rows: next, explanations, ...more }));
    fs.renameSync(`${file}.new`, file);
  };
  set(rows);
  return { file, set };
}

/** The command while it runs; `until` waits for so many lines of its output. */
function start(t, ...args) {
  const child = spawn(process.execPath, [host, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  const lines = () => said.split("\n").slice(0, -1);
  return {
    child,
    async until(count) {
      while (lines().length < count) await once(child.stdout, "data");
      return lines();
    },
    async end(signal) {
      child.kill(signal);
      return (await once(child, "close"))[0];
    },
  };
}

test("off a terminal each change of a state is a line, and a signal ends it", async (t) => {
  const hostile = "\u001b[2Jone\ntwo\u202e";
  const { file, set } = rowsFile(t, [
    row("a"),
    row("b", { title: hostile, startedAt: "2026-03-02T11:59:10Z" }),
  ]);
  const run = start(t, "watch", file);
  await run.until(2);
  const waits = { state: "waiting", waitingReason: "question", stateSince: "2026-03-02T12:00:01Z" };
  // What is no new state is no line.
  set([row("a", waits), row("b", { title: hostile, startedAt: "2026-03-02T11:59:10Z", liveChildren: 4 })]);
  await run.until(3);
  set([row("a", waits)]);
  const lines = await run.until(4);
  assert.deepEqual(lines.slice(0, 3), [
    "2026-03-02T11:59:30Z     running                    title of a",
    "2026-03-02T11:59:30Z     running                    [2Jone two",
    "2026-03-02T12:00:01Z     waiting question           title of a",
  ]);
  assert.match(lines[3], /^\d{4}-.{18}Z removed {20}\[2Jone two$/);
  assert.equal(await run.end("SIGTERM"), 0);
});

test("a process that is found dead is a line of its own, before anything is concluded", async (t) => {
  const { file, set } = rowsFile(t, [row("a")]);
  const run = start(t, "watch", file);
  await run.until(1);
  const evidence = { pid: 7, processAlive: "no" };
  set([row("a", { evidence })]);
  await run.until(2);
  set([row("a", { evidence, freshness: { ...row("a").freshness, stale: true } })]);
  const lines = await run.until(3);
  assert.match(lines[1], /Z running \(process dead\) {5}title of a$/);
  assert.match(lines[2], /Z running \(process dead, stale\) title of a$/);
  await run.end("SIGTERM");
});

test("--jsonl gives changes with their cursors, and --cursor goes on from one", async (t) => {
  const { file, set } = rowsFile(t, [row("a"), row("b")]);
  const run = start(t, "watch", file, "--jsonl");
  await run.until(1);
  set([row("a", { title: "new" })]);
  const batches = (await run.until(2)).map((line) => JSON.parse(line));
  assert.deepEqual(
    batches.map(({ cursor, upserted, removed, reset }) => [
      cursor,
      upserted.map(({ key }) => key),
      removed,
      reset,
    ]),
    [
      ["fake.0", ["a", "b"], [], true],
      ["fake.1", ["a"], ["b"], false],
    ],
  );
  const store = createRowStore();
  for (const batch of batches) store.apply(batch);
  assert.deepEqual(
    store.snapshot().map(({ title }) => title),
    ["new"],
  );
  assert.equal(await run.end("SIGINT"), 0);
  for (const [cursor, reset] of [
    ["fake.0", false],
    ["from elsewhere", true],
  ]) {
    const again = start(t, "watch", file, "--json-lines", "--cursor", cursor);
    const [first] = await again.until(1);
    assert.equal(JSON.parse(first).reset, reset, cursor);
    await again.end("SIGTERM");
  }
});

test("explain says why, by key, id or the beginning of an id", (t) => {
  const evidence = [
    {
      journal: "/work/j\u001b[31m.jsonl",
      offset: 12,
      recordType: "assistant",
      at: "2026-03-02T11:59:30Z",
      effect: "turn began",
    },
  ];
  const explanations = {
    a: {
      source: "claude-code/one",
      childId: "alpha",
      state: "running",
      waitingReason: null,
      stale: null,
      reconciliation: null,
      evidence,
      freshness: { at: "2026-03-02T11:59:30Z", evidence: evidence[0] },
      lateEvidence: { count: 0, recent: [] },
    },
  };
  const rows = [
    row("alpha", { key: "a" }),
    row("alpine"),
    row("beta", { title: "x\ny" }),
    row("gamma", { key: "mine/1#gamma" }),
    row("delta", { key: "mine/2#delta" }),
  ];
  const { file } = rowsFile(t, rows, explanations);
  const run = (...args) =>
    spawnSync(process.execPath, [host, "explain", file, ...args], { encoding: "utf8" });
  for (const id of ["a", "alpha", "alph"]) {
    const { stdout, status } = run(id);
    assert.equal(status, 0);
    assert.match(
      stdout,
      /^title +title of alpha\nkey +a\nprogram +claude-code .*\nstate +running since 2026-03-02T11:59:30Z /,
    );
    assert.match(
      stdout,
      /\nrecord +2026-03-02T11:59:30Z \[1\] byte 12 assistant: turn began\nfresh by .*\n\[1\] +\/work\/j\[31m\.jsonl\n$/,
    );
    assert.equal(JSON.parse(run(id, "--json").stdout).explanation.evidence[0].offset, 12);
  }
  assert.match(run("beta").stdout, /^title +x y\n/);
  const several = run("al");
  assert.equal(several.status, 2);
  assert.match(
    several.stderr,
    /^"al" is 2 rows; name one by its key:\n {2}a \(running, title of alpha\)\n {2}alpine /,
  );
  // A key by its beginning too.
  assert.match(run("mine/1").stdout, /\nkey +mine\/1#gamma\n/);
  assert.match(run("mine/").stderr, /^"mine\/" is 2 rows;.*:\n {2}mine\/1#gamma .*\n {2}mine\/2#delta /);
  assert.match(run("nobody").stderr, /^there is no row "nobody", .*`agent-lifecycle status --json --all`/);
  for (const args of [["nobody"], [], ["a", "--what"]]) assert.equal(run(...args).status, 2, args.join());
});

test("explain reads once: where nobody is asked it promises no answer", (t) => {
  const question = { reason: "process_dead", deadlineAt: "2026-03-02T12:00:20Z", asked: "pending" };
  const unanswered = { ...question, asked: "unanswered" };
  const why = {
    source: "mine/1",
    childId: "a",
    state: "running",
    waitingReason: null,
    stale: null,
    evidence: [],
    freshness: { at: "2026-03-02T11:59:30Z", evidence: null },
    lateEvidence: { count: 0, recent: [] },
  };
  const pending = { ...row("a").freshness, reconcile: "pending" };
  const dead = { evidence: { pid: 7, processAlive: "no" }, freshness: pending };
  const snapshot = { ...row("a").capabilities, snapshot: "known" };
  const rows = [row("a", dead), row("b", { ...dead, capabilities: snapshot }), row("c", dead)];
  const { file } = rowsFile(t, rows, {
    a: { ...why, reconciliation: question },
    b: { ...why, reconciliation: question },
    c: { ...why, reconciliation: unanswered },
  });
  const run = (...args) =>
    spawnSync(process.execPath, [host, "explain", file, ...args], { encoding: "utf8" }).stdout;
  const said = run("a");
  assert.match(said, /\nasked +because of process_dead; this program asked nobody\n/);
  assert.match(said, /\nevidence .*: process dead, .* ago, no way to ask\n/);
  assert.doesNotMatch(said, /12:00:20/);
  const of = (id) => {
    const { row: shown, explanation } = JSON.parse(run(id, "--json"));
    return [shown.freshness.reconcile, explanation.reconciliation];
  };
  const open = { reason: "process_dead", asked: "unasked" };
  assert.deepEqual(of("a"), ["unavailable", open]);
  assert.deepEqual(of("b"), ["pending", open], "its source gives snapshots");
  assert.deepEqual(of("c"), ["pending", unanswered]);
});

test("unusable arguments of watch", (t) => {
  const { file } = rowsFile(t, []);
  for (const args of [["--what"], ["--cursor", "c"], [""]]) {
    const { status } = spawnSync(process.execPath, [host, "watch", file, ...args], { timeout: 10_000 });
    assert.equal(status, 2, args.join());
  }
});

/** A terminal that keeps what is written to it. */
function terminal() {
  const input = Object.assign(new EventEmitter(), { setRawMode() {}, resume() {}, pause() {} });
  const written = [];
  // A file descriptor that takes nothing, so that leaving falls back on the stream.
  const output = Object.assign(new EventEmitter(), {
    fd: -1,
    columns: 10,
    rows: 3,
    write: (text) => written.push(text) > 0,
  });
  let changes = 0;
  const screen = openScreen({ input, output, onKey() {}, onChange: () => (changes += 1) });
  return { screen, output, written, changes: () => changes, take: () => written.splice(0).join("") };
}

test("only lines that changed are written; another size draws all; closing puts everything back once", () => {
  const { screen, output, changes, take } = terminal();
  take();
  screen.draw(["one", "two", "three"]);
  assert.equal(take(), "\u001b[1;1Hone\u001b[2;1Htwo\u001b[3;1Hthree");
  screen.draw(["one", "2", "three"]);
  assert.equal(take(), "\u001b[2;1H2");
  screen.draw(["one", "2", "three"]);
  assert.equal(take(), "");
  output.emit("resize");
  assert.deepEqual([changes(), take().includes("\u001b[2J")], [1, true]);
  screen.draw(["one", "2", "three"]);
  assert.match(take(), /1Hone.*1H2.*1Hthree/);
  screen.close();
  assert.equal(take(), "\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l");
  screen.close();
  screen.draw(["late"]);
  assert.equal(take(), "");
});

test("a terminal that is behind gets the newest picture when it has caught up", () => {
  const { screen, output, changes, take } = terminal();
  const write = output.write;
  output.write = (text) => (write(text), false);
  screen.draw(["one"]);
  take();
  screen.draw(["two"]);
  assert.equal(take(), "");
  output.emit("drain");
  assert.equal(changes(), 1);
  screen.draw(["three"]);
  assert.equal(take(), "\u001b[1;1Hthree");
  screen.close();
});

const hasTmux = spawnSync("tmux", ["-V"]).status === 0;

/** The command on a terminal of its own, in a shell that says how it ended. */
function inTmux(t, width, height, file, env = "") {
  const socket = path.join(path.dirname(file), `tmux-${width}-${height}`);
  const tmux = (...args) =>
    spawnSync("tmux", ["-S", socket, "-f", "/dev/null", ...args], {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C.UTF-8" },
    }).stdout;
  const command = `echo before; ${env} '${process.execPath}' '${host}' watch '${file}'; echo ended $?; exec cat`;
  tmux("new-session", "-d", "-x", `${width}`, "-y", `${height}`, command, ";", "set", "-g", "status", "off");
  tmux("resize-window", "-x", `${width}`, "-y", `${height}`);
  t.after(() => tmux("kill-server"));
  const capture = (...args) =>
    tmux("capture-pane", "-p", ...args)
      .split("\n")
      .slice(0, -1);
  return {
    keys: (...names) => tmux("send-keys", ...names),
    resize: (x, y) => tmux("resize-window", "-x", `${x}`, "-y", `${y}`),
    flags: () => tmux("display", "-p", "#{alternate_on} #{cursor_flag} #{wrap_flag}").trim(),
    pid: () =>
      Number(
        spawnSync("pgrep", ["-P", tmux("display", "-p", "#{pane_pid}").trim(), "-f", "watch-host"], {
          encoding: "utf8",
        }).stdout.split("\n")[0],
      ),
    capture,
    async until(matches, ...args) {
      const deadline = Date.now() + 20_000;
      for (;;) {
        const lines = capture(...args);
        if (matches(lines)) return lines;
        assert.ok(Date.now() < deadline, `never seen:\n${lines.join("\n")}`);
        await pause(30);
      }
    },
  };
}

const text = (lines) => lines.join("\n");
const HOSTILE = "\u001b[2J\u001b]0;owned\u0007\u202eevil\u202c\r\n\u0000 end";
const ROWS = [
  row("plain", { state: "waiting", waitingReason: "permission" }),
  row("wide", { parentKey: "plain", title: "調査：データベースの移行手順を確認する 👩\u200d👩\u200d👧" }),
  row("marks", { parentKey: "plain", title: `${"e\u0301".repeat(30)} 👍🏽 ♥\ufe0f 🇩🇪` }),
  row("huge", { title: "x".repeat(10_000_000) }),
  row("hostile", { title: HOSTILE, place: { cwd: HOSTILE, branch: null } }),
].map((one) => ({
  ...one,
  freshness: { at: "2020-01-01T00:00:00Z", stale: true, reason: "silence", reconcile: null },
}));

for (const [width, height] of [
  [80, 24],
  [140, 50],
]) {
  test(
    `in a terminal of ${width}x${height} columns align, nothing wraps, and hostile text is inert`,
    { skip: !hasTmux },
    async (t) => {
      const { file } = rowsFile(t, ROWS);
      const shown = inTmux(t, width, height, file);
      const lines = await shown.until((all) => /q quit/.test(text(all)));
      assert.equal(lines.length, height);
      assert.match(lines[0], /^ 3 sessions, 2 sub-agents, 5 not ended, 5 stale, 3 older not s/);
      assert.match(lines.at(-1), /q quit/);
      assert.ok(!text(lines).includes("before"), "the alternate screen is on");
      const place = columnsOf(lines[1].slice(0, lines[1].indexOf("EVIDENCE")));
      const body = lines.slice(2, 7);
      for (const line of body) assert.equal(columnsOf(line.slice(0, line.indexOf("stale "))), place, line);
      for (const line of lines) assert.ok(columnsOf(line) <= width, line);
      assert.equal(body.filter((line) => line.includes("owned")).length, 1);
      assert.deepEqual(
        lines.slice(7, -1).filter((line) => line !== ""),
        [],
      );
      shown.keys("g");
      await shown.until((all) => /by folder/.test(all[0]));
    },
  );
}

test(
  "changes, keys, another size, and the end of the screen in a terminal",
  { skip: !hasTmux },
  async (t) => {
    const { file, set } = rowsFile(t, [row("a")]);
    const shown = inTmux(t, 80, 24, file, "NO_COLOR=1");
    await shown.until((all) => /title of a/.test(text(all)));
    set([row("a", { title: "another title" }), row("b", { parentKey: "a" })]);
    await shown.until((all) => /another title/.test(text(all)) && /└─ title of b/.test(text(all)));
    shown.keys("Space");
    await shown.until((all) => /\[\+1\] another title/.test(text(all)));
    shown.keys("/", "t", "i", "t", "l", "e", " ", "o", "f");
    await shown.until((all) => /^› running +└─ title of b/m.test(text(all)));
    shown.keys("Enter", "e");
    await shown.until((all) => /── why/.test(text(all)) && / key +b/.test(text(all)));
    shown.keys("Escape");
    await shown.until((all) => !/── why/.test(text(all)));
    shown.resize(60, 12);
    const small = await shown.until((all) => all.length === 12 && all.at(-1).startsWith(" ↑↓ select"));
    assert.match(small[1], /STATE/);
    assert.equal(shown.flags(), "1 0 0");
    const coloured = /\p{Cc}\[(?:\d+;)*(?:3[0-8]|4[0-8]|9\d|10\d)(?:;\d+)*m/u;
    assert.ok(!coloured.test(text(shown.capture("-e"))), "no colour under NO_COLOR");
    shown.keys("q");
    const after = await shown.until((all) => /ended 0/.test(text(all)));
    assert.match(after[0], /^before/);
    assert.equal(shown.flags(), "0 1 1");
  },
);

test("a terminal sees the columns of a text as they are counted", { skip: !hasTmux }, async (t) => {
  const { file } = rowsFile(t, []);
  const texts = [
    "plain",
    "調査：データベース",
    "ｆｕｌｌ 한국어 Ⅳ",
    "e\u0301e\u0301",
    "👩\u200d👩\u200d👧",
    "👍🏽 ♥\ufe0f ⚡ 🎉",
    "🇩🇪",
    "1\ufe0f\u20e3",
    "\u1112\u1161\u11ab",
    "├─ └─ │ … › ⋯",
    "ไทย ที่ नमस्ते",
    "\u0301".repeat(9),
    "\ud800 \u3000 \u00a0",
  ];
  const folder = path.dirname(file);
  const tmux = (...args) =>
    spawnSync("tmux", ["-S", path.join(folder, "widths"), "-f", "/dev/null", ...args], {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C.UTF-8" },
    }).stdout;
  t.after(() => tmux("kill-server"));
  for (const [at, given] of texts.entries()) {
    fs.writeFileSync(path.join(folder, `${at}`), `${fit(given, 60)}.`);
    const command = `cat '${path.join(folder, `${at}`)}'; exec cat`;
    tmux(
      at === 0 ? "new-session" : "new-window",
      "-d",
      ...(at === 0 ? ["-x", "80", "-y", "24"] : []),
      command,
    );
  }
  const expected = texts.map((given) => columnsOf(given) + 1);
  const deadline = Date.now() + 20_000;
  for (;;) {
    const places = tmux("list-windows", "-F", "#{cursor_x}").trim().split("\n").map(Number);
    if (places.every((place) => place > 0)) {
      assert.deepEqual(places, expected);
      break;
    }
    assert.ok(Date.now() < deadline, `${places}`);
    await pause(30);
  }
});

for (const [how, end, said] of [
  ["SIGTERM", ({ pid }) => process.kill(pid(), "SIGTERM"), /ended 0/],
  ["ctrl-c", ({ keys }) => keys("C-c"), /ended 0/],
  ["a crash", (_, set) => set([], { crash: true }), /crashed on purpose[\s\S]*ended 1/],
]) {
  test(`after ${how} the terminal is as it was`, { skip: !hasTmux }, async (t) => {
    const { file, set } = rowsFile(t, [row("a")]);
    const shown = inTmux(t, 80, 24, file);
    await shown.until((all) => /title of a/.test(text(all)));
    end(shown, set);
    const after = await shown.until((all) => said.test(text(all)));
    assert.match(after[0], /^before/);
    assert.equal(shown.flags(), "0 1 1");
  });
}

test("ctrl-z gives the terminal back, and the screen comes again", { skip: !hasTmux }, async (t) => {
  const { file } = rowsFile(t, [row("a")]);
  const shown = inTmux(t, 80, 24, file);
  await shown.until((all) => /title of a/.test(text(all)));
  shown.keys("C-z");
  await shown.until(() => shown.flags() === "0 1 1");
  process.kill(shown.pid(), "SIGCONT");
  await shown.until((all) => /title of a/.test(text(all)) && shown.flags() === "1 0 0");
  shown.keys("q");
  await shown.until((all) => /ended 0/.test(text(all)));
});
