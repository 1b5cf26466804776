// What crosses the boundary: one instance for require and import, refusals, panics, and a missing addon.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import * as imported from "agent-lifecycle";

const require = createRequire(import.meta.url);
const required = require("agent-lifecycle");
const { callNative } = require("../dist/native.js");
const { LifecycleError, coreVersion, normalizeLifecycleEvent } = imported;
const { version } = require("../package.json");

const thrown = (run) => {
  try {
    run();
  } catch (error) {
    return error;
  }
  assert.fail("nothing was thrown");
};

test("require and import give the same names and instances", () => {
  const { default: whole, __esModule: _, "module.exports": __, ...names } = imported;
  assert.equal(whole, required);
  assert.deepEqual(Object.keys(names).toSorted(), Object.keys(required).toSorted());
  for (const [name, value] of Object.entries(names)) assert.equal(value, required[name]);
  assert.ok(new LifecycleError("invalid_value", "no") instanceof required.LifecycleError);
});

test("the addon, the crate and the package have one version", () => assert.equal(coreVersion(), version));

test("a LifecycleError carries code, path and issues, and leaves out what it has not", () => {
  const issues = [{ code: "invalid_value", path: "a", message: "a is missing" }];
  const full = new LifecycleError("invalid_event", "no", { path: "a", issues, cause: "why" });
  assert.ok(full instanceof TypeError);
  assert.equal(String(full), "LifecycleError: no");
  assert.equal(full.cause, "why");
  assert.deepEqual(JSON.parse(JSON.stringify(full)), {
    name: "LifecycleError",
    code: "invalid_event",
    message: "no",
    path: "a",
    issues,
  });
  const bare = new LifecycleError("invalid_event", "no");
  assert.deepEqual(Object.keys(bare), ["code"]);
  assert.ok(!("cause" in bare));
  assert.deepEqual(Object.keys(bare.toJSON()), ["name", "code", "message"]);
});

test("a refusal of the core arrives as a LifecycleError with code and path", () => {
  const error = thrown(() => normalizeLifecycleEvent({ schemaVersion: 2 }));
  assert.ok(error instanceof LifecycleError);
  assert.deepEqual(error.toJSON(), {
    name: "LifecycleError",
    code: "invalid_schema_version",
    message: "schemaVersion must be the number 1, the only version that exists",
    path: "$.schemaVersion",
  });
});

test("a panic arrives as an Error, and the process and the addon go on", () => {
  const script = `
    const { callNative } = require("./dist/native.js");
    try { callNative((native) => native.panicForTests()); } catch (error) {
      console.log(error instanceof Error, error.name, error.code, /asked to panic/.test(error.message));
    }
    console.log(callNative((native) => native.coreVersion()));`;
  const run = spawnSync(process.execPath, ["-e", script], {
    cwd: path.dirname(import.meta.dirname),
    encoding: "utf8",
  });
  assert.equal(run.stdout, `true Error GenericFailure true\n${version}\n`);
  assert.equal(run.status, 0);
});

test("an error that is no refusal goes through as it is", () => {
  const own = new RangeError("mine");
  assert.equal(
    thrown(() =>
      callNative(() => {
        throw own;
      }),
    ),
    own,
  );
});

test("worker threads refuse with their own LifecycleError", async () => {
  const script = `
    const { parentPort } = require("node:worker_threads");
    const { LifecycleError, normalizeLifecycleEvent } = require(${JSON.stringify(require.resolve("agent-lifecycle"))});
    try { normalizeLifecycleEvent({ schemaVersion: 2 }); } catch (error) {
      parentPort.postMessage(error instanceof LifecycleError && error.code);
    }`;
  const answers = [1, 2].map(
    () =>
      new Promise((resolve, reject) =>
        new Worker(script, { eval: true }).on("message", resolve).on("error", reject),
      ),
  );
  assert.deepEqual(await Promise.all(answers), ["invalid_schema_version", "invalid_schema_version"]);
});

const { platform, arch } = process;
const libc = { linux: process.report.getReport().header.glibcVersionRuntime ? "glibc" : "musl" }[platform];
const abi = { win32: "-msvc", linux: libc === "glibc" ? "-gnu" : "-musl" }[platform] ?? "";
const platformPackage = `agent-lifecycle-${platform}-${arch}${abi}`;

/** The error of a copy that has no addon, and whose manifest has what is given. */
function errorWithoutAddon(t, manifest) {
  const folder = mkdtempSync(path.join(tmpdir(), "agent-lifecycle-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of ["index.js", "native.js", "dist"]) {
    cpSync(path.join(import.meta.dirname, "..", name), path.join(folder, name), { recursive: true });
  }
  writeFileSync(
    path.join(folder, "package.json"),
    JSON.stringify({ name: "agent-lifecycle", version, ...manifest }),
  );
  const lone = require(folder);
  const error = thrown(() => lone.coreVersion());
  assert.ok(error instanceof lone.LifecycleError);
  assert.equal(error.code, "addon_missing");
  assert.ok(error.cause instanceof Error);
  for (const part of [
    `package ${platformPackage} `,
    `platform ${platform}`,
    `arch ${arch}`,
    `libc ${libc ?? "not applicable"}`,
  ]) {
    assert.ok(error.message.includes(part), `${part} in ${error.message}`);
  }
  return error;
}

test("K2: without the platform package the error names package, platform, arch, libc and the fix", (t) => {
  const error = errorWithoutAddon(t, { optionalDependencies: { [platformPackage]: version } });
  assert.ok(error.message.endsWith(`npm install ${platformPackage}@${version}`), error.message);
});

test("K2: on a platform without a package the error says which there are", (t) => {
  const error = errorWithoutAddon(t, { optionalDependencies: { "agent-lifecycle-plan9-x64": version } });
  assert.ok(
    error.message.endsWith("none for this platform; there are agent-lifecycle-plan9-x64."),
    error.message,
  );
});
