// `npm run bench [name...]`: measures the rows whose name begins so, prints the table and writes results.json.
import assert from "node:assert/strict";
import { environment, keep, kept, liveLines } from "./results.mjs";
import { ROWS, measureRow } from "./rows.mjs";

const names = process.argv.slice(2);
const chosen = ROWS.filter(({ name }) => names.length === 0 || names.some((given) => name.startsWith(given)));
if (chosen.length === 0) {
  console.error(`There is no such row; there are ${ROWS.map(({ name }) => name).join(", ")}.`);
  process.exit(1);
}

console.log(environment());

const results = [];
for (const row of chosen) {
  const measured = measureRow(row);
  const same = results.find(({ what }) => what === measured.what);
  if (same)
    assert.deepEqual(measured.result, same.result, `${row.name} and ${same.row} come to different results`);
  results.push(measured);
  print(measured);
}
keep(results);
const live = kept().find(({ row }) => row === "live");
if (live) console.log(`\n${liveLines(live).join("\n")}`);

function print({ row, title, lines, bytes, rounds, variants }) {
  const megabytes = (bytes / 1e6).toFixed(1);
  console.log(`\n${row}: ${title} (${lines} lines, ${megabytes} MB, ${rounds} rounds)`);
  const head = ["variant", "ms", "MB/s", "events/s", "time / ours", "least..most"];
  const cells = variants.map(
    ({ title: name, ms, megabytesPerSecond, eventsPerSecond, ratio, least, most }) => [
      name,
      ms.toFixed(ms < 10 ? 3 : 1),
      megabytesPerSecond.toFixed(0),
      eventsPerSecond.toFixed(0),
      ratio.toFixed(2),
      `${least.toFixed(2)}..${most.toFixed(2)}`,
    ],
  );
  const widths = head.map((_, at) => Math.max(...[head, ...cells].map((line) => line[at].length)));
  for (const line of [head, ...cells]) {
    const padded = line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at])));
    console.log(`  ${padded.join("  ")}`);
  }
  for (const { title: name, peakMegabytes } of variants) {
    if (peakMegabytes === undefined) continue;
    const [some, all] = peakMegabytes.map((peak) => peak.toFixed(0));
    console.log(`  ${name}: peak of memory ${some} MB for a tenth of the journals, ${all} MB for all`);
  }
}
