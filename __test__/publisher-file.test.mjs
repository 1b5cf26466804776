// openPublisher: what reaches the state directory, and that nothing of it reaches the agent.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { LifecycleProjector, openPublisher } from "agent-lifecycle";
import { stateDirectory } from "../dist/state-directory.js";

const agent = path.join(import.meta.dirname, "support", "publishing-agent.mjs");
const isWindows = process.platform === "win32";

/** A home of its own, in the environment of this process too. */
function home(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "publisher-"));
  const names = ["HOME", "XDG_STATE_HOME", "LOCALAPPDATA", "USERPROFILE"];
  const before = names.map((name) => process.env[name]);
  for (const name of names) process.env[name] = folder;
  t.after(() => {
    for (const [at, name] of names.entries()) {
      if (before[at] === undefined) delete process.env[name];
      else process.env[name] = before[at];
    }
    fs.rmSync(folder, { recursive: true });
  });
  return folder;
}

const journals = () => path.join(stateDirectory(), "journals");
const files = () =>
  fs
    .readdirSync(journals())
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => path.join(journals(), name));
const linesOf = (file) =>
  fs
    .readFileSync(file, "utf8")
    .split("\n")
    // What stands behind the last line end is being written.
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** Projects lines; every one must be taken. */
function project(lines, projector = new LifecycleProjector()) {
  for (const line of lines) assert.equal(projector.apply(line).status, "applied", JSON.stringify(line));
  return projector;
}

/** How often a child was marked stale while the events came. */
const stale = (events) => {
  const projector = new LifecycleProjector({ staleAfterMs: 120_000 });
  return events.flatMap((event) => {
    const marked = projector.markStale(event.observedAt);
    projector.apply(event);
    return marked;
  }).length;
};

const unheard = () => assert.fail("there is nothing to tell");

/** A publisher whose errors are kept. */
function opened(options = {}) {
  const errors = [];
  const publisher = openPublisher({
    agent: "my-agent",
    onError: (error, unreported) => errors.push([error.code, unreported]),
    ...options,
  });
  return { publisher, errors };
}

test("a session reaches a row, with its version, place and owner", async (t) => {
  home(t);
  const { status, stderr } = spawnSync(process.execPath, [agent, "Sort the inbox", "close"], {
    encoding: "utf8",
  });
  assert.deepEqual([status, stderr], [0, ""]);
  const [file, ...more] = files();
  assert.deepEqual(more, []);
  const lines = linesOf(file);
  const [first] = lines;
  assert.deepEqual([first.kind, first.childId], ["diagnostic", "@source"]);
  const { owner } = first.details;
  assert.ok(Number.isInteger(owner.pid) && owner.pid !== process.pid);
  if (process.platform === "linux") {
    const boot = fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    assert.equal(owner.bootId, boot);
    assert.equal(owner.hostName, os.hostname());
    assert.ok(Number.isInteger(owner.processStartTime));
    assert.equal(owner.pidNamespace, fs.readlinkSync("/proc/self/ns/pid"));
  }
  assert.equal(path.basename(file), `${first.source.replace("/", "-")}.jsonl`);
  assert.match(first.source, /^my-agent\/[\w-]+$/);
  const [row, ...rest] = project(lines).list();
  assert.deepEqual(rest, []);
  const { source, provider, agentVersion, place, title, state, tools } = row;
  assert.deepEqual(
    { source, provider, agentVersion, cwd: place.cwd, title, state, open: tools.open.length },
    {
      source: first.source,
      provider: "my-agent",
      agentVersion: "1.4.0",
      cwd: "/work/place",
      title: "Sort the inbox",
      state: "running",
      open: 1,
    },
  );
});

test(
  "folders are 0700 and files 0600, whatever they were and whatever the umask is",
  {
    skip: isWindows,
  },
  async (t) => {
    home(t);
    fs.mkdirSync(stateDirectory(), { mode: 0o755 });
    fs.chmodSync(stateDirectory(), 0o755);
    const umask = process.umask(0);
    try {
      const { publisher, errors } = opened();
      publisher.sessionStarted();
      await publisher.close();
      assert.deepEqual(errors, []);
    } finally {
      process.umask(umask);
    }
    const modes = [stateDirectory(), journals(), ...files()].map((file) => fs.statSync(file).mode & 0o777);
    assert.deepEqual(modes, [0o700, 0o700, 0o600]);
  },
);

test("S14: two live processes of one name are two sources, and both are seen", async (t) => {
  home(t);
  const agents = ["first", "second"].map((title) => spawn(process.execPath, [agent, title, "stay"]));
  await Promise.all(agents.map((process) => once(process.stdout, "data")));
  for (const process of agents) process.stdin.end();
  await Promise.all(agents.map((process) => once(process, "exit")));
  const projector = new LifecycleProjector();
  for (const file of files()) project(linesOf(file), projector);
  const rows = projector.list();
  assert.deepEqual(rows.map(({ title }) => title).toSorted(), ["first", "second"]);
  assert.equal(new Set(rows.map(({ source }) => source)).size, 2);
  assert.deepEqual(new Set(rows.map(({ provider }) => provider)), new Set(["my-agent"]));
});

test("S14: with heartbeats a tool call of five minutes is never stale; without them it is", async (t) => {
  home(t);
  t.mock.timers.enable({ apis: ["setInterval", "Date"], now: Date.parse("2026-03-02T08:00:00Z") });
  const { publisher, errors } = opened({ heartbeatMs: 30_000 });
  publisher.sessionStarted();
  publisher.turnStarted({ turnId: "t" });
  publisher.toolStarted({ toolId: "c", name: "Bash" });
  const written = async (count) => {
    while (!fs.existsSync(journals()) || files().length === 0 || linesOf(files()[0]).length < count)
      await new Promise((resolve) => setImmediate(resolve));
  };
  await written(5);
  for (let beat = 1; beat <= 10; beat++) {
    t.mock.timers.tick(30_000);
    await written(5 + beat);
  }
  publisher.exited({ exitCode: 0 });
  t.mock.timers.tick(300_000);
  await publisher.close();
  assert.deepEqual(errors, []);
  const all = linesOf(files()[0]);
  const beats = all.filter(({ kind }) => kind === "heartbeat");
  assert.equal(beats.length, 10, "none after the end");
  assert.equal(stale(all), 0);
  assert.equal(stale(all.filter(({ kind }) => kind !== "heartbeat")), 1);
  const [row] = project(all).list();
  assert.equal(row.capabilities.heartbeat, "known");
});

test("no method throws, and each code is told once a minute, with the number of those in between", async (t) => {
  home(t);
  let clock = 0;
  t.mock.method(performance, "now", () => clock);
  const { publisher, errors } = opened();
  const { turnStarted, publish } = publisher;
  for (let time = 0; time < 5; time++) turnStarted({ turnId: "" });
  publisher.done({ outcome: "good" });
  publisher.sessionStarted({
    get title() {
      throw new Error("unreadable");
    },
  });
  publish(null);
  assert.deepEqual(errors, [
    ["invalid_string", 0],
    ["invalid_outcome", 0],
    ["invalid_type", 0],
  ]);
  clock = 60_000;
  turnStarted({});
  assert.deepEqual(errors.at(-1), ["invalid_string", 4]);
  publisher.sessionStarted({ title: "x".repeat(600) });
  await publisher.close();
  assert.equal(errors.length, 4);
  assert.equal(project(linesOf(files()[0])).list()[0].title.length, 512);
  turnStarted({ turnId: "late" });
  assert.deepEqual(errors.at(-1), ["publisher_closed", 0]);
  await publisher.close();
});

test("an onError that throws or rejects is the agent's affair", async (t) => {
  home(t);
  for (const onError of [
    () => {
      throw new Error("in onError");
    },
    () => Promise.reject(new Error("in onError")),
  ]) {
    const publisher = openPublisher({ agent: "a", onError });
    publisher.done({});
    await publisher.close();
  }
});

test("options of a wrong type are refused at once, by name", (t) => {
  home(t);
  const onError = unheard;
  for (const [options, code, name] of [
    [undefined, "invalid_argument", "agent"],
    [{ agent: 1, onError }, "invalid_argument", "agent"],
    [{ agent: "a" }, "invalid_argument", "onError"],
    [{ agent: "a", onError, version: 1 }, "invalid_argument", "version"],
    [{ agent: "a", onError, cwd: null }, "invalid_argument", "cwd"],
    [{ agent: "a", onError, heartbeatMs: "1" }, "invalid_option", "heartbeatMs"],
    [{ agent: "a", onError, heartbeat: 1 }, "invalid_option", "heartbeat"],
    [{ agent: "a", onError, heartbeatMs: NaN }, "invalid_option", "heartbeatMs"],
  ]) {
    assert.throws(() => openPublisher(options), { name: "LifecycleError", code, path: name });
  }
  assert.ok(!fs.existsSync(stateDirectory()));
});

test("any name is made safe", async (t) => {
  home(t);
  for (const [given, safe] of [
    ["My Agent!", "My-Agent"],
    ["../../etc/passwd", "etc-passwd"],
    ["", "agent"],
    ["\u0000\u202e", "agent"],
    ["x".repeat(300), "x".repeat(64)],
    ["con", "con"],
  ]) {
    const { publisher, errors } = opened({ agent: given });
    assert.equal(publisher.source.split("/")[0], safe);
    publisher.sessionStarted();
    await publisher.close();
    assert.deepEqual(errors, []);
  }
  assert.equal(files().length, 6);
});

test("what could not be written is written at the end, if the place is there by then", async (t) => {
  home(t);
  fs.mkdirSync(path.dirname(stateDirectory()), { recursive: true });
  fs.writeFileSync(stateDirectory(), "in the way");
  const { publisher, errors } = opened();
  publisher.sessionStarted({ title: "patient" });
  publisher.turnStarted({ turnId: "t" });
  assert.deepEqual(errors, [["state_directory", 0]]);
  await new Promise((resolve) => setImmediate(resolve));
  fs.rmSync(stateDirectory());
  await publisher.close();
  assert.deepEqual(errors, [["state_directory", 0]]);
  const [row] = project(linesOf(files()[0])).list();
  assert.deepEqual([row.title, row.state], ["patient", "running"]);
});

test("where nothing can be written, the agent goes on, and is told what is lost", async (t) => {
  home(t);
  fs.mkdirSync(path.dirname(stateDirectory()), { recursive: true });
  fs.writeFileSync(stateDirectory(), "in the way");
  const { publisher, errors } = opened();
  publisher.sessionStarted();
  await publisher.close();
  assert.deepEqual(errors, [
    ["state_directory", 0],
    ["publisher_lost", 0],
  ]);
});

test("a burst beyond the bound is counted, noted in the journal, and leaves a legal story", async (t) => {
  home(t);
  const { publisher, errors } = opened();
  publisher.sessionStarted();
  const burst = 12_000;
  for (let at = 0; at < burst; at++) publisher.metadataChanged({ title: `title ${at}` });
  await publisher.close();
  assert.deepEqual(errors, [["publisher_overflow", 0]]);
  const lines = linesOf(files()[0]);
  const notes = lines.filter(({ details }) => details?.lost !== undefined);
  const titles = lines.filter(({ details }) => details?.agent?.kind === "agent.metadata");
  assert.equal(notes.length, 1);
  assert.equal(titles.length + notes[0].details.lost, burst);
  assert.ok(notes[0].details.lost > 0);
  project(lines);
});

test("what a full disk refuses is written later, in its place", async (t) => {
  const folder = home(t);
  const mounted =
    process.platform === "linux" &&
    spawnSync("mount", ["-t", "tmpfs", "-o", "size=128k", "tmpfs", folder], { stdio: "ignore" }).status === 0;
  if (!mounted) return t.skip("no small file system can be mounted here");
  try {
    const { publisher, errors } = opened();
    publisher.sessionStarted({ title: "before" });
    while (!fs.existsSync(journals()) || files().length === 0 || linesOf(files()[0]).length < 3)
      await new Promise((resolve) => setImmediate(resolve));
    const fill = path.join(folder, "fill");
    assert.throws(() => fs.writeFileSync(fill, Buffer.alloc(256 * 1024)), { code: "ENOSPC" });
    const kinds = 40;
    for (let at = 0; at < kinds; at++) {
      publisher.turnStarted({ turnId: `t${at}` });
      publisher.done({ outcome: "success" });
    }
    while (errors.length === 0) await new Promise((resolve) => setImmediate(resolve));
    fs.rmSync(fill);
    await publisher.close();
    assert.deepEqual(errors, [["journal_io", 0]]);
    const [row] = project(linesOf(files()[0])).list();
    assert.deepEqual([row.turns.count, row.state, row.waitingReason], [kinds, "waiting", "prompt"]);
  } finally {
    spawnSync("umount", [folder]);
  }
});

test(
  "a state directory that is a file, or another user's, is not touched",
  { skip: isWindows },
  async (t) => {
    home(t);
    fs.mkdirSync(path.dirname(stateDirectory()), { recursive: true });
    fs.writeFileSync(stateDirectory(), "mine", { mode: 0o644 });
    const file = opened();
    await file.publisher.close();
    assert.equal(file.errors[0][0], "state_directory");
    assert.equal(fs.statSync(stateDirectory()).mode & 0o777, 0o644);
    if (process.geteuid() !== 0) return;
    fs.rmSync(stateDirectory());
    fs.mkdirSync(stateDirectory());
    fs.chownSync(stateDirectory(), 12_345, 12_345);
    const folder = opened();
    await folder.publisher.close();
    assert.equal(folder.errors[0][0], "state_directory");
    assert.deepEqual(fs.readdirSync(stateDirectory()), []);
  },
);

test("the state directory is where each system keeps such things", { skip: isWindows }, () => {
  for (const [platform, env, expected] of [
    ["linux", {}, "/h/.local/state/agent-lifecycle"],
    ["linux", { XDG_STATE_HOME: "/s" }, "/s/agent-lifecycle"],
    ["linux", { XDG_STATE_HOME: "s" }, "/h/.local/state/agent-lifecycle"],
    ["linux", { XDG_STATE_HOME: "" }, "/h/.local/state/agent-lifecycle"],
    ["darwin", { XDG_STATE_HOME: "/s" }, "/h/Library/Application Support/agent-lifecycle"],
    ["win32", { LOCALAPPDATA: "/l" }, "/l/agent-lifecycle"],
    ["win32", {}, "/h/AppData/Local/agent-lifecycle"],
  ]) {
    assert.equal(stateDirectory({ env, platform, home: "/h" }), expected);
  }
});

test("an end without close loses nothing and hangs on nothing", (t) => {
  home(t);
  for (const [end, code] of [
    ["none", 0],
    ["exit", 0],
    ["throw", 1],
  ]) {
    const { status, signal } = spawnSync(process.execPath, [agent, end, end], { timeout: 60_000 });
    assert.deepEqual([status, signal], [code, null], end);
  }
  const rows = files().flatMap((file) => project(linesOf(file)).list());
  assert.deepEqual(rows.map(({ title, tools }) => [title, tools.count]).toSorted(), [
    ["exit", 1],
    ["none", 1],
    ["throw", 1],
  ]);
});

test("only old journals of publishers that are provably dead are removed", { skip: isWindows }, async (t) => {
  home(t);
  const made = (title) => {
    const before = fs.existsSync(journals()) ? files() : [];
    assert.equal(spawnSync(process.execPath, [agent, title, "close"]).status, 0);
    return files().find((file) => !before.includes(file));
  };
  const old = made("old");
  const young = made("young");
  const renamed = path.join(journals(), "other.jsonl");
  fs.copyFileSync(old, renamed);
  const alive = made("alive");
  const [first, ...rest] = linesOf(alive);
  first.details.owner = { pid: process.pid };
  fs.writeFileSync(alive, `${[first, ...rest].map((line) => JSON.stringify(line)).join("\n")}\n`);
  const foreign = path.join(journals(), "foreign.jsonl");
  fs.writeFileSync(foreign, '{"mine": true}\n');
  const empty = path.join(journals(), "empty.jsonl");
  fs.writeFileSync(empty, "");
  const link = path.join(journals(), "link.jsonl");
  fs.symlinkSync(old, link);
  const DAY = 86_400_000;
  const aged = (file, days) => fs.lutimesSync(file, new Date(), new Date(Date.now() - days * DAY));
  for (const file of [old, renamed, alive, foreign, empty, link]) aged(file, 8);
  aged(young, 6);
  assert.ok(fs.existsSync(`${old}.lock.guard`));
  const { publisher, errors } = opened();
  await publisher.close();
  assert.deepEqual(errors, []);
  const gone = [old, `${old}.lock.guard`].filter((file) => !fs.existsSync(file));
  assert.equal(gone.length, 2);
  for (const file of [young, renamed, alive, foreign, empty, link]) fs.lstatSync(file);
});
