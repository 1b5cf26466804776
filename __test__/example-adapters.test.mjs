// The example adapters against imitations of their programs' protocols: each keeps every rule of the conformance suite that concerns it.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
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
