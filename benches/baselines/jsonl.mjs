// JSON Lines decoders in JavaScript: what hosts write today, the best that we could write, and packages. Each takes chunks and
// hands the values of each chunk's complete lines to `take`.
import readline from "node:readline";
import { Readable } from "node:stream";
import ndjson from "ndjson";
import split2 from "split2";

/** (a) Bytes are gathered one by one. */
export function perByte(chunks, take) {
  let line = [];
  for (const chunk of chunks) {
    const values = [];
    for (const byte of chunk) {
      if (byte === 10) {
        const text = Buffer.from(line).toString();
        if (text.trim() !== "") values.push(JSON.parse(text));
        line = [];
      } else {
        line.push(byte);
      }
    }
    take(values);
  }
}

/** (b) `indexOf`, `toString`, `JSON.parse`. Lines beyond the limit are dropped without being gathered. */
export function plain(chunks, take, limit = Infinity) {
  let held = [];
  let length = 0;
  for (const chunk of chunks) {
    const values = [];
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      if (length + end - from <= limit) {
        let text;
        if (held.length === 0) {
          text = chunk.toString("utf8", from, end);
        } else {
          held.push(chunk.subarray(from, end));
          text = Buffer.concat(held).toString();
        }
        if (text.length > 0) values.push(JSON.parse(text));
      }
      held = [];
      length = 0;
      from = end + 1;
    }
    if (from < chunk.length) {
      length += chunk.length - from;
      if (length <= limit) held.push(chunk.subarray(from));
      else held = [];
    }
    take(values);
  }
}

/** (c) The package split2. */
export async function bySplit2(chunks, take) {
  for await (const value of Readable.from(chunks).pipe(split2(JSON.parse))) take([value]);
}

/** (c) The package ndjson. */
export async function byNdjson(chunks, take) {
  for await (const value of Readable.from(chunks).pipe(ndjson.parse())) take([value]);
}

/** (c) Node's readline. */
export function byReadline(chunks, take) {
  return new Promise((resolve) => {
    readline
      .createInterface({ input: Readable.from(chunks), crlfDelay: Infinity })
      .on("line", (line) => take([JSON.parse(line)]))
      .on("close", resolve);
  });
}
