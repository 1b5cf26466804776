// Row `projection`: bytes in chunks of 64 KiB -> a projection, through the addon and in JavaScript.
import { LifecycleProjector } from "agent-lifecycle";
import { FastProjector } from "./baselines/fast.mjs";
import { PlainProjector } from "./baselines/plain.mjs";
import { measure, parseFloor } from "./measure.mjs";

const inJavaScript = (Projector) => (chunks) => {
  const projector = new Projector();
  for (const chunk of chunks) projector.push(chunk);
  return projector;
};

function native(chunks) {
  const projector = new LifecycleProjector();
  const results = {};
  for (const chunk of chunks) {
    for (const [status, count] of Object.entries(projector.applyJsonl(chunk).results)) {
      results[status] = (results[status] ?? 0) + count;
    }
  }
  return {
    results,
    get records() {
      return projector.list().map(({ source, childId }) => projector.snapshot(source, childId));
    },
  };
}

/** What is known of every child, by child. */
function records(projector) {
  const known = new Map();
  for (const record of projector.records) {
    const { source, childId, lineage, state, waitingReason, activity, gapDetected, highestSequence } = record;
    const times = [record.stateSince, record.startedAt, record.freshAt].map((time) => Date.parse(time));
    const counts = [record.notes.count, record.lateEvidence.count];
    const facts = { lineage, state, waitingReason, activity, gapDetected, highestSequence, times, counts };
    known.set(`${source} ${childId}`, facts);
  }
  return { known, results: projector.results };
}

await measure(
  { native, plain: inJavaScript(PlainProjector), fast: inJavaScript(FastProjector) },
  records,
  (projector) => projector.results,
  { parse: parseFloor() },
);
