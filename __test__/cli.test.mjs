// The command as a user runs it: real processes, real files, exit codes, and what is printed.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { event, state } from "./support/events.mjs";

const root = path.dirname(import.meta.dirname);
const fixture = (name) => path.join(root, "fixtures", "claude-code", name, "0-bytes.jsonl");
const NO_EVIDENCE = "Background work visibility unavailable; state unknown.\n";

function temporary(t) {
  const folder = mkdtempSync(path.join(tmpdir(), "agent-lifecycle-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Runs the command in a home folder of its own. */
function run(args, { home = "/nonexistent", env = {}, cwd = root } = {}) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [path.join(root, "dist", "cli", "main.js"), ...args],
    {
      cwd,
      encoding: "utf8",
      env: { PATH: process.env.PATH, HOME: home, USERPROFILE: home, ...env },
    },
  );
  return { status, stdout, stderr };
}

test("status of a session file shows it and its sub-agents", () => {
  const { status, stdout, stderr } = run([
    "status",
    fixture("three-subagents"),
    "--now",
    "2027-01-01T00:00:00Z",
  ]);
  assert.equal(stderr, "");
  assert.equal(status, 0);
  const lines = stdout.split("\n");
  assert.match(
    lines[0],
    /^waiting prompt +Review the release candidate +last turn success +stale \d+ d, no way to ask +claude-code /,
  );
  assert.equal(lines.filter((line) => /^[├└]─ completed /.test(line)).length, 3);
  assert.match(stdout, /1 session, 3 sub-agents/);
  // No escape codes off a terminal.
  assert.ok(!stdout.includes("\u001b"));
});

test("status --json has rows, hidden, diagnostics and evidence", () => {
  const { stdout, status } = run(["status", fixture("three-subagents"), "--json"]);
  assert.equal(status, 0);
  const { rows, hidden, diagnostics, evidence } = JSON.parse(stdout);
  assert.deepEqual([rows.length, hidden, evidence], [4, 0, true]);
  assert.deepEqual(diagnostics, {
    counts: {},
    files: [],
    parents: [],
    unsupported: [],
    unrecognized: [],
    missing: [],
    unreadable: [],
  });
  assert.equal(new Set(rows.map((row) => row.key)).size, 4);
  assert.deepEqual([...new Set(rows.slice(1).map((row) => row.parentKey))], [rows[0].key]);
  assert.equal(rows[0].transcript, fixture("three-subagents"));
});

test("where no source of evidence exists, exactly that is said; a place without sessions is something else", (t) => {
  const home = temporary(t);
  assert.deepEqual(run(["status"], { home }), { status: 0, stdout: NO_EVIDENCE, stderr: "" });
  assert.deepEqual(JSON.parse(run(["status", "--json"], { home }).stdout), {
    rows: [],
    hidden: 0,
    diagnostics: {
      counts: {},
      files: [],
      parents: [],
      unsupported: [],
      unrecognized: [],
      missing: [],
      unreadable: [],
    },
    evidence: false,
  });
  mkdirSync(path.join(home, ".claude", "projects"), { recursive: true });
  assert.equal(run(["status"], { home }).stdout, "No agent session found.\n");
  mkdirSync(path.join(home, ".gemini", "tmp"), { recursive: true });
  assert.match(run(["status"], { home }).stdout, /^unsupported source: found .*\.gemini/m);
});

test("D10: an empty file and a file of one LF are no session and no error", (t) => {
  const folder = temporary(t);
  for (const [name, text] of [
    ["empty.jsonl", ""],
    ["lf.jsonl", "\n"],
  ]) {
    const file = path.join(folder, name);
    writeFileSync(file, text);
    const { status, stdout } = run(["status", file]);
    assert.equal(status, 0);
    assert.ok(stdout.startsWith(NO_EVIDENCE), stdout);
  }
});

test("the default place shows what was active lately and counts the rest", (t) => {
  const home = temporary(t);
  const project = path.join(home, ".claude", "projects", "-work");
  mkdirSync(project, { recursive: true });
  cpSync(fixture("basic-turn"), path.join(project, "a.jsonl"));
  cpSync(fixture("api-error"), path.join(project, "b.jsonl"));
  utimesSync(path.join(project, "b.jsonl"), new Date("2020-01-01"), new Date("2020-01-01"));
  const newest = JSON.parse(run(["status", "--json", "--all"], { home }).stdout)
    .rows.map((row) => row.freshness.at)
    .toSorted()
    .at(-1);
  const at = (args) => JSON.parse(run(["status", "--json", ...args], { home }).stdout);
  const recent = at(["--now", newest, "--since", "1h"]);
  assert.ok(recent.hidden >= 1);
  assert.equal(recent.rows.length + recent.hidden, 2);
  assert.equal(at(["--all", "--now", newest]).rows.length, 2);
  // Both wait for a prompt: nothing is at work.
  assert.deepEqual(
    [at(["--all", "--active", "--now", newest])].map(({ rows, hidden }) => [rows.length, hidden]),
    [[0, 2]],
  );
  const { stdout } = run(["status", "--now", newest, "--since", "1h"], { home });
  assert.match(stdout, /hidden \(--all shows them\)/);
});

test("a schema-v1 stream is shown too, with what is wrong in it", (t) => {
  const file = path.join(temporary(t), "events.txt");
  const lines = [state("e1", "created"), state("e2", "starting"), event({ eventId: "e3" })].map((e) =>
    JSON.stringify(e),
  );
  writeFileSync(file, `${lines.join("\n")}\n{"password": "hunter2hunter2"\n`);
  const { stdout } = run(["status", file, "--json", "--now", "2026-05-17T22:29:22Z"]);
  const { rows, diagnostics } = JSON.parse(stdout);
  assert.deepEqual(
    rows.map((row) => [row.childId, row.state, row.provider]),
    [["child", "starting", null]],
  );
  assert.deepEqual(diagnostics.counts, { already_created: 1, malformed: 1 });
  const checked = run(["validate", file]);
  assert.equal(checked.status, 1);
  assert.match(
    checked.stdout,
    /: 3 events, 2 faults\n {2}line 3, offset \d+: already_created: .* \(child child, event e3\)\n {2}line 4, offset \d+: malformed: /,
  );
  const shown = run(["status", file]).stdout.split("\n").slice(-4);
  assert.deepEqual(shown, [
    "diagnostics: already_created 1, malformed 1",
    `  ${file}: already_created 1, malformed 1`,
    "  run `agent-lifecycle validate <file>` for the places",
    "",
  ]);
  assert.ok(!checked.stdout.includes("hunter2"));
  const [report] = JSON.parse(run(["validate", "--json", file]).stdout);
  assert.deepEqual(report.faults, { already_created: 1, malformed: 1 });
  assert.deepEqual([report.diagnostics[0].line, report.rejected[0].line], [4, 3]);
  assert.deepEqual([report.rejected[0].childId, report.rejected[0].eventId], ["child", "e3"]);
  assert.ok(!JSON.stringify(report).includes("hunter2"));
});

test("the files behind the counts are named, the first of them", (t) => {
  const folder = temporary(t);
  for (const name of ["a", "b", "c", "d"]) {
    writeFileSync(path.join(folder, `${name}.ndjson`), `${JSON.stringify(state("e1", "created"))}\n{"`);
  }
  // Not a name that is looked into.
  writeFileSync(path.join(folder, "e.json"), `${JSON.stringify(state("e1", "created"))}\n`);
  const { rows, diagnostics } = JSON.parse(run(["status", "--json", folder]).stdout);
  assert.equal(rows.length, 4);
  const counts = { truncated: 1 };
  assert.deepEqual(
    diagnostics.files.map((file) => [path.basename(file.path), file.counts]).toSorted(),
    ["a", "b", "c", "d"].map((name) => [`${name}.ndjson`, counts]),
  );
  const shown = run(["status", folder]).stdout.split("\n");
  assert.equal(shown.filter((line) => /^ {2}.*\.ndjson: truncated 1$/.test(line)).length, 3);
  assert.ok(shown.includes("  and more files; run `agent-lifecycle validate <file>` for the places"));
});

test("a part of a session names the file of the whole", () => {
  const whole = fixture("three-subagents");
  const folder = whole.replace(".jsonl", "");
  const [agent] = readdirSync(path.join(folder, "subagents")).filter((name) => name.endsWith(".jsonl"));
  for (const [named, parents] of [
    [whole, []],
    [folder, [whole]],
    [path.join(folder, "subagents", agent), [whole]],
    [path.dirname(whole), []],
  ]) {
    const { diagnostics } = JSON.parse(run(["status", "--json", named]).stdout);
    assert.deepEqual(diagnostics.parents, parents, named);
    const hint = `part of a session: run \`agent-lifecycle status ${whole}\` to see the whole of it\n`;
    assert.equal(run(["status", named]).stdout.endsWith(hint), parents.length > 0, named);
  }
});

test("validate is content with a good stream and with an agent's own journal", (t) => {
  const file = path.join(temporary(t), "good.jsonl");
  writeFileSync(file, `${JSON.stringify(event())}\n`);
  assert.deepEqual(run(["validate", file]), {
    status: 0,
    stdout: `${file}: 1 event, 0 faults\n`,
    stderr: "",
  });
  const { status, stdout } = run(["validate", fixture("basic-turn")]);
  assert.equal(status, 0);
  assert.match(stdout, /: claude-code, \d+ records, 0 faults\n$/);
});

test("unusable arguments end in one sentence and exit code 2", () => {
  for (const [args, sentence] of [
    [["status", "/no/such/file"], /^agent-lifecycle: \/no\/such\/file: /],
    [["status", "--since", "soon"], /^agent-lifecycle: --since "soon" is no time span/],
    [["status", "--now", "soon"], /^agent-lifecycle: --now must be RFC 3339 UTC/],
    [["status", "--nonsense"], /^agent-lifecycle: Unknown option '--nonsense'/],
    [["validate"], /^agent-lifecycle: validate needs a file/],
    [["validate", "/no/such/file"], /^agent-lifecycle: \/no\/such\/file: /],
    [["constructor"], /^agent-lifecycle: there is no command "constructor"/],
  ]) {
    const { status, stdout, stderr } = run(args);
    assert.deepEqual([status, stdout], [2, ""], args.join(" "));
    assert.match(stderr, sentence);
    assert.ok(!stderr.includes("    at "), stderr);
  }
  assert.equal(run(["--help"]).status, 0);
  assert.match(run([]).stdout, /agent-lifecycle status/);
});

test("pipes, devices and folders in a file's place do not hold the command up", (t) => {
  const fifo = path.join(temporary(t), "fifo.jsonl");
  if (spawnSync("mkfifo", [fifo]).status !== 0) return t.skip("there are no pipes with names here");
  for (const file of [fifo, "/dev/zero"]) {
    for (const command of ["status", "validate"]) {
      const { status, stderr } = run([command, file]);
      assert.equal(status, 2);
      assert.equal(stderr.split("\n")[0], `agent-lifecycle: ${file}: not a regular file`);
    }
  }
});

test("what is not there is told by name, and hides nothing that is", (t) => {
  const good = path.join(temporary(t), "good.jsonl");
  writeFileSync(good, `${JSON.stringify(event())}\n`);
  const told = /^agent-lifecycle: \/no\/such\/file: /;
  const shown = run(["status", "/no/such/file", fixture("basic-turn")]);
  assert.equal(shown.status, 2);
  assert.match(shown.stdout, /^waiting prompt/);
  assert.match(shown.stderr, told);
  const checked = run(["validate", "/no/such/file", good]);
  assert.deepEqual([checked.status, checked.stdout], [2, `${good}: 1 event, 0 faults\n`]);
  assert.match(checked.stderr, told);
  const foreign = run(["status", path.join(root, "package.json")]);
  assert.match(foreign.stdout, /^no journal of a known kind: .*package\.json$/m);
});

test("at 80 columns the state, the outcome and the age stay", () => {
  const args = [fixture("three-subagents"), "--now", "2026-03-03T14:11:47.220Z"];
  const script = `
    const { callNative } = require(${JSON.stringify(path.join(root, "dist", "native.js"))});
    const [file, , now] = process.argv.slice(1);
    const status = callNative((n) => new n.NativeStatus({ paths: [file], active: false, now, content: "titles" }));
    while (status.step());
    process.stdout.write(status.text({ color: false, width: 60 }));`;
  const { stdout } = spawnSync(process.execPath, ["-e", script, ...args], { encoding: "utf8" });
  const [first, second] = stdout.split("\n");
  assert.match(first, /^waiting prompt .* success .*stale \d+ min$/);
  assert.match(second, /^├─ completed .* 24 s$/);
  assert.ok(
    stdout
      .split("\n")
      .slice(0, 4)
      .every((line) => line.length <= 60),
  );
});

test("D4: a line of 16 MiB before everything else hides nothing", (t) => {
  const file = path.join(temporary(t), "s.jsonl");
  const text = readFileSync(fixture("basic-turn"), "utf8");
  writeFileSync(file, `{"type":"user","content":"${"x".repeat(16 * 1024 * 1024)}"}\n${text}`);
  const { rows, diagnostics } = JSON.parse(run(["status", file, "--json"]).stdout);
  assert.deepEqual(
    rows.map((row) => [row.state, row.waitingReason]),
    [["waiting", "prompt"]],
  );
  assert.deepEqual(diagnostics.counts, { oversize: 1 });
});

test("escape codes in names and arguments do not reach the terminal", () => {
  const hostile = "no\u001b[31mX\r\u202e";
  for (const args of [["status", hostile], ["validate", hostile], [hostile], ["status", `--${hostile}`]]) {
    const { status, stderr } = run(args);
    assert.equal(status, 2);
    assert.deepEqual(stderr.replaceAll("\n", "").match(/[\p{Cc}\p{Cf}]/gu), null, JSON.stringify(stderr));
  }
});

test("a reader that stops early is no fault", () => {
  const main = path.join(root, "dist", "cli", "main.js");
  const { stderr, stdout } = spawnSync(
    "sh",
    ["-c", `"$0" "$1" status "$2" --json | head -c 1`, process.execPath, main, fixture("three-subagents")],
    {
      encoding: "utf8",
    },
  );
  assert.deepEqual([stdout, stderr], ["{", ""]);
});

test("hostile text in a title is inert", (t) => {
  const file = path.join(temporary(t), "s.jsonl");
  const text = readFileSync(fixture("basic-turn"), "utf8");
  const title = "\u001b[2J\u001b]0;owned\u0007\u202egnp.exe\r\nnext\u0000" + "x".repeat(100_000);
  const [first] = text.split("\n");
  const { sessionId } = text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .find((r) => r.sessionId);
  writeFileSync(
    file,
    `${first}\n${text.slice(first.length + 1)}${JSON.stringify({ type: "custom-title", customTitle: title, sessionId })}\n`,
  );
  const { stdout } = run(["status", file, "--now", "2027-01-01T00:00:00Z"]);
  // Neither control characters nor what reorders text.
  assert.deepEqual(stdout.replaceAll("\n", "").match(/[\p{Cc}\u202a-\u202e]/gu), null);
  assert.ok(stdout.split("\n").every((line) => line.length < 250));
});

const recordings = path.join(root, "..", "shared", "recordings");
test(
  "the recordings show what they are said to show",
  { skip: !existsSync(recordings) && "the recordings are not here" },
  () => {
    const expected = JSON.parse(readFileSync(path.join(recordings, "expected.json"), "utf8"));
    for (const name of readdirSync(path.join(recordings, "claude-code"))) {
      const folder = path.join(recordings, "claude-code", name);
      const want = expected[`claude-code/${name}`];
      const { rows } = JSON.parse(run(["status", folder, "--json", "--now", lastTime(folder)]).stdout);
      const [top, ...children] = rows;
      assert.deepEqual(
        {
          root: { state: top.state, waitingReason: top.waitingReason },
          turns: top.turns.recent.map((turn) => turn.outcome),
          tools: top.tools.count,
          children: children.map((row) =>
            want.children.some((c) => "tools" in c)
              ? { state: row.state, tools: row.tools.count }
              : { state: row.state },
          ),
        },
        { root: want.root, turns: want.turns, tools: want.tools, children: want.children },
        name,
      );
    }
  },
);

test(
  "the recordings show what is true at each prefix",
  { skip: !existsSync(recordings) && "the recordings are not here" },
  (t) => {
    const expected = JSON.parse(readFileSync(path.join(recordings, "expected.json"), "utf8"));
    let prefixes = 0;
    for (const [name, { atPrefix = [] }] of Object.entries(expected)) {
      for (const { rootLines, liveChildren } of atPrefix) {
        const folder = path.join(temporary(t), "cut");
        cpSync(path.join(recordings, name), folder, { recursive: true });
        const file = path.join(folder, "root.jsonl");
        const lines = readFileSync(path.join(recordings, name, "root.jsonl"), "utf8").split("\n");
        rmSync(file, { force: true });
        writeFileSync(file, `${lines.slice(0, rootLines).join("\n")}\n`);
        const { rows } = JSON.parse(run(["status", folder, "--json", "--now", lastTime(folder)]).stdout);
        assert.equal(rows[0].liveChildren, liveChildren, `${name} after ${rootLines} lines`);
        prefixes += 1;
      }
    }
    assert.ok(prefixes >= 2);
  },
);

/** The newest time in the journals of a folder. */
function lastTime(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".jsonl"));
  return files
    .flatMap((file) => readFileSync(path.join(folder, file), "utf8").split("\n").filter(Boolean))
    .map((line) => JSON.parse(line).timestamp ?? "")
    .toSorted()
    .at(-1);
}
