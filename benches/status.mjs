// Row `status`: a folder of old journals -> rows, in a process of its own, against one that only reads and parses all lines. Prints
// the same JSON lines as measure.mjs, and `{"variant","peakMegabytes"}` for a tenth of the journals and for all.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { mulberry32 } from "./corpus.mjs";
import { Transcript, uuid } from "./transcript.mjs";

const [shape, rounds] = process.argv.slice(2);
const { journals, seed } = JSON.parse(shape);
const HERE = import.meta.dirname;

const COMMAND = path.join(HERE, "..", "dist", "cli", "main.js");
/** Commands that print JSON about the journals of a folder. */
const COMMANDS = {
  native: [COMMAND, "status", "--json"],
  active: [COMMAND, "status", "--json", "--active"],
  plain: [path.join(HERE, "baselines", "read-all.mjs")],
};

/** Writes sessions of mixed lengths, every fourth with the journals of its sub-agents, until there are `count` journals. */
function fill(folder, count) {
  const random = mulberry32(seed);
  const corpus = { journals: 0, lines: 0, bytes: 0 };
  const write = (file, { lines }) => {
    const text = Buffer.from(`${lines.join("\n")}\n`);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    corpus.journals++;
    corpus.lines += lines.length;
    corpus.bytes += text.length;
  };
  for (let at = 0; corpus.journals < count; at++) {
    const sessionId = uuid(random);
    const start = Date.UTC(2026, 3, 1) + at * 600_000;
    const session = new Transcript({ random, sessionId, start });
    const length = Math.min(1000, 10 / (1 - random()));
    while (session.lines.length < length) session.turn();
    const project = path.join(folder, `project-${at % 20}`);
    write(path.join(project, `${sessionId}.jsonl`), session);
    if (at % 4 !== 0) continue;
    for (const { agentId, call, prompt, start: launchedAt } of session.launched) {
      if (corpus.journals === count) break;
      const agent = new Transcript({ random, sessionId, agentId, start: launchedAt });
      agent.turn(prompt);
      const file = path.join(project, sessionId, "subagents", `agent-${agentId}`);
      write(`${file}.jsonl`, agent);
      writeFileSync(`${file}.meta.json`, JSON.stringify({ toolUseId: call }));
    }
  }
  return corpus;
}

/** Runs a command; what it printed, how long it took, and its peak of resident memory. */
function run(variant, folder) {
  const args = ["--import", path.join(HERE, "peak.mjs"), ...COMMANDS[variant], folder];
  const started = performance.now();
  const child = spawnSync(process.execPath, args, {
    encoding: "utf8",
    maxBuffer: 2 ** 30,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ms = performance.now() - started;
  assert.equal(child.status, 0, child.stderr);
  return { ms, said: JSON.parse(child.stdout), peakMegabytes: Number(child.stderr) / 1024 };
}

/** What both come to: how many sessions there are. Of ours, no session may be called lost, however old it is. */
function look({ rows, sessions }) {
  if (rows === undefined) return { sessions };
  assert.equal(rows.filter(({ state }) => state === "lost").length, 0);
  return { sessions: rows.filter(({ parentKey }) => parentKey === null).length };
}

const folder = mkdtempSync(path.join(tmpdir(), "agent-lifecycle-bench-"));
try {
  const all = path.join(folder, "all");
  const some = path.join(folder, "some");
  console.log(JSON.stringify({ corpus: fill(all, journals) }));
  fill(some, journals / 10);
  for (const variant of Object.keys(COMMANDS)) {
    const { said } = run(variant, all);
    // What is not at work is read and left out.
    if (variant === "active") look(said);
    else console.log(JSON.stringify({ variant, result: look(said) }));
    const peakMegabytes = [some, all].map((place) => run(variant, place).peakMegabytes);
    console.log(JSON.stringify({ variant, peakMegabytes }));
  }
  for (let round = 0; round < Number(rounds); round++) {
    for (const variant of Object.keys(COMMANDS)) {
      console.log(JSON.stringify({ variant, ms: run(variant, all).ms }));
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}
