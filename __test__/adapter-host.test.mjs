// AdapterProcess and its host: how the host ends, what it leaves behind, and what keeps it alive.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { Worker } from "node:worker_threads";
import { isGone, rejected, start, until } from "./support/adapter.mjs";

const require = createRequire(import.meta.url);
const { callNative, platformPackage } = require("../dist/native.js");
const { outsideArchive } = require("../dist/runtime/guard.js");

const root = path.dirname(import.meta.dirname);
const folder = mkdtempSync(path.join(tmpdir(), "agent-lifecycle-adapter-"));
after(() => rmSync(folder, { recursive: true }));

const support = path.join(import.meta.dirname, "support", "adapter.mjs");
const isLinux = process.platform === "linux";
/** A host that is a program of its own: what its script prints comes as lines of JSON. */
function host(script, env = {}) {
  const source = `import { isGone, rejected, shell, start } from ${JSON.stringify(support)};\n${script}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    next: async () => JSON.parse((await lines.next()).value),
    exit: new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code))),
  };
}

const print = "const print = (value) => process.stdout.write(JSON.stringify(value) + '\\n');";

test("P5: kill -9 of the host: child, grandchild and guard are gone", async () => {
  const run = host(`${print} const adapter = await start(); print(await adapter.request("grandchild"));
    await adapter.request("never");`);
  const pids = await run.next();
  assert.equal(Object.values(pids).filter((pid) => pid > 1 && !isGone(pid)).length, 3);
  run.child.kill("SIGKILL");
  assert.equal(await run.exit, "SIGKILL");
  await until("all are gone", () => Object.values(pids).every(isGone));
});

test("P5: also one that has left the group, on Linux", { skip: !isLinux }, async () => {
  const run = host(`${print} const adapter = await shell(
    "setsid sh -c 'echo {\\\\\\"method\\\\\\":\\\\\\"pid\\\\\\",\\\\\\"params\\\\\\":$$}; exec sleep 300' & wait",
    { onNotification: ({ params }) => print(params) });
    await adapter.request("never");`);
  const pid = await run.next();
  assert.ok(!isGone(pid));
  run.child.kill("SIGKILL");
  await until("it is gone", () => isGone(pid));
});

for (const [how, ending] of [
  ["process.exit", "process.exit(3);"],
  ["an uncaught exception", "throw new Error('planned');"],
  ["the end of the script", ""],
]) {
  test(`the host ends by ${how}: nothing is left`, async () => {
    const run = host(`${print} const adapter = await start(); print(await adapter.request("grandchild"));
      process.on("uncaughtException", () => process.exit(4)); ${ending}`);
    const pids = Object.values(await run.next());
    assert.ok([0, 3, 4].includes(await run.exit));
    await until("all are gone", () => pids.every(isGone));
  });
}

/** Runs a script to its end: its exit code and what it printed. */
function outcome(script) {
  const source = `import { shell, start } from ${JSON.stringify(support)};\n${script}`;
  const options = { cwd: root, encoding: "utf8", timeout: 60_000 };
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--input-type=module", "-e", source],
    options,
  );
  return [status, stdout + stderr];
}

test("K3: a script that starts one and never closes it ends by itself, and what waits keeps it alive", () => {
  assert.deepEqual(
    outcome(
      "const a = await start({ onNotification: () => {} }); a.subscribe(() => {}); console.log('end');",
    ),
    [0, "end\n"],
  );
  // Each of these would end with code 13 where nothing kept it alive.
  const script = `read l; sleep 0.3; echo '{"id":1,"result":5}'; exec cat >/dev/null`;
  const request = `const adapter = await shell(${JSON.stringify(script)});
    console.log(await adapter.request("x", 1, { timeoutMs: null }));`;
  assert.deepEqual(outcome(request), [0, "5\n"]);
  assert.deepEqual(outcome("const a = await shell('sleep 0.5'); console.log((await a.close()).code);"), [
    0,
    "0\n",
  ]);
});

test("a worker that is ended takes its process along, and others go on", async () => {
  const other = await start();
  const source = `const { parentPort } = require("node:worker_threads");
    import(${JSON.stringify(support)}).then(async ({ start }) => {
      const adapter = await start();
      parentPort.postMessage(await adapter.request("grandchild"));
    });`;
  const worker = new Worker(source, { eval: true });
  const pids = Object.values(await new Promise((resolve) => worker.once("message", resolve)));
  await worker.terminate();
  await until("all are gone", () => pids.every(isGone));
  assert.equal(await other.request("echo", 1), 1);
  await other.close();
});

test("a guard that is killed takes the group along, and the host is told", async () => {
  const adapter = await start();
  const { child, guard, grandchild } = await adapter.request("grandchild");
  const request = rejected(adapter.request("never"));
  process.kill(guard, "SIGKILL");
  const error = await request;
  assert.deepEqual([error.code, error.details.reason], ["process_exited", "guard_died"]);
  await until("both are gone", () => [child, grandchild].every(isGone));
});

test("SIGTERM, SIGINT and SIGHUP to the group do not end the guard", async () => {
  const adapter = await start();
  const { guard } = await adapter.request("grandchild");
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.kill(guard, signal);
  assert.equal(await adapter.request("echo", 1), 1);
  assert.ok(!isGone(guard));
  await adapter.close();
  assert.ok(isGone(guard));
});

test("the embedded guard is written once, private, and replaced where it is not what it should be", async () => {
  const state = path.join(folder, "state");
  const guards = path.join(state, "agent-lifecycle", "guards");
  const env = { XDG_STATE_HOME: state, HOME: folder };
  const run = async (before = () => undefined) => {
    before();
    const script = `${print} const adapter = await start(); print(await adapter.request("echo", 1)); await adapter.close();`;
    const child = host(script, env);
    assert.equal(await child.next(), 1);
    assert.equal(await child.exit, 0);
    const [name, ...more] = readdirSync(guards);
    assert.deepEqual(more, []);
    assert.match(name, /^guard-[0-9a-f]{32}$/);
    const stat = statSync(path.join(guards, name));
    assert.equal(stat.mode & 0o777, 0o700);
    assert.equal(statSync(guards).mode & 0o777, 0o700);
    return { file: path.join(guards, name), stat };
  };
  const { file, stat } = await run();
  assert.equal((await run()).stat.mtimeMs, stat.mtimeMs);
  const bytes = readFileSync(file);
  await run(() => writeFileSync(file, "#!/bin/sh\nexit 1\n"));
  assert.ok(readFileSync(file).equals(bytes));
});

test("a guard that cannot be had says how it can", async () => {
  const place = path.join(folder, "a-file");
  writeFileSync(place, "");
  const script = `${print} const error = await rejected(start()); print([error.name, error.code, error.message]);`;
  // The state directory cannot be made.
  const run = host(script, { XDG_STATE_HOME: path.join(place, "state"), HOME: folder });
  const [name, code, message] = await run.next();
  assert.deepEqual([name, code], ["AvailabilityError", "guard_unavailable"]);
  assert.match(message, new RegExp(`${platformPackage()}.*guardPath`));
});

test("in an archive the guard is taken from what is unpacked beside it", async () => {
  for (const [given, expected] of [
    ["/a/app.asar/node_modules/p/guard", "/a/app.asar.unpacked/node_modules/p/guard"],
    ["C:\\a\\app.asar\\p\\guard", "C:\\a\\app.asar.unpacked\\p\\guard"],
    ["/a/app.asar.unpacked/p/guard", "/a/app.asar.unpacked/p/guard"],
    ["/a/myapp.asar/p/guard", "/a/myapp.asar/p/guard"],
    ["/a/b/guard", "/a/b/guard"],
  ]) {
    assert.equal(outsideArchive(given), expected);
  }
  // An application as Electron sees it: JavaScript in the archive, what runs beside it.
  const modules = path.join(folder, "app.asar", "node_modules");
  const main = path.join(modules, "agent-lifecycle");
  for (const name of ["dist", "index.js", "native.js", "package.json"]) {
    cpSync(path.join(root, name), path.join(main, name), { recursive: true });
  }
  const addon = readdirSync(root).find((name) => name.endsWith(".node"));
  cpSync(path.join(root, addon), path.join(main, addon));
  const platform = path.join(modules, platformPackage());
  mkdirSync(platform);
  writeFileSync(
    path.join(platform, "package.json"),
    JSON.stringify({ name: platformPackage(), version: "0.0.0" }),
  );
  const unpacked = path.join(folder, "app.asar.unpacked", "node_modules", platformPackage());
  mkdirSync(unpacked, { recursive: true });
  const guard = path.join(unpacked, "agent-lifecycle-guard");
  cpSync(
    callNative((native) => native.writeGuard(folder)),
    guard,
  );
  const script = `const { AdapterProcess } = require("agent-lifecycle");
    const heard = [];
    AdapterProcess.start({ command: "/bin/sh", args: ["-c", "echo {\\\\\\"method\\\\\\":\\\\\\"$PPID\\\\\\"}; read l"],
      onNotification: ({ method }) => {
        console.log(require("node:fs").readlinkSync("/proc/" + method + "/exe"));
      } }).then((adapter) => setTimeout(() => adapter.close(), 200));`;
  if (!isLinux) return;
  const file = path.join(folder, "app.asar", "main.cjs");
  writeFileSync(file, script);
  const state = path.join(folder, "no-state");
  const env = { ...process.env, XDG_STATE_HOME: state };
  const { stdout, stderr } = spawnSync(process.execPath, [file], { encoding: "utf8", env });
  assert.equal(stdout + stderr, `${guard}\n`);
});
