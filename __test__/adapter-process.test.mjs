// AdapterProcess with real processes: requests, limits, noise, ends.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { AdapterProcess, AdapterRequestError, AdapterResponseError, LifecycleError } from "agent-lifecycle";
import { ended, rejected, shell, start, until } from "./support/adapter.mjs";

const codeOf = async (promise) => (await rejected(promise)).code;
const unique = (list) => [...new Set(list)];

test("requests, notifications and states from start to end", async () => {
  const states = [];
  const heard = [];
  let handshake;
  const adapter = await start({
    correlationId: "ps_1",
    initialize: async (starting) => {
      handshake = [starting.state, await starting.request("echo", { version: 1 })];
    },
    onState: (state) => states.push(state),
    onNotification: ({ method, params }) => heard.push([method, params]),
  });
  assert.deepEqual(handshake, ["initializing", { version: 1 }]);
  assert.equal(adapter.state, "ready");
  assert.equal(adapter.ownership, "session");
  assert.equal((await adapter.request("env")).PATH, process.env.PATH);
  assert.deepEqual(await Promise.all([1, 2, 3].map((n) => adapter.request("echo", n))), [1, 2, 3]);
  await adapter.notify("nothing", { a: 1 });
  // With and without the member, and with one that is not a member of JSON-RPC.
  const lines = ['{"jsonrpc":"2.0","method":"a"}', '{"method":"b","params":[1],"__proto__":{}}'];
  await adapter.request("raw", lines);
  assert.deepEqual(heard, [
    ["a", undefined],
    ["b", [1]],
  ]);
  assert.deepEqual(adapter.diagnostics, []);
  const closing = adapter.close();
  assert.equal(adapter.state, "closing");
  assert.equal(await codeOf(adapter.request("echo", 1)), "process_closed");
  const end = await closing;
  assert.deepEqual(end, { reason: "closed", code: 0, signal: null, stderrTail: "" });
  assert.equal(adapter.close(), closing);
  assert.equal(adapter.closed, closing);
  assert.deepEqual(states, ["initializing", "ready", "closing", "closed"]);
  assert.equal(await codeOf(adapter.notify("x")), "process_closed");
});

test("P1: /bin/false as adapter is rejected at once, with the exit code and the stderr tail; later calls: closed", async () => {
  const error = await rejected(
    AdapterProcess.start({ command: "/bin/false", initialize: (adapter) => adapter.request("initialize") }),
  );
  assert.equal(error.name, "ProtocolError");
  assert.equal(error.code, "process_exited");
  assert.deepEqual(error.details, { reason: "exited", exitCode: 1, signal: null, stderrTail: "" });
  const adapter = await shell("echo token=hunter2abc bad >&2; read line; exit 3");
  const request = await rejected(adapter.request("a"));
  assert.equal(request.code, "process_exited");
  assert.deepEqual(request.details, {
    reason: "exited",
    exitCode: 3,
    signal: null,
    stderrTail: "token=[REDACTED] bad\n",
  });
  assert.match(request.message, /exit code 3.*token=\[REDACTED\] bad/);
  assert.equal(adapter.state, "failed");
  for (const later of [adapter.request("a"), adapter.notify("a")]) {
    assert.equal(await codeOf(later), "process_exited");
  }
  assert.equal((await adapter.close()).reason, "exited");
});

test("P2: 64 MiB written to a child that exits with 7 is a rejection, and other processes are untouched", async () => {
  const megabyte = 1024 * 1024;
  const script = "head -c 1000 >/dev/null; exit 7";
  const limits = { messageBytes: 80 * megabyte };
  const [one, many, other] = await Promise.all([shell(script, { limits }), shell(script), start()]);
  const whole = rejected(one.request("a", "x".repeat(64 * megabyte)));
  const part = "x".repeat(8 * megabyte - 100);
  const parts = Promise.allSettled(Array.from({ length: 8 }, () => many.notify("a", part)));
  assert.equal(await other.request("echo", "well"), "well");
  const outcomes = await parts;
  const failed = outcomes.filter(({ status }) => status === "rejected").map(({ reason }) => reason);
  assert.equal(failed.length, 8);
  for (const error of [await whole, ...failed]) {
    assert.ok(["write_failed", "process_exited"].includes(error.code), error.code);
    assert.equal(error.details.exitCode, 7);
  }
  assert.deepEqual([(await one.close()).code, (await many.close()).code], [7, 7]);
  assert.equal(await other.request("echo", "still"), "still");
  await other.close();
});

test("P3: the result line and the exit at once: the result is not lost, also without a newline", async () => {
  const answer = '{"id":1,"result":"here"}';
  for (const script of [`read l; echo '${answer}'; exit 0`, `read l; printf '%s' '${answer}'; exit 5`]) {
    const adapter = await shell(script);
    assert.equal(await adapter.request("a"), "here");
    assert.equal((await ended(adapter)).reason, "exited");
  }
});

test("P3: a grandchild that holds the output for long does not hide the exit", async () => {
  const adapter = await shell("read l; sleep 30 & exit 4");
  const error = await rejected(adapter.request("a"));
  assert.deepEqual([error.code, error.details.exitCode], ["process_exited", 4]);
});

test("P3: exit 0 without a result is no result", async () => {
  const adapter = await shell("read l; exit 0");
  const error = await rejected(adapter.request("a"));
  assert.deepEqual([error.code, error.details.exitCode], ["process_exited", 0]);
});

test("P4: exactly the limit is taken; one byte more, also without a newline, is a bounded error", async () => {
  const limits = { messageBytes: 100_000 };
  const heard = [];
  const adapter = await start({ limits, onNotification: ({ params }) => heard.push(params.length) });
  await adapter.request("line", 100_000);
  assert.equal(heard.length, 1);
  const error = await rejected(adapter.request("line", 100_001));
  assert.equal(error.code, "message_too_large");
  assert.equal((await ended(adapter)).reason, "message_too_large");
  const endless = await shell("read l; head -c 100001 /dev/zero | tr '\\0' x; exec sleep 300", { limits });
  assert.equal(await codeOf(endless.request("a")), "message_too_large");
});

test("the limits of a message, of what waits and of time hold on the way out", async () => {
  const limits = { messageBytes: 5000, pendingOut: 2, requestMs: 50 };
  const adapter = await start({ limits, jsonrpc: false });
  const frame = JSON.stringify({ id: 1, method: "echo", params: "" }).length;
  assert.equal(
    (await adapter.request("echo", "x".repeat(5000 - frame), { timeoutMs: null })).length,
    5000 - frame,
  );
  const over = await rejected(adapter.request("echo", "x".repeat(5001 - frame)));
  assert.deepEqual([over.code, over.details], ["message_too_large", { bytes: 5001 }]);
  const waiting = [adapter.request("never", 1), adapter.request("never", 2)].map(rejected);
  assert.equal(adapter.pending, 2);
  assert.equal(await codeOf(adapter.request("echo", 1)), "too_many_pending");
  assert.deepEqual(unique((await Promise.all(waiting)).map(({ code }) => code)), ["request_timeout"]);
  assert.equal(adapter.pending, 0);
  // An order to stop waiting: before, and while it waits.
  const stopped = { signal: AbortSignal.abort() };
  assert.equal(await codeOf(adapter.request("echo", 1, stopped)), "request_cancelled");
  const controller = new AbortController();
  const request = rejected(adapter.request("never", 1, { signal: controller.signal, timeoutMs: null }));
  controller.abort();
  assert.equal((await request).code, "request_cancelled");
  const refused = [
    adapter.request("echo", 1n),
    adapter.request("", 1),
    adapter.request("echo", 1, { timeoutMs: 0 }),
    adapter.request("echo", 1, { timeoutMs: 2 ** 31 }),
    adapter.request("echo", 1, { timeout: 5 }),
  ];
  const errors = await Promise.all(refused.map(rejected));
  assert.ok(errors.every((error) => error instanceof LifecycleError));
  assert.deepEqual(
    errors.map(({ code }) => code),
    ["invalid_value", "invalid_argument", "invalid_option", "invalid_option", "invalid_option"],
  );
  assert.equal(adapter.pending, 0);
  await adapter.close();
});

test("a start that takes too long is ended and says so", async () => {
  const limits = { startMs: 100 };
  for (const initialize of [(adapter) => adapter.request("a"), () => new Promise(() => undefined)]) {
    const error = await rejected(shell("exec sleep 300", { limits, initialize }));
    assert.equal(error.code, "start_timeout");
    assert.deepEqual([error.details.reason, error.details.signal], ["start_timeout", "SIGTERM"]);
  }
});

test("what a handshake throws is thrown, and the process has ended", async () => {
  let adapter;
  const mine = new Error("mine");
  const initialize = (given) => {
    adapter = given;
    throw mine;
  };
  assert.equal(await rejected(start({ initialize })), mine);
  assert.equal(adapter.state, "failed");
  assert.equal((await ended(adapter)).reason, "start_failed");
});

test("an answer that is an error is redacted, and its data is not shown", async () => {
  const adapter = await start({ correlationId: "ps_2" });
  const error = await rejected(adapter.request("refuse"));
  assert.ok(error instanceof AdapterResponseError);
  assert.deepEqual(JSON.parse(JSON.stringify(error)), {
    name: "ProtocolError",
    code: "response_error",
    phase: "request",
    message: "refuse: no, password=[REDACTED]",
    correlationId: "ps_2",
    details: { method: "refuse", rpcCode: -32042 },
  });
  assert.deepEqual([error.rpcCode, error.rpcData], [-32042, { secret: "password=hunter2" }]);
  assert.ok(!Object.keys(error).includes("rpcData"));
  await adapter.close();
});

test("late, double, foreign and malformed lines are diagnostics, bounded, and end nothing", async () => {
  const told = [];
  const adapter = await start({ onDiagnostic: (diagnostic) => told.push(diagnostic) });
  const late = rejected(adapter.request("never", 1, { timeoutMs: 20 }));
  assert.equal((await late).code, "request_timeout");
  const cases = [
    ['{"id":1,"result":1}', "late_response"],
    ['{"id":1,"result":1}', "duplicate_response"],
    ['{"id":99,"result":1}', "unknown_response"],
    ['{"id":0,"result":1}', "unknown_response"],
    ['{"id":"1","result":1}', "unknown_response"],
    ['{"id":null,"error":{"code":1,"message":"a"}}', "unknown_response"],
    ['{"result":1}', "malformed_message"],
    ['{"method":7}', "malformed_message"],
    ['{"method":"a","id":null}', "malformed_message"],
    ['{"method":"a","id":1.5}', "malformed_message"],
    ['{"method":"a","result":1}', "malformed_message"],
    ["{}", "malformed_message"],
    ["{not json", "noise"],
    ["[1]", "noise"],
    ["\u001b[2J\u001b[31mready> password=hunter2", "noise"],
  ];
  for (const [line, code] of cases) {
    told.length = 0;
    await adapter.request("raw", [line]);
    assert.deepEqual(
      told.map((diagnostic) => diagnostic.code),
      [code],
      line,
    );
    assert.doesNotMatch(told[0].message, /hunter2|\p{Cc}/u);
  }
  const noise = adapter.diagnostics.find(({ code }) => code === "noise");
  assert.equal(noise.count, 3);
  told.length = 0;
  await adapter.request(
    "raw",
    Array.from({ length: 500 }, (_, at) => `line ${at}`),
  );
  assert.ok(told.length <= 32, `${told.length}`);
  assert.equal(adapter.diagnostics.find(({ code }) => code === "noise").count, 503);
  assert.equal(await adapter.request("echo", "well"), "well");
  await adapter.close();
});

test("a response has exactly one of result and error", async () => {
  for (const answer of [
    '"result":1,"error":{"code":1,"message":"a"}',
    '"result":1,"error":null',
    '"a":1',
    '"error":{"code":1}',
    '"error":"a"',
  ]) {
    const adapter = await shell(
      `read l; echo '{"id":1,${answer}}'; read l; echo '{"id":2,"result":2}'; read l`,
    );
    assert.equal(await codeOf(adapter.request("a")), "protocol_violation", answer);
    assert.equal(await adapter.request("b"), 2);
    await adapter.close();
  }
});

test("requests of the process go to one handler, and each is answered", async () => {
  const adapter = await start({
    limits: { pendingIn: 2 },
    onRequest: ({ method, params, nativeId, signal }) => {
      if (method === "give") return { nativeId, params, aborted: signal.aborted };
      if (method === "nothing") return undefined;
      if (method === "throw") throw new Error("password=hunter2 is wrong");
      if (method === "refuse") throw new AdapterRequestError(-32_602, "not so", { a: 1 });
      if (method === "cannot") return 1n;
      if (method === "null") throw Object.create(null);
      return new Promise(() => undefined);
    },
  });
  const ask = async (method, id) => {
    const { jsonrpc, id: answered, ...answer } = await adapter.request("ask", { method, id, params: [1] });
    assert.equal(jsonrpc, "2.0");
    if (id !== undefined) assert.equal(answered, id);
    return answer;
  };
  assert.deepEqual(await ask("give", 0), { result: { nativeId: 0, params: [1], aborted: false } });
  assert.deepEqual(await ask("give", "0"), { result: { nativeId: "0", params: [1], aborted: false } });
  assert.deepEqual(await ask("nothing"), { result: null });
  assert.deepEqual(await ask("throw"), {
    error: { code: -32000, message: "password=[REDACTED] is wrong" },
  });
  assert.deepEqual(await ask("refuse"), { error: { code: -32602, message: "not so", data: { a: 1 } } });
  assert.deepEqual(await ask("cannot"), { error: { code: -32603, message: "The answer cannot be written" } });
  assert.equal((await ask("null")).error.code, -32000);
  const open = [ask("wait"), ask("wait")].map(rejected);
  assert.deepEqual(await ask("give"), { error: { code: -32000, message: "Too many requests are pending" } });
  await adapter.close();
  await Promise.all(open);
  const silent = await start();
  assert.deepEqual((await silent.request("ask", { method: "a" })).error, {
    code: -32601,
    message: "Method not found",
  });
  await silent.close();
});

test("a handler learns whether its answer was written, and that the process has ended", async () => {
  const requests = [];
  const answers = [];
  const onRequest = (request) => {
    requests.push(request);
    return new Promise((resolve) => answers.push(resolve));
  };
  const adapter = await start({ onRequest });
  const asked = adapter.request("ask", { method: "a" });
  await until("the request", () => requests.length === 1);
  answers[0]("yes");
  assert.equal(await requests[0].replied, undefined);
  assert.equal((await asked).result, "yes");
  const lost = rejected(adapter.request("ask", { method: "b" }));
  await until("the request", () => requests.length === 2);
  await adapter.notify("exit", 9);
  assert.equal((await lost).details.exitCode, 9);
  assert.equal(requests[1].signal.aborted, true);
  answers[1]("too late");
  assert.equal((await rejected(requests[1].replied)).code, "process_exited");
});

test("what handlers throw costs nothing else", async () => {
  const heard = [];
  const adapter = await start({
    onNotification: () => {
      throw new Error("one");
    },
    onDiagnostic: () => {
      throw new Error("two");
    },
    onState: () => Promise.reject(new Error("three")),
  });
  adapter.subscribe(({ method }) => heard.push(method));
  const stop = adapter.subscribe(() => heard.push("never"));
  stop();
  await adapter.request("raw", ['{"method":"a"}']);
  assert.deepEqual(heard, ["a"]);
  await until("the rejection", () => adapter.diagnostics[0]?.count > 1);
  assert.deepEqual(
    adapter.diagnostics.map(({ code }) => code),
    ["handler_failed"],
  );
  await adapter.close();
});

test("a shared process goes on when a session lets go of it, and ends when it is closed", async () => {
  const adapter = await start({ ownership: "shared" });
  const heard = [[], []];
  const stops = heard.map((list) => adapter.subscribe(({ method }) => list.push(method)));
  await adapter.request("raw", ['{"method":"a"}']);
  stops[0]();
  await adapter.release();
  await adapter.request("raw", ['{"method":"b"}']);
  assert.deepEqual(heard, [["a"], ["a", "b"]]);
  assert.equal(adapter.state, "ready");
  assert.equal((await adapter.close()).reason, "closed");
  const own = await start();
  await own.release();
  assert.equal(own.state, "closed");
});

test("what is written to standard error is kept at both ends, and redacted over all of it", async () => {
  const secrets = ["zq7-Kx9vW3"];
  const adapter = await start({ secrets, env: { GIVEN: "a-value-of-mine", SHORT: "short" } });
  await adapter.request(
    "stderr",
    `first zq7-Kx9vW3 a-value-of-mine short\n${"x ".repeat(100_000)}\nlast zq7-Kx`,
  );
  await adapter.request("stderr", "9vW3\n");
  const { stderrTail } = await adapter.close();
  assert.ok(stderrTail.startsWith("first [REDACTED] [REDACTED] short\n"));
  assert.ok(stderrTail.endsWith("\nlast [REDACTED]\n"));
  assert.match(stderrTail, /\[\d+ bytes left out\]/);
  assert.ok(Buffer.byteLength(stderrTail) < 66_000);
});

test("the environment is an allow-list and what is given", async () => {
  process.env.ADAPTER_TEST_SECRET = "not for the child";
  try {
    const child = await start({ env: { GIVEN: "here", HOME: undefined } });
    const env = await child.request("env");
    assert.equal(env.GIVEN, "here");
    assert.ok(!("HOME" in env) && !("ADAPTER_TEST_SECRET" in env));
    await child.close();
  } finally {
    delete process.env.ADAPTER_TEST_SECRET;
  }
});

test("nothing is read by a shell, and a directory is where the program works", async () => {
  const args = [
    "-e",
    "console.log(JSON.stringify({method:'a',params:[process.cwd(),...process.argv.slice(1)]}));",
    "$HOME; `id`",
  ];
  const heard = [];
  const child = await AdapterProcess.start({
    command: process.execPath,
    args,
    cwd: "/",
    onNotification: ({ params }) => heard.push(params),
  });
  await ended(child);
  assert.deepEqual(heard, [["/", "$HOME; `id`"]]);
});

test("what cannot be started says what and how", async () => {
  for (const [options, code, words] of [
    [{ command: "/nowhere/at-all" }, "spawn_failed", /the program: No such file/],
    [{ command: "no-such-program-on-the-path" }, "spawn_failed", /the program: No such file/],
    [{ command: "/bin/sh", cwd: "/nowhere" }, "spawn_failed", /the directory: No such file/],
    [{ command: "/bin/sh", guardPath: "/nowhere/guard" }, "guard_unavailable", /guardPath/],
  ]) {
    const error = await rejected(AdapterProcess.start(options));
    assert.deepEqual([error.name, error.code], ["AvailabilityError", code]);
    assert.match(error.message, words);
  }
});

test("options are checked, and no value of a variable is repeated", async () => {
  for (const [options, path] of [
    [{}, "command"],
    [{ command: "" }, "command"],
    [{ command: "a\0b" }, "command"],
    [{ command: "a", args: "b" }, "args"],
    [{ command: "a", args: [1] }, "args[0]"],
    [{ command: "a", ownership: "mine" }, "ownership"],
    [{ command: "a", limits: { startMs: 0 } }, "limits.startMs"],
    [{ command: "a", limits: { messageBytes: 4095 } }, "limits.messageBytes"],
    [{ command: "a", limits: { pending: 1 } }, "pending"],
    [{ command: "a", env: { "A=B": "1" } }, "env"],
    [{ command: "a", env: { A: "hunter2\0" } }, "env"],
    [{ command: "a", secrets: ["hunter2"] }, "secrets[0]"],
    [{ command: "a", onRequest: 1 }, "onRequest"],
    [{ command: "a", comand: 1 }, "comand"],
    [{ command: "a", jsonrpc: 1 }, "jsonrpc"],
  ]) {
    const error = await rejected(AdapterProcess.start(options));
    assert.ok(error instanceof LifecycleError, String(error));
    assert.equal(error.path, path);
    assert.doesNotMatch(error.message, /hunter2/);
  }
});

test("writes keep their order and wait for the pipe; one slow process delays no other", async () => {
  const heard = [];
  // One that reads nothing until it is told, and one that says what it reads.
  const [slow, quick] = await Promise.all([
    shell("exec sleep 300"),
    AdapterProcess.start({ command: "cat", onNotification: ({ params: [n] }) => heard.push(n) }),
  ]);
  const part = "x".repeat(4 * 1024 * 1024);
  const stuck = Promise.allSettled(Array.from({ length: 8 }, () => slow.notify("a", part)));
  const asked = rejected(slow.request("b"));
  const count = 500;
  const writes = Array.from({ length: count }, (_, n) =>
    quick.notify("n", [n, "y".repeat((n * 7919) % 5000)]),
  );
  await Promise.all(writes);
  await until("the echo", () => heard.length === count);
  assert.deepEqual(
    heard,
    Array.from({ length: count }, (_, n) => n),
  );
  await quick.close();
  // What waits for a pipe that nobody reads ends with the ladder of SIGTERM.
  const end = await slow.close();
  assert.deepEqual([end.reason, end.code, end.signal], ["closed", null, "SIGTERM"]);
  const facts = { reason: "closed", exitCode: null, signal: "SIGTERM", stderrTail: "" };
  const errors = [await asked, ...(await stuck).map(({ reason }) => reason)];
  for (const error of errors) assert.deepEqual([error.code, error.details], ["process_closed", facts]);
});

test("a planted secret is found nowhere", async () => {
  const secret = "planted-Zq7Kx9vW3-secret";
  const told = [];
  const errors = [];
  const adapter = await start({
    env: { PLANTED: secret },
    secrets: [`${secret}-registered`],
    onDiagnostic: (diagnostic) => told.push(diagnostic),
    onRequest: () => {
      throw new Error(`the key ${secret} is wrong`);
    },
    onNotification: () => {
      throw new Error(`the key ${secret} is wrong`);
    },
  });
  await adapter.request("raw", [
    `banner ${secret}`,
    `{"id":77,"result":"${secret}"}`,
    `{"result":"${secret}-registered"}`,
    '{"method":"a"}',
  ]);
  told.push(await adapter.request("ask", { method: "a" }));
  for (const at of [3, 10, 20]) {
    await adapter.request("stderr", `x ${secret.slice(0, at)}`);
    await adapter.request("stderr", `${secret.slice(at)} y\n`);
  }
  errors.push(await rejected(adapter.request("refuse", secret)));
  errors.push(await rejected(adapter.request("exit", 5)));
  const end = await ended(adapter);
  const shown =
    JSON.stringify([told, adapter.diagnostics, errors, end]) + inspect([told, errors, end, adapter]);
  assert.ok(shown.includes("[REDACTED]") && end.stderrTail === "x [REDACTED] y\n".repeat(3), end.stderrTail);
  for (let at = 0; at + 4 <= secret.length; at += 1) {
    const piece = secret.slice(at, at + 4);
    if (!["secr", "ecre", "cret"].includes(piece)) assert.ok(!shown.includes(piece), piece);
  }
});
