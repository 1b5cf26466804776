// Row `parser`: bytes in chunks of 64 KiB -> normalised events as JavaScript objects, through the addon and in JavaScript.
import { JsonlLifecycleParser } from "agent-lifecycle";
import { normalizeEvent } from "./baselines/event.mjs";
import { measure, parseFloor } from "./measure.mjs";

function native(chunks) {
  const parser = new JsonlLifecycleParser();
  return chunks.map((chunk) => {
    parser.push(chunk);
    return parser.take();
  });
}

/** Baseline (b) with the contract's rules. */
function plain(chunks) {
  let rest = Buffer.alloc(0);
  return chunks.map((chunk) => {
    const bytes = Buffer.concat([rest, chunk]);
    const events = [];
    let from = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
      const line = bytes.toString("utf8", from, end);
      if (line.trim() !== "") events.push(normalizeEvent(JSON.parse(line)));
      from = end + 1;
    }
    rest = bytes.subarray(from);
    return events;
  });
}

await measure(
  { native, plain },
  (batches) => batches.flat().filter((_, at) => at % 100 === 0),
  (batches) => ({ events: batches.flat().length }),
  { parse: parseFloor() },
);
