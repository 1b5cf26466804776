// The example adapters against imitations of their programs' protocols: each keeps every rule of the conformance suite that concerns it.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { SCENARIOS, adapterConformance } from "agent-lifecycle/testing";
import { claudeCodeConfig, claudeCodeDriver } from "../examples/claude-code-stream-json/driver.mjs";
import { codexAppServerDriver } from "../examples/codex-app-server/driver.mjs";

const imitation = (name) => path.join(import.meta.dirname, "support", name);

/** The scenarios that an imitation knows, with the configuration that makes it play one. */
function scenariosOf(configOf, unknown = []) {
  const made = Object.keys(SCENARIOS)
    .filter((name) => !unknown.includes(name))
    .map((name) => [
      name,
      (folder) => {
        const token = randomBytes(12).toString("hex");
        return {
          config: configOf(name, folder, token),
          secrets: [token],
          between: () => fs.rmSync(folder, { recursive: true }),
        };
      },
    ]);
  return Object.fromEntries(made);
}

const codex = {
  driver: codexAppServerDriver(),
  scenarios: scenariosOf((name, folder, token) => ({
    command: process.execPath,
    args: [imitation("codex-app-server.mjs"), name, folder],
    environment: [`CONFORMANCE_TOKEN=${token}`],
  })),
};

const claude = {
  driver: claudeCodeDriver(),
  scenarios: scenariosOf(
    (name, folder, token) =>
      claudeCodeConfig({
        command: process.execPath,
        args: [imitation("claude-code.mjs")],
        environment: [
          `CONFORMANCE_SCENARIO=${name}`,
          `CONFORMANCE_FOLDER=${folder}`,
          `CONFORMANCE_TOKEN=${token}`,
        ],
      }),
    ["late", "steer"],
  ),
};

for (const [program, options, skipped] of [
  ["Codex app-server", codex, []],
  ["Claude Code stream-json", claude, ["late", "steering"]],
]) {
  const rules = adapterConformance(options);
  for (const { id, title, skip, run } of rules) test(`${program}: ${id}: ${title}`, { skip }, run);

  test(`${program}: only what the program cannot do is skipped`, () => {
    assert.deepEqual(
      rules.filter(({ skip }) => skip).map(({ id }) => id),
      skipped,
    );
  });
}

test("Claude Code stream-json: kill -9 of the host ends the bridge and the program", async (t) => {
  const folder = fs.mkdtempSync(path.join(tmpdir(), "agent-lifecycle-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const host = spawn(process.execPath, [imitation("claude-host.mjs"), folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => host.kill("SIGKILL"));
  const [said] = await once(host.stdout.setEncoding("utf8"), "data");
  assert.equal(said, "turn_started\n");
  const pids = fs.readFileSync(path.join(folder, "pids"), "utf8").split(" ").map(Number);
  assert.ok(pids.every(isAlive));
  host.kill("SIGKILL");
  await once(host, "close");
  const deadline = Date.now() + 10_000;
  while (pids.some(isAlive)) {
    assert.ok(Date.now() < deadline, "a process of the session runs on");
    await setImmediate();
  }
});

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("each example says for which version it was written, and that it was not run against the program", () => {
  for (const folder of ["codex-app-server", "claude-code-stream-json"]) {
    const at = (name) =>
      fs.readFileSync(path.join(import.meta.dirname, "..", "examples", folder, name), "utf8");
    assert.match(at("driver.mjs"), /^\/\/ .*\n\/\/\n\/\/ Written for .*\d+\.\d+.*NOT run against the real/s);
    assert.match(
      at("README.md"),
      /\*\*Written for:\*\* .*\d+\.\d+[^]*\*\*Not run against the real program\.\*\*/,
    );
  }
});
