// `agent-lifecycle tail`: the events of a schema-v1 stream or a journal, one line each, as the file grows.
import fs from "node:fs";
import { parseArgs } from "node:util";
import type { LifecycleEvent } from "../contract.js";
import { LifecycleError } from "../error.js";
import { followJournal } from "../follow.js";
import { JsonlLifecycleParser } from "../parser.js";
import { Exit, UsageError } from "./exit.js";
import { inert } from "./inert.js";

export async function tail(args: string[]): Promise<Exit> {
  const { path, json, follow } = parse(args);
  check(path);
  const show = json ? (event: LifecycleEvent) => console.log(JSON.stringify(event)) : showLine;
  let lines = new Lines(show);
  if (follow) {
    const onDiagnostic = ({ message }: { message: string }) => say(message);
    for await (const { type, bytes } of followJournal(path, { ref: true, onDiagnostic })) {
      // Another file in its place, or a shorter one: it is read from its start, as a stream of its own.
      if (type !== "append") lines = new Lines(show);
      lines.take(bytes);
    }
    return Exit.Fine;
  }
  for await (const bytes of fs.createReadStream(path)) lines.take(bytes as Uint8Array);
  return lines.end() > 0 ? Exit.FaultsFound : Exit.Fine;
}

/** One stream: its events are shown, its faults are said. */
class Lines {
  readonly #parser = new JsonlLifecycleParser();
  #faults = 0;

  constructor(readonly show: (event: LifecycleEvent) => void) {}

  take(bytes: Uint8Array): void {
    this.#parser.push(bytes);
    for (const event of this.#parser.take()) this.show(event);
    this.#sayFaults();
  }

  /** How many faults there were. */
  end(): number {
    this.#parser.end();
    this.#sayFaults();
    return this.#faults;
  }

  /** Says what is new among the faults. The parser keeps the first ones; of the others there is the count. */
  #sayFaults(): void {
    const total = this.#parser.diagnosticCount;
    if (total === this.#faults) return;
    const { diagnostics } = this.#parser;
    for (const { code, message, offset } of diagnostics.slice(this.#faults))
      say(`offset ${offset}: ${code}: ${message}`);
    if (total > diagnostics.length) say(`${total} faulty lines so far`);
    this.#faults = total;
  }
}

function showLine(event: LifecycleEvent): void {
  const state = "state" in event ? event.state : "";
  const reason = "waitingReason" in event ? event.waitingReason : "";
  const what = [event.kind, state === event.kind ? "" : state, reason, event.activity]
    .filter(Boolean)
    .join(" ");
  const line = `${event.observedAt} ${event.source}/${event.childId} ${what}`;
  console.log(inert(line).replaceAll(/[\n\u2028\u2029]+/g, " "));
}

const say = (text: string) => console.error(`agent-lifecycle: ${inert(text)}`);

function check(path: string): void {
  try {
    if (!fs.statSync(path).isFile()) throw new Error("it is no regular file");
    fs.accessSync(path, fs.constants.R_OK);
  } catch (error) {
    throw new LifecycleError("unreadable", `cannot read ${path}: ${(error as Error).message}`, { path });
  }
}

function parse(args: string[]) {
  let parsed;
  try {
    const options = { json: { type: "boolean" }, "no-follow": { type: "boolean" } } as const;
    parsed = parseArgs({ args, allowPositionals: true, options });
  } catch (error) {
    throw new UsageError((error as Error).message.split(/[.\n]/)[0]);
  }
  const { values, positionals } = parsed;
  const [path, ...more] = positionals;
  if (path === undefined || more.length > 0) throw new UsageError("tail needs one file");
  return { path, json: values.json === true, follow: values["no-follow"] !== true };
}
