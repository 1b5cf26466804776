// Private folders of live sessions: what they are, and what a start-up sweeps.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";

const module = path.join(import.meta.dirname, "..", "dist", "runtime", "generation.js");
const require = createRequire(import.meta.url);
const { callNative } = require("../dist/native.js");

/** A state directory of its own, and the folder of generations in it. */
function place(t) {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "agent-lifecycle-generations-"));
  t.after(() => fs.rmSync(state, { recursive: true }));
  const folder = path.join(state, "agent-lifecycle", "generations");
  return { folder, env: { ...process.env, XDG_STATE_HOME: state, HOME: state, LOCALAPPDATA: state } };
}

const code = (script) => [
  "-e",
  `const { openGeneration, sweepGenerations } = require(${JSON.stringify(module)}); ${script}`,
];

function run(env, script) {
  const { status, stdout, stderr } = spawnSync(process.execPath, code(script), { encoding: "utf8", env });
  assert.deepEqual([status, stderr], [0, ""]);
  return stdout.trim();
}

test("a folder is private, has its owner on record, and is gone when it is closed", (t) => {
  const { folder, env } = place(t);
  const [mode, fileMode, owner, is] = JSON.parse(
    run(
      env,
      `const fs = require("node:fs");
       const one = openGeneration(), two = openGeneration();
       const file = one.directory + "/owner.json";
       fs.mkdirSync(one.directory + "/a/b", { recursive: true });
       const modes = [one.directory, file].map((name) => fs.statSync(name).mode & 0o777);
       const owner = JSON.parse(fs.readFileSync(file, "utf8"));
       one.close(); one.close();
       console.log(JSON.stringify([...modes, owner.pid === process.pid, [one, two].map((each) => fs.existsSync(each.directory))]));`,
    ),
  );
  assert.deepEqual([mode, fileMode, owner, is], [0o700, 0o600, true, [false, true]]);
  assert.equal(fs.readdirSync(folder).length, 1);
});

test(
  "what dead processes left is swept at start-up, and nothing else",
  { skip: process.platform === "win32" },
  async (t) => {
    const { folder, env } = place(t);
    // Killed: it could not remove its own.
    const dead = spawnSync(
      process.execPath,
      code(
        "const { directory } = openGeneration(); require('node:fs').writeFileSync(directory + '/secret', 'x'); process.kill(process.pid, 'SIGKILL');",
      ),
      { env },
    );
    assert.equal(dead.signal, "SIGKILL");
    const [left] = fs.readdirSync(folder);
    // Alive: it waits for the end of its input.
    const living = spawn(
      process.execPath,
      code("console.log(openGeneration().directory); process.stdin.resume();"),
      {
        env,
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    t.after(() => living.kill("SIGKILL"));
    const kept = String(await new Promise((resolve) => living.stdout.once("data", resolve))).trim();
    assert.ok(!fs.existsSync(path.join(folder, left)), "swept by the start-up of the living one");

    const outside = path.join(env.HOME, "outside");
    fs.mkdirSync(outside);
    fs.writeFileSync(path.join(outside, "file"), "kept");
    const identity = JSON.parse(callNative((native) => native.ownIdentity()));
    const make = (name, record) => {
      fs.mkdirSync(path.join(folder, name));
      if (record !== undefined) fs.writeFileSync(path.join(folder, name, "owner.json"), record);
    };
    make("g-dead", JSON.stringify({ ...identity, pid: dead.pid }));
    fs.symlinkSync(outside, path.join(folder, "g-dead", "link"));
    make("g-other-boot", JSON.stringify({ ...identity, bootId: "another" }));
    make("g-other-host", JSON.stringify({ ...identity, hostName: "another", pid: dead.pid }));
    make("g-damaged", "{");
    make("g-without");
    make("new-young");
    make("new-old");
    fs.utimesSync(path.join(folder, "new-old"), 1, 1);
    make("dead-half");
    make("of-others");
    run(env, "sweepGenerations();");
    assert.deepEqual(
      fs.readdirSync(folder).toSorted(),
      [path.basename(kept), "g-damaged", "g-other-host", "g-without", "new-young", "of-others"].toSorted(),
    );
    assert.equal(fs.readFileSync(path.join(outside, "file"), "utf8"), "kept");
    assert.ok(fs.existsSync(path.join(kept, "owner.json")));
  },
);

test("where there can be no state directory, a sweep says nothing and a folder is refused", (t) => {
  const { env } = place(t);
  const file = path.join(env.HOME, "file");
  fs.writeFileSync(file, "");
  const nowhere = {
    ...env,
    XDG_STATE_HOME: path.join(file, "state"),
    LOCALAPPDATA: path.join(file, "state"),
  };
  const said = run(
    nowhere,
    "sweepGenerations(); try { openGeneration(); } catch (error) { console.log(error.code); }",
  );
  assert.equal(said, process.platform === "darwin" ? "" : "state_directory");
});
