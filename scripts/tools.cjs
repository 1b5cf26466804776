"use strict";
// Says in one sentence which tool is missing or too old. Runs before anything else and on any Node, so it is written
// in the syntax of old ones.

var childProcess = require("child_process");
var fs = require("fs");
var path = require("path");

var root = path.join(__dirname, "..");

function read(file) {
  return fs.readFileSync(path.join(root, file), "utf8");
}

/** The least versions, from the manifests, so that they are said in one place. */
function required() {
  var linter = JSON.parse(read("package-lock.json")).packages["node_modules/oxlint"];
  return {
    node: /\d+(\.\d+)*/.exec(JSON.parse(read("package.json")).engines.node)[0],
    // npm leaves the linter's binary out on a Node that the linter does not support.
    nodeForChecks: /\d+(\.\d+)*/.exec(linter.engines.node)[0],
    rustc: /^rust-version = "([\d.]+)"/m.exec(read("Cargo.toml"))[1],
  };
}

function atLeast(version, least) {
  var have = version.split(".");
  var want = least.split(".");
  for (var i = 0; i < want.length; i++) {
    var difference = Number(have[i] || 0) - Number(want[i]);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** What a command prints, or undefined where it cannot run. */
function output(command, args) {
  var run = childProcess.spawnSync(command, args, { cwd: root, encoding: "utf8" });
  return run.error || run.status !== 0 ? undefined : run.stdout;
}

/**
 * The first fault of this machine as a sentence, or undefined. `purpose` is "build" or "test"; `probe` and `node` are
 * what the tests replace.
 */
function fault(purpose, probe, node) {
  var ask = probe || output;
  var least = required();
  var have = node || process.versions.node;
  if (!atLeast(have, least.node)) {
    return "Node " + least.node + " or newer is needed, and this is Node " + have + ".";
  }
  if (purpose === "test" && !atLeast(have, least.nodeForChecks)) {
    return (
      "Node " +
      least.nodeForChecks +
      " or newer is needed for the checks (oxlint), and this is Node " +
      have +
      "."
    );
  }
  var rustc = /^rustc ([\d.]+)/.exec(ask("rustc", ["--version"]) || "");
  if (!rustc || !ask("cargo", ["--version"])) {
    return (
      "Rust " +
      least.rustc +
      " or newer is needed, and cargo or rustc does not run here: install it with rustup."
    );
  }
  if (!atLeast(rustc[1], least.rustc)) {
    return (
      "Rust " + least.rustc + " or newer is needed, and this is Rust " + rustc[1] + ": run `rustup update`."
    );
  }
  if (process.platform !== "win32" && ask("cc", ["--version"]) === undefined) {
    return "A C compiler is needed to link the addon, and `cc` does not run here: install gcc or clang.";
  }
  if (purpose === "test") {
    if (ask("cargo", ["fmt", "--version"]) === undefined) {
      return "rustfmt is needed for the checks: run `rustup component add rustfmt`.";
    }
    if (ask("cargo", ["clippy", "--version"]) === undefined) {
      return "clippy is needed for the checks: run `rustup component add clippy`.";
    }
  }
  return undefined;
}

/** Ends the process with a sentence where a tool is missing or too old. */
function check(purpose) {
  var sentence = fault(purpose);
  if (sentence !== undefined) {
    console.error(sentence);
    process.exit(1);
  }
}

module.exports = {
  atLeast: atLeast,
  check: check,
  fault: fault,
  output: output,
  required: required,
  root: root,
};
