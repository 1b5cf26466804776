// `agent-lifecycle watch` or `explain` over a monitor whose rows stand in a file: `watch-host.mjs watch|explain <file> [argument...]`.
// The file has {rows, explanations}; it is looked at anew whenever it is another one.
import fs from "node:fs";
import { createRequire } from "node:module";
import { fakeMonitor } from "./rows.mjs";

const require = createRequire(import.meta.url);
const { watchWith } = require("../../dist/cli/watch.js");
const { explainWith } = require("../../dist/cli/explain.js");

const [command, file, ...args] = process.argv.slice(2);
const read = () => JSON.parse(fs.readFileSync(file, "utf8"));
const { rows, explanations } = read();
const fake = fakeMonitor(rows, explanations);
let known = fs.statSync(file).ino;
const look = setInterval(() => {
  const { ino } = fs.statSync(file);
  if (ino === known) return;
  known = ino;
  fake.set(read().rows);
  if (read().crash) throw new Error("crashed on purpose");
}, 20);
const run = command === "watch" ? watchWith(fake.open) : explainWith(fake.open);
process.exitCode = await run(args).catch((error) => {
  console.error(error.message);
  return 2;
});
clearInterval(look);
