// Rows `decoder-*` and `select-*`: bytes in chunks of 64 KiB -> JavaScript values, dropped as soon as they are counted.
import { createJsonlRecordDecoder } from "agent-lifecycle";
import { byNdjson, byReadline, bySplit2, perByte, plain } from "./baselines/jsonl.mjs";
import { measure, parseFloor } from "./measure.mjs";

const [, , task, member, strings] = process.argv.slice(2);
const LIMIT = 262_144;

/** Counts values and keeps every 100th for the comparison. */
function sink() {
  const work = { records: 0, sample: [] };
  const take = (values) => {
    for (const value of values) if (work.records++ % 100 === 0) work.sample.push(value);
  };
  return { work, take };
}

/** A variant from a decoder that hands values to `take`. */
const counted = (decode) => (chunks) => {
  const { work, take } = sink();
  const done = decode(chunks, take);
  return done instanceof Promise ? done.then(() => work) : work;
};

function native(options) {
  return counted((chunks, take) => {
    const decoder = createJsonlRecordDecoder(options);
    for (const chunk of chunks) take(decoder.push(chunk));
  });
}

function newlines(chunks) {
  let lines = 0;
  for (const chunk of chunks) {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++;
  }
  return lines;
}

const TASKS = {
  all: () => [
    {
      native: native(),
      plain: counted(plain),
      perByte: counted(perByte),
      split2: counted(bySplit2),
      ndjson: counted(byNdjson),
      readline: counted(byReadline),
    },
    { newlines, parse: parseFloor() },
  ],
  huge: () => [
    { native: native(LIMIT), plain: counted((chunks, take) => plain(chunks, take, LIMIT)) },
    { newlines },
  ],
  select: () => {
    const wanted = strings.split(",");
    const filtered = (chunks, take) =>
      plain(chunks, (values) => take(values.filter((value) => wanted.includes(value[member]))));
    return [{ native: native({ select: { [member]: wanted } }), plain: counted(filtered) }, { newlines }];
  },
};

const [variants, floors] = TASKS[task]();
await measure(
  variants,
  (work) => work,
  ({ records }) => ({ records }),
  floors,
);
