"use strict";
// The demonstration: a session with three sub-agents, played from its journals through the whole pipeline at about nine
// times its speed, and drawn again whenever something was written. It ends with the tree as it stands then.

const fs = require("node:fs");
const path = require("node:path");
const { at } = require("./setup.cjs");

const SPEED = 9;
const FRAME_MS = 100;
const fixture = at("fixtures", "claude-code", "three-subagents");

/** The lines of a journal, each with its time; a line without one has that of the line before. */
function timedLines(journal) {
  let time = 0;
  return fs
    .readFileSync(journal, "utf8")
    .split(/(?<=\n)/)
    .map((line) => {
      const { timestamp } = JSON.parse(line);
      if (timestamp !== undefined) time = Date.parse(timestamp);
      return { journal, line, time };
    });
}

/** The session's journals as they were written: all lines in the order of their times. */
function recording() {
  const below = path.join(fixture, "0-bytes", "subagents");
  const children = fs.readdirSync(below).filter((name) => name.endsWith(".jsonl"));
  const journals = [path.join(fixture, "0-bytes.jsonl"), ...children.map((name) => path.join(below, name))];
  const lines = journals.flatMap(timedLines);
  const first = Math.min(...lines.map((line) => line.time).filter((time) => time > 0));
  return lines
    .map((line) => ({ ...line, time: Math.max(line.time, first) }))
    .toSorted((a, b) => a.time - b.time);
}

function launchBeside(journal) {
  const meta = journal.replace(/\.jsonl$/, ".meta.json");
  return fs.existsSync(meta) ? JSON.parse(fs.readFileSync(meta, "utf8")).toolUseId : undefined;
}

/** Draws over what was drawn before on a terminal; elsewhere, a new picture below for every change of a state. */
class Screen {
  #drawn = 0;
  #states = "";

  draw(text, rows) {
    const states = rows.map((row) => `${row.key} ${row.state} ${row.waitingReason}`).join();
    if (process.stdout.isTTY) {
      process.stdout.write(this.#drawn > 0 ? `\u001b[${this.#drawn}A\u001b[J${text}` : text);
      this.#drawn = text.split("\n").length - 1;
    } else if (states !== this.#states) {
      process.stdout.write(this.#states === "" ? text : `\n${text}`);
      this.#states = states;
    }
  }
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function play() {
  const { callNative } = require(at("dist", "native.js"));
  const lines = recording();
  const pipeline = callNative((native) => new native.NativePipeline());
  const journals = new Map();
  const { isTTY = false, columns } = process.stdout;
  const look = { color: isTTY && !process.env.NO_COLOR, ...(isTTY ? { width: columns } : {}) };
  const screen = new Screen();
  const [{ time: first }] = lines;
  const last = lines.at(-1).time;
  console.log(
    `A recorded session, ${Math.round((last - first) / 1000)} s long, at ${SPEED} times its speed:\n`,
  );
  for (let now = first; lines.length > 0; now += FRAME_MS * SPEED) {
    const due = lines.findIndex((line) => line.time > now);
    for (const { journal, line } of lines.splice(0, due === -1 ? lines.length : due)) {
      const bytes = Buffer.from(line);
      if (!journals.has(journal)) {
        journals.set(journal, pipeline.addJournal(journal, bytes, launchBeside(journal)));
      }
      pipeline.push(journals.get(journal), bytes);
    }
    const time = new Date(Math.min(now, last)).toISOString();
    callNative(() => pipeline.settle(time));
    screen.draw(
      callNative(() => pipeline.text(time, look)),
      JSON.parse(callNative(() => pipeline.rows())),
    );
    await sleep(FRAME_MS);
  }
  console.log("\nYour own agents: node dist/cli/main.js status");
}

module.exports = { play };
if (require.main === module) play();
