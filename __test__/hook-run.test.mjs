// `agent-lifecycle hook run` as an agent runs it: one file or none, no output, exit code 0.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { stateDirectory } from "../dist/state-directory.js";

const main = path.join(import.meta.dirname, "..", "dist", "cli", "main.js");
const args = [main, "hook", "run", "--installed", "agent-lifecycle@1"];

function temporary(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "hook-run-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  return folder;
}

const environment = (home) => ({
  PATH: process.env.PATH,
  HOME: home,
  USERPROFILE: home,
  XDG_STATE_HOME: home,
  LOCALAPPDATA: home,
  SystemRoot: process.env.SystemRoot,
});
const spool = (home) => path.join(stateDirectory({ env: environment(home), home }), "spool");
const names = (home) => (fs.existsSync(spool(home)) ? fs.readdirSync(spool(home)) : []);
const dropped = (home) =>
  names(home)
    .toSorted()
    .map((name) => JSON.parse(fs.readFileSync(path.join(spool(home), name), "utf8")));

/** Runs the hook; whatever it is given, it says nothing and ends well. */
function run(home, input, env = {}) {
  const ran = spawnSync(process.execPath, args, { input, env: { ...environment(home), ...env } });
  assert.deepEqual([ran.status, ran.signal, `${ran.stdout}`, `${ran.stderr}`], [0, null, "", ""]);
}

const common = {
  session_id: "0b6c-1",
  transcript_path: "/home/u/.claude/projects/x.jsonl",
  cwd: "/home/u/x",
  permission_mode: "default",
};
const request = {
  ...common,
  hook_event_name: "PermissionRequest",
  tool_name: "Bash",
  tool_input: { command: "cat secret-plan.txt", description: "Show it" },
  permission_suggestions: [{ type: "toolAlwaysAllow", tool: "Bash" }],
};

for (const [name, given, kept] of [
  ["PermissionRequest", request, { tool_name: "Bash" }],
  [
    "PermissionRequest of a sub-agent",
    { ...request, agent_id: "a1", agent_type: "Explore", tool_use_id: "toolu_1" },
    { agent_id: "a1", tool_name: "Bash", tool_use_id: "toolu_1" },
  ],
  [
    "Notification",
    {
      ...common,
      hook_event_name: "Notification",
      message: "Look",
      title: "T",
      notification_type: "idle_prompt",
    },
    { notification_type: "idle_prompt" },
  ],
  [
    "Notification of an older version",
    { ...common, hook_event_name: "Notification", message: "Claude needs your permission to use Bash" },
    { message: "Claude needs your permission to use Bash" },
  ],
  [
    "SubagentStart",
    { ...common, hook_event_name: "SubagentStart", agent_id: "a1", agent_type: "Explore" },
    { agent_id: "a1", agent_type: "Explore" },
  ],
  [
    "SubagentStop",
    {
      ...common,
      hook_event_name: "SubagentStop",
      agent_id: "a1",
      agent_type: "Explore",
      agent_transcript_path: "/x",
      last_assistant_message: "All done",
      stop_hook_active: false,
    },
    { agent_id: "a1", agent_type: "Explore" },
  ],
  ["Stop", { ...common, hook_event_name: "Stop", last_assistant_message: "Hi", stop_hook_active: true }, {}],
  ["SessionEnd", { ...common, hook_event_name: "SessionEnd", reason: "logout" }, { reason: "logout" }],
  [
    "a member of another type, too long or with controls is left out",
    { ...request, tool_name: "B\u001b[2Jash", agent_id: 7, tool_use_id: "x".repeat(257) },
    {},
  ],
]) {
  test(`${name}: only what a lifecycle needs is kept`, (t) => {
    const home = temporary(t);
    const before = Date.now();
    run(home, JSON.stringify(given));
    const [file, ...more] = dropped(home);
    assert.deepEqual(more, []);
    const { receivedAt, ...rest } = file;
    assert.deepEqual(rest, {
      spoolVersion: 1,
      provider: "claude-code",
      event: { hook_event_name: given.hook_event_name, session_id: "0b6c-1", ...kept },
    });
    const time = Date.parse(receivedAt);
    assert.ok(before <= time && time <= Date.now());
    const [, inName] = /^(\d{13})-\d+-[0-9a-f]{8}\.json$/.exec(names(home)[0]);
    assert.equal(Number(inName), time);
    if (process.platform !== "win32") {
      const modes = [spool(home), path.join(spool(home), names(home)[0])].map((one) => fs.statSync(one).mode);
      assert.deepEqual(
        modes.map((mode) => mode & 0o777),
        [0o700, 0o600],
      );
    }
  });
}

test("a secret in a text is not kept", (t) => {
  const home = temporary(t);
  const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
  const message = `permission for ${secret} is needed`;
  run(home, JSON.stringify({ ...common, hook_event_name: "Notification", message }));
  const [{ event }] = dropped(home);
  assert.equal(event.message, "permission for [REDACTED] is needed");
});

test("what is no event of use leaves nothing and says nothing", (t) => {
  const home = temporary(t);
  const valid = JSON.stringify(request);
  const padded = (bytes) => valid + " ".repeat(bytes - valid.length);
  for (const input of [
    "",
    "no json",
    valid.slice(0, -1),
    "null",
    "[]",
    '"text"',
    "{}",
    JSON.stringify({ ...request, hook_event_name: "PreToolUse" }),
    JSON.stringify({ ...request, hook_event_name: "toString" }),
    JSON.stringify({ ...request, hook_event_name: undefined }),
    JSON.stringify({ ...request, session_id: undefined }),
    JSON.stringify({ ...request, session_id: "" }),
    JSON.stringify({ ...request, session_id: "x".repeat(257) }),
    "[".repeat(100_000),
    padded(1024 * 1024 + 1),
    Buffer.alloc(8 * 1024 * 1024, 0x20),
  ]) {
    run(home, input);
  }
  assert.deepEqual(names(home), []);
  run(home, padded(1024 * 1024));
  assert.equal(names(home).length, 1);
});

test("where the spool cannot be, nothing is said", (t) => {
  const home = temporary(t);
  const file = path.join(home, "file");
  fs.writeFileSync(file, "");
  const input = JSON.stringify(request);
  for (const place of [file, "/proc", "/dev/null"])
    run(home, input, { XDG_STATE_HOME: place, HOME: place, LOCALAPPDATA: place, USERPROFILE: place });
  assert.deepEqual(fs.readdirSync(home), ["file"]);
});

test("an input that is left open does not keep the hook", async (t) => {
  const home = temporary(t);
  const ran = spawn(process.execPath, args, { env: environment(home) });
  ran.stdin.write(JSON.stringify(request));
  const [code] = await once(ran, "exit");
  assert.equal(code, 0);
  assert.equal(names(home).length, 1);
});

test("64 at once leave 64 whole files", async (t) => {
  const home = temporary(t);
  const hooks = Array.from({ length: 64 }, (_, at) => {
    const ran = spawn(process.execPath, args, { env: environment(home) });
    ran.stdin.end(JSON.stringify({ ...request, session_id: `s${at}` }));
    return once(ran, "exit");
  });
  for (const [code] of await Promise.all(hooks)) assert.equal(code, 0);
  const sessions = dropped(home).map(({ event }) => event.session_id);
  assert.equal(sessions.length, 64);
  assert.equal(new Set(sessions).size, 64);
});

test("a hook that is killed leaves a whole file or none", async (t) => {
  const home = temporary(t);
  let killed = 0;
  for (let round = 0; round < 24; round++) {
    const ran = spawn(process.execPath, args, { env: environment(home) });
    ran.stdin.on("error", () => undefined);
    ran.stdin.end(JSON.stringify(request));
    const exit = once(ran, "exit");
    await Promise.race([pause(round * 8), exit]);
    ran.kill("SIGKILL");
    const [, signal] = await exit;
    killed += signal === "SIGKILL" ? 1 : 0;
  }
  assert.ok(killed > 0);
  for (const name of names(home).filter((one) => !one.startsWith(".")))
    JSON.parse(fs.readFileSync(path.join(spool(home), name), "utf8"));
});

test("old files and the oldest of too many are removed; files of other names stay", (t) => {
  const home = temporary(t);
  run(home, JSON.stringify(request));
  const [first] = names(home);
  const now = Date.now();
  const DAY = 86_400_000;
  const make = (name) => fs.writeFileSync(path.join(spool(home), name), "{}");
  const old = [now - DAY - 60_000, now - 30 * DAY, now + 2 * DAY].map((time) => `${time}-1-aa.json`);
  const young = `${now - DAY + 60_000}-1-bb.json`;
  const unfinished = [`.${now - 120_000}-1-cc.json.tmp`, `.${now - 1000}-1-dd.json.tmp`];
  const others = ["notes.txt", ".hidden", "1-2-3.json", `${now - 9 * DAY}-1-aa.json.bak`];
  for (const name of [...old, young, ...unfinished, ...others]) make(name);
  run(home, JSON.stringify(request));
  const left = names(home);
  for (const name of [first, young, unfinished[1], ...others]) assert.ok(left.includes(name), name);
  for (const name of [...old, unfinished[0]]) assert.ok(!left.includes(name), name);
  // One that the first run left, one of the second, the young, the unfinished and the others.
  assert.equal(left.length, 4 + others.length);

  const many = Array.from({ length: 4200 }, (_, at) => `${now - 10_000_000 + at}-1-ee.json`);
  for (const name of many) make(name);
  run(home, JSON.stringify(request));
  const ours = names(home).filter((name) => !others.includes(name));
  assert.equal(ours.length, 4096);
  assert.ok(ours.includes(first));
  assert.ok(!ours.includes(young), "the oldest go first");
  assert.ok(!ours.includes(many[0]) && ours.includes(many.at(-1)));
});

test("a folder with the name of a file of ours keeps no other from being removed", (t) => {
  const home = temporary(t);
  run(home, JSON.stringify(request));
  const time = Date.now() - 2 * 86_400_000;
  // More than one run removes, and the first of the names.
  const folders = Array.from({ length: 300 }, (_, at) => `${time}-1-${at.toString(16)}.json`);
  for (const name of folders) fs.mkdirSync(path.join(spool(home), name));
  const old = `${time}-2-aa.json`;
  fs.writeFileSync(path.join(spool(home), old), "{}");
  run(home, JSON.stringify(request));
  assert.ok(!names(home).includes(old));
  assert.equal(names(home).length, folders.length + 2);
});

test("on a full disk nothing is dropped and nothing is said", (t) => {
  const home = temporary(t);
  const disk = path.join(home, "disk");
  fs.mkdirSync(disk);
  const mounted =
    process.platform === "linux" &&
    spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], { stdio: "ignore" }).status === 0;
  if (!mounted) return t.skip("no small file system can be mounted here");
  try {
    run(disk, JSON.stringify(request));
    assert.equal(names(disk).length, 1);
    assert.throws(() => fs.writeFileSync(path.join(disk, "fill"), Buffer.alloc(128 * 1024)), {
      code: "ENOSPC",
    });
    run(disk, JSON.stringify(request));
    assert.equal(names(disk).length, 1);
    fs.rmSync(path.join(disk, "fill"));
    run(disk, JSON.stringify(request));
    assert.equal(names(disk).length, 2);
  } finally {
    spawnSync("umount", [disk]);
  }
});

test("how long a hook takes", (t) => {
  const home = temporary(t);
  const times = Array.from({ length: 5 }, () => {
    const started = performance.now();
    run(home, JSON.stringify(request));
    return Math.round(performance.now() - started);
  });
  t.diagnostic(`a hook with its process, in milliseconds: ${times.join(", ")}`);
  assert.equal(names(home).length, 5);
});
