"use strict";
// Every check of `npm test`, in order, with its time. A failing one does not stop the others.

const fs = require("node:fs");
const path = require("node:path");
const setup = require("./setup.cjs");
const { output } = require("./tools.cjs");

const { at, run, runPackage } = setup;

/** `node --test` takes a folder in some versions and patterns in others; every version takes files. */
function testFiles(folder = "__test__") {
  return fs
    .readdirSync(at(folder), { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const name = path.posix.join(folder, entry.name);
      if (entry.isDirectory()) return testFiles(name);
      return /\.test\.[cm]?js$/.test(entry.name) ? [name] : [];
    });
}

function runJavaScriptTests() {
  const files = testFiles();
  // Without a file `node --test` would look for tests by itself.
  if (files.length === 0) throw new Error("there is no test file in __test__");
  run(process.execPath, ["--test", "--test-reporter=spec", ...files]);
}

const hasNextest = () => output("cargo", ["nextest", "--version"]) !== undefined;

const CHECKS = [
  { name: "npm packages", run: setup.ensurePackages },
  { name: "addon", needs: ["npm packages"], run: () => setup.ensureAddon() },
  { name: "drift", needs: ["addon"], run: setup.checkDrift },
  { name: "TypeScript", needs: ["npm packages"], run: setup.ensureDist },
  { name: "Rust format", run: () => run("cargo", ["fmt", "--all", "--check"]) },
  {
    name: "Rust lint",
    run: () => run("cargo", ["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]),
  },
  {
    name: "Rust tests",
    run: () =>
      run("cargo", [
        ...(hasNextest() ? ["nextest", "run"] : ["test", "--all-targets"]),
        "--locked",
        "--workspace",
      ]),
  },
  { name: "Rust doc tests", run: () => run("cargo", ["test", "--doc", "--locked", "--workspace"]) },
  { name: "tidy", run: () => run("cargo", ["xtask", "tidy"]) },
  {
    name: "format",
    needs: ["npm packages"],
    run: () => runPackage("prettier", ["--check", "--log-level=warn", "."]),
  },
  { name: "lint", needs: ["npm packages"], run: () => runPackage("oxlint", ["--deny-warnings"]) },
  {
    name: "types",
    needs: ["TypeScript"],
    run: () => runPackage("typescript", ["--project", "__test__/tsconfig.json"], "tsc"),
  },
  {
    name: "JavaScript tests",
    needs: ["addon", "TypeScript"],
    run: runJavaScriptTests,
  },
];

/** Runs the checks and returns the faults, one line each. */
function runChecks(checks, log = console.log) {
  const failed = new Map();
  for (const check of checks) {
    log(`\n== ${check.name}`);
    const started = performance.now();
    const missing = (check.needs ?? []).find((name) => failed.has(name));
    try {
      if (missing !== undefined) throw new Error(`not run: it needs "${missing}"`);
      check.run();
    } catch (error) {
      failed.set(check.name, error.message);
      log(`failed: ${error.message}`);
    }
    log(`== ${check.name}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
  }
  return [...failed].map(([name, message]) => `${name}: ${message}`);
}

function runAll() {
  const faults = runChecks(CHECKS);
  console.log(faults.length > 0 ? `\nFailed:\n  ${faults.join("\n  ")}` : "\nAll checks passed.");
  console.log(`${CHECKS.length - faults.length} passed, ${faults.length} failed`);
  if (faults.length > 0) process.exitCode = 1;
}

module.exports = { runAll, runChecks };
