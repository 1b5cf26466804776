// The other direction of AdapterProcess: requests and notifications of the process, their handlers, and who shares one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AdapterRequestError } from "agent-lifecycle";
import { rejected, start, until } from "./support/adapter.mjs";

test("requests of the process go to one handler, and each is answered", async () => {
  const adapter = await start({
    limits: { pendingIn: 2 },
    onRequest: ({ method, params, nativeId, signal }) => {
      if (method === "give") return { nativeId, params, aborted: signal.aborted };
      if (method === "nothing") return undefined;
      if (method === "throw") throw new Error("password=hunter2 is wrong");
      if (method === "refuse") throw new AdapterRequestError(-32_602, "not so", { a: 1 });
      if (method === "cannot") return 1n;
      if (method === "function") return () => 1;
      if (method === "symbol") return Symbol("a");
      if (method === "toJSON") return { toJSON: () => undefined };
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
  for (const method of ["cannot", "function", "symbol", "toJSON"])
    assert.deepEqual(await ask(method), { error: { code: -32603, message: "The answer cannot be written" } });
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
