#!/usr/bin/env node
// The command `agent-lifecycle`.
import { coreVersion } from "../index.js";

const { version } = require("../../package.json") as { version: string };

switch (process.argv[2]) {
  case "--version":
    console.log(version);
    break;
  case "demo":
    console.log(`agent-lifecycle ${version}, core ${coreVersion()}`);
    break;
  default:
    console.error("usage: agent-lifecycle --version | demo");
    process.exitCode = 2;
}
