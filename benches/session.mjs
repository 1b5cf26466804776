// Row `session`: bytes of a Claude Code journal in chunks of 64 KiB -> provider -> bridge -> projection -> rows, through the addon and
// in JavaScript.
import { createRequire } from "node:module";
import { FastSession } from "./baselines/fast-session.mjs";
import { PlainSession } from "./baselines/session.mjs";
import { measure, parseFloor } from "./measure.mjs";

const { callNative } = createRequire(import.meta.url)("../dist/native.js");
/** Behind all times of the corpus. */
const NOW = "2026-11-01T00:00:00Z";
const HEAD = 64 * 1024;

/** As somebody who follows the journal would: whatever is there after each chunk is projected. */
function native(chunks) {
  return callNative((addon) => {
    const pipeline = new addon.NativePipeline();
    const journal = pipeline.addJournal("session.jsonl", chunks[0].subarray(0, HEAD));
    for (const chunk of chunks) {
      pipeline.push(journal, chunk);
      pipeline.settle(NOW);
    }
    return JSON.parse(pipeline.rows());
  });
}

const inJavaScript = (Session) => (chunks) => {
  const session = new Session();
  session.read(chunks);
  return session.rows();
};

/** What all of them know of a row. */
function known(row) {
  const { stateSince, startedAt, waits, tools, context } = row;
  return {
    ...Object.fromEntries(SAME.map((name) => [name, row[name]])),
    used: context?.used,
    times: [stateSince, startedAt].map((time) => Date.parse(time)),
    waits: waits.map(({ waitId, reason }) => `${waitId} ${reason}`),
    tools: tools.count,
    open: tools.open.map(({ toolId, name }) => `${toolId} ${name}`),
  };
}

/** Members that are the same in all of them. */
const SAME = [
  "key",
  "childId",
  "source",
  "parentKey",
  "state",
  "waitingReason",
  "turn",
  "turns",
  "activity",
  "liveChildren",
  "title",
  "model",
  "place",
  "usage",
];

const byKey = (left, right) => (left.key < right.key ? -1 : 1);

await measure(
  { native, plain: inJavaScript(PlainSession), fast: inJavaScript(FastSession) },
  (rows) => rows.map(known).toSorted(byKey),
  (rows) => ({ rows: rows.length, turns: rows[0].turns.count, tools: rows[0].tools.count }),
  { parse: parseFloor() },
);
