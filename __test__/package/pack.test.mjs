// What is published: both tarballs, installed in a folder elsewhere without a network, and used in every way.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";

const require = createRequire(import.meta.url);
const { at, npm, packageBin } = require("../../scripts/setup.cjs");
const { version } = require("../../package.json");

const folder = mkdtempSync(path.join(tmpdir(), "agent-lifecycle-pack-"));
const consumer = path.join(folder, "consumer");
const installed = path.join(consumer, "node_modules");
const tarballs = { main: "", platform: "" };

before(() => {
  const quiet = { stdio: ["ignore", "pipe", "pipe"] };
  const packed = spawnSync(process.execPath, [at("scripts", "pack.mjs"), folder], { encoding: "utf8" });
  assert.equal(packed.status, 0, packed.stderr);
  const main = `agent-lifecycle-${version}.tgz`;
  const names = readdirSync(folder);
  tarballs.main = path.join(folder, main);
  tarballs.platform = path.join(
    folder,
    names.find((name) => name !== main),
  );
  mkdirSync(consumer);
  writeFileSync(path.join(consumer, "package.json"), '{"name":"consumer","private":true}');
  // Scripts may run, and there are none; the cache is empty, so whatever is not in the tarballs would be missed.
  npm(["install", "--offline", `--cache=${path.join(folder, "cache")}`, tarballs.main, tarballs.platform], {
    cwd: consumer,
    ...quiet,
  });
});

after(() => rmSync(folder, { recursive: true }));

/** Runs node in the consumer's folder and returns what it prints. */
function node(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: consumer, encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  return stdout.trim();
}

const readJson = (...parts) => JSON.parse(readFileSync(path.join(...parts), "utf8"));

const filesUnder = (place) =>
  readdirSync(place, { recursive: true }).filter((name) => statSync(path.join(place, name)).isFile());

test("no script runs on install, nothing is compiled, and nothing else is installed", () => {
  const { packages } = readJson(installed, ".package-lock.json");
  const names = Object.keys(packages).map((name) => name.replace("node_modules/", ""));
  assert.equal(names.length, 2, names.join());
  for (const name of names) {
    assert.equal(packages[`node_modules/${name}`].hasInstallScript, undefined);
    const manifest = readJson(installed, name, "package.json");
    assert.equal(manifest.version, version);
    assert.equal(manifest.license, "MIT");
    for (const member of ["scripts", "dependencies", "devDependencies", "gypfile"])
      assert.ok(!(member in manifest));
    assert.ok(
      !filesUnder(path.join(installed, name)).some((file) => /binding\.gyp$|\.rs$|\.map$/.test(file)),
    );
  }
});

test("the main package names every platform package at its own version, and holds what it should", () => {
  const { optionalDependencies } = readJson(installed, "agent-lifecycle", "package.json");
  assert.deepEqual(
    optionalDependencies,
    Object.fromEntries(readdirSync(at("npm")).map((name) => [`agent-lifecycle-${name}`, version])),
  );
  const top = new Set(
    filesUnder(path.join(installed, "agent-lifecycle")).map((name) => name.split(path.sep)[0]),
  );
  const known = [
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "client.d.ts",
    "client.js",
    "dist",
    "docs",
    "hermes.d.ts",
    "hermes.js",
    "index.d.ts",
    "index.js",
    "native.d.ts",
    "native.js",
  ];
  assert.deepEqual(
    [...top].filter((name) => !known.includes(name)),
    ["SECURITY.md", "package.json"],
  );
});

test("require and import work, and give one instance", () => {
  const script = `
    import { createRequire } from "node:module";
    import { LifecycleError, coreVersion } from "agent-lifecycle";
    const required = createRequire(import.meta.url)("agent-lifecycle");
    const made = new required.LifecycleError("invalid_value", "no");
    console.log(made instanceof LifecycleError, coreVersion(), required.coreVersion());`;
  assert.equal(node("--input-type=module", "-e", script), `true ${version} ${version}`);
});

test("the command runs", () => {
  const command = path.join(installed, ".bin", "agent-lifecycle");
  const run = spawnSync(command, ["--version"], { encoding: "utf8", shell: process.platform === "win32" });
  assert.equal(run.stdout, `${version}\n`, run.stderr);
  assert.equal(run.status, 0);
});

test("the process guard lies beside the addon, can be run by anybody, and runs", () => {
  const [platform] = readdirSync(installed).filter((name) => name.startsWith("agent-lifecycle-"));
  const guard = path.join(
    installed,
    platform,
    `agent-lifecycle-guard${process.platform === "win32" ? ".exe" : ""}`,
  );
  const stat = statSync(guard);
  assert.ok(stat.isFile());
  if (process.platform !== "win32") assert.equal(stat.mode & 0o755, 0o755);
  // The guard is the program's parent. No other is found: there is no state directory to write one to.
  const program = "console.log(JSON.stringify({ method: String(process.ppid) })); process.stdin.resume();";
  const script = `
    const fs = require("node:fs");
    const { AdapterProcess } = require("agent-lifecycle");
    let told;
    const pid = new Promise((resolve) => (told = resolve));
    AdapterProcess.start({
      command: process.execPath,
      args: ["-e", ${JSON.stringify(program)}],
      onNotification: ({ method }) => told(method),
      initialize: () => pid,
    }).then(async (adapter) => {
      const place = "/proc/" + (await pid) + "/exe";
      console.log(fs.existsSync(place) ? fs.readlinkSync(place) : ${JSON.stringify(guard)});
      await adapter.close();
    });`;
  const env = { ...process.env, XDG_STATE_HOME: path.join(folder, "consumer", "package.json") };
  const run = spawnSync(process.execPath, ["-e", script], { cwd: consumer, encoding: "utf8", env });
  assert.equal(run.stdout, `${guard}\n`, run.stderr);
});

for (const [name, module, moduleResolution, file] of [
  ["node16, CommonJS", "node16", "node16", "consumer.cts"],
  ["node16, ESM", "node16", "node16", "consumer.mts"],
  ["bundler", "esnext", "bundler", "consumer.ts"],
]) {
  test(`a consumer type-checks, strictly and without other types: ${name}`, () => {
    writeFileSync(
      path.join(consumer, file),
      `import { LifecycleError, coreVersion } from "agent-lifecycle";
      import { type RowStore, createRowStore } from "agent-lifecycle/client";
      import { type HermesDelegationEvent, normalizeHermesDelegationEvent } from "agent-lifecycle/hermes";
      export const store: RowStore = createRowStore();
      export const normalize: (value: unknown) => HermesDelegationEvent = normalizeHermesDelegationEvent;
      export const version: string = coreVersion();
      export const code: string = new LifecycleError("invalid_value", "no").code;
      // @ts-expect-error: a string is no number, so the types are there.
      export const wrong: number = coreVersion();`,
    );
    const target = ["--module", module, "--moduleResolution", moduleResolution, "--target", "es2022"];
    node(packageBin("typescript", "tsc"), "--noEmit", "--strict", "--skipLibCheck", "false", ...target, file);
  });
}

test("publint finds nothing", () => {
  node(packageBin("publint"), tarballs.main, "--strict");
});

test("attw finds nothing", () => {
  node(packageBin("@arethetypeswrong/cli", "attw"), tarballs.main);
});

test("the sizes are what a reader of the log sees", (t) => {
  for (const [name, tarball] of Object.entries(tarballs)) {
    t.diagnostic(`${name}: ${path.basename(tarball)} ${statSync(tarball).size} bytes`);
  }
  const addon = filesUnder(installed).find((file) => file.endsWith(".node"));
  t.diagnostic(`${path.basename(addon)} ${statSync(path.join(installed, addon)).size} bytes`);
  // A debug build, or a library that came along unseen, is over this.
  assert.ok(statSync(tarballs.platform).size < 10_000_000);
});
