// An adapter for the tests of AdapterProcess: it does what it is asked for, one JSON-RPC method for each.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const asked = new Map();
let lastId = -1;

const methods = {
  echo: ({ params }) => params,
  never: () => undefined,
  env: () => process.env,
  refuse: ({ params = "password=hunter2" }) => {
    throw Object.assign(new Error(`no, ${params}`), { code: -32_042, data: { secret: params } });
  },
  /** Writes lines as they are. */
  raw: ({ params }) => {
    for (const line of params) process.stdout.write(`${line}\n`);
    return "written";
  },
  /** A line with so many bytes without its newline. */
  line: ({ params: bytes }) => {
    const frame = JSON.stringify({ method: "line", params: "" });
    process.stdout.write(`${frame.slice(0, -2)}${"x".repeat(bytes - frame.length)}"}\n`);
    return bytes;
  },
  stderr: ({ params }) => new Promise((resolve) => process.stderr.write(params, () => resolve("written"))),
  /** Asks the host, and gives its answer. */
  ask: ({ params }) =>
    new Promise((resolve) => {
      const id = params.id ?? (lastId += 1);
      asked.set(id, resolve);
      send({ jsonrpc: "2.0", id, method: params.method, params: params.params });
    }),
  /** A process in the group that goes on by itself. */
  grandchild: () => {
    const { pid } = spawn("sleep", ["300"], { stdio: "inherit" });
    return { child: process.pid, guard: process.ppid, grandchild: pid };
  },
  exit: ({ params }) => process.exit(params),
};

process.on("SIGTERM", () => process.exit(0));
createInterface({ input: process.stdin }).on("line", async (line) => {
  const message = JSON.parse(line);
  if (message.method === undefined) return asked.get(message.id)?.(message);
  if (message.id === undefined) return message.method === "exit" && process.exit(message.params);
  const { id } = message;
  try {
    const result = await methods[message.method](message);
    if (result !== undefined) send({ id, result });
  } catch ({ code, message: text, data }) {
    send({ id, error: { code, message: text, data } });
  }
});
