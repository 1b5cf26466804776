// Secrets in the environment, the arguments, the output, the errors, the events and the requests of a real adapter process are nowhere in
// what is stored, told, shown or logged, not even in part; and what only looks like one passes unchanged.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { promisify } from "node:util";
import {
  BindingStore,
  createRuntimeRegistry,
  openMonitor,
  openRuntimeSession,
  readStatus,
  statusReport,
} from "agent-lifecycle";
import { FAKE_CAPABILITIES, fakeAdapter, fakeDriver } from "agent-lifecycle/testing";
import { runtimeHome } from "./support/runtime-hosts.mjs";

const root = path.dirname(import.meta.dirname);
const command = path.join(root, "dist/cli/main.js");
const run = promisify(execFile);

/** By the place that it is known from. */
const SECRETS = {
  /** Given by the host. */
  host: "Vq8ZrT2mXw5LkPd9Hs",
  /** A variable that the host gives the adapter. */
  environment: "Jf3GnB7yCe6RuMa1Wx",
  /** An argument of the adapter, which the host registers. */
  argument: "Kt4DvS9pQh2ZoNi8Fb",
  /** What a person answers to a question that says that it is secret. */
  answer: "Ul6HxE1wTj5CqGr0Ym",
};
/** Known from nowhere, but by their form. */
const FORMS = {
  prefix: "sk-ant-api03-Rz7WfKqP4mVt8LsXd2NhBc9Gj",
  github: "ghp_Xc3VbN6mLk9JhGf2DsAq8WeRt5YuIo1PzQ4x",
  named: "Oq5TgYhU8iKlM3nB",
};
const FORM_TEXT = `${FORMS.prefix} and ${FORMS.github} and password=${FORMS.named}`;
const KNOWN = { ...SECRETS, ...FORMS };
/** Units of which a part of a secret may not be shown. Four would be found by chance in the bytes of a database. */
const PART = 6;

/** What the fake says in the name of its harness: all that it knows. An answer is known only after it was given. */
const KNOWS = `{env.SECRET_VARIABLE} ${SECRETS.host} {env.SECRET_ARGUMENT} ${FORM_TEXT}`;
const SAYS = `I say ${KNOWS} now`;
const object = { deep: [{ text: KNOWS }], password: "short" };
const DECISIONS = [{ id: "yes", label: `Yes ${KNOWS}` }];
const APPROVAL = { kind: "command", title: KNOWS, detail: KNOWS, arguments: object, decisions: DECISIONS };
const QUESTIONS = [
  {
    id: "key",
    header: KNOWS,
    question: `The key? ${KNOWS}`,
    options: [{ id: "other", label: KNOWS, description: KNOWS }],
    allowFreeform: true,
    secret: true,
  },
];
const ITEM = { nativeItemId: SECRETS.host };
const observed = (observe, chunk) => ({ observe, ...(chunk !== undefined && { chunk }) });

const everything = (round, text, requests) => [
  { line: `noise: ${text}` },
  { line: JSON.stringify([text]) },
  { stderr: `stderr: ${text}` },
  ...[1, 3, 7, 1000].flatMap((chunk) => [
    observed(
      {
        kind: "assistant",
        nativeItemId: `a${round}-${chunk}${SECRETS.host}`,
        text: { delta: text },
        done: true,
      },
      chunk,
    ),
    observed(
      {
        kind: "reasoning",
        nativeItemId: `r${round}-${chunk}${SECRETS.host}`,
        text: { delta: text },
        done: true,
      },
      chunk,
    ),
  ]),
  observed({ kind: "tool_call", ...ITEM, toolName: `tool ${text}`, args: { object, text } }),
  observed({ kind: "tool_started", ...ITEM, toolName: `tool ${text}` }),
  observed({ kind: "tool_updated", ...ITEM, text: { delta: text } }, 3),
  observed({ kind: "tool_updated", ...ITEM, partialResult: object }),
  observed({ kind: "tool_finished", ...ITEM, result: { object, text }, isError: true }),
  observed({ kind: "plan", plan: [object, text] }),
  observed({ kind: "diff", diff: { text, object } }),
  observed({ kind: "warning", code: "w", message: text }),
  observed({ kind: "error", code: "e", message: text, details: { text, object } }),
  observed({ kind: "native", name: "raw", payload: { text, object } }),
  observed({ kind: "adapter", state: "ready", message: text }),
  { notify: { method: `unknown/${text}`, params: { text } } },
  { line: JSON.stringify({ id: 99, result: text }) },
  { line: JSON.stringify({ id: "x", method: `unknown/${text}`, params: { text } }) },
  ...requests,
];

const ALL = everything(1, SAYS, [{ approval: APPROVAL }, { questions: QUESTIONS }]);
const AFTER_ANSWER = everything(2, `${SAYS} {answer}`, [{ approval: APPROVAL }]);
const FAILED = { end: { status: "failed", message: SAYS, details: { object, SAYS } } };
const SCRIPTS = {
  working: {
    start: [{ line: SAYS }, { stderr: SAYS }],
    turns: [[...ALL, ...AFTER_ANSWER, FAILED], [{ reject: { code: -32000, message: SAYS } }]],
  },
  exiting: { turns: [[{ stderr: SAYS }, { cut: SAYS }, { exit: 3 }]] },
  refusing: { turns: [[{ reject: { code: 7, message: SAYS } }]] },
  dying: { start: [{ stderr: SAYS }, { line: SAYS }, { exit: 4 }], turns: [[]] },
};

/** All parts of a secret that are as long as a part may not be. */
const parts = (secret) =>
  Array.from({ length: secret.length - PART + 1 }, (_, at) => secret.slice(at, at + PART));
const FORBIDDEN = Object.entries(KNOWN).flatMap(([name, secret]) => {
  // What such a key begins with is no secret.
  const unknown = secret.replace(/^(sk-ant-api03-|ghp_)/, "");
  return parts(unknown).map((part) => ({ name, part }));
});

function check(where, content) {
  const text = typeof content === "string" ? content : content.toString("latin1");
  for (const { name, part } of FORBIDDEN) {
    const at = text.indexOf(part);
    assert.ok(at < 0, `the secret ${name} is in ${where}: ${text.slice(Math.max(0, at - 150), at + 40)}`);
  }
  return text.length;
}

const filesBelow = (folder) =>
  fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name));

test("a secret is nowhere", async (t) => {
  const place = runtimeHome(t);
  process.env.XDG_STATE_HOME = place.env.XDG_STATE_HOME;
  t.after(() => delete process.env.XDG_STATE_HOME);
  const kept = path.join(place.home, "..", `${path.basename(place.home)}-kept.json`);
  t.after(() => fs.rmSync(kept, { force: true }));
  const monitorSaid = [];
  const monitor = await openMonitor({
    home: place.home,
    content: "full",
    onChange: (changes) => monitorSaid.push(changes),
    onDiagnostic: (diagnostic) => monitorSaid.push(diagnostic),
  });
  t.after(() => monitor.close());
  const given = {
    home: place.home,
    kept,
    secrets: [SECRETS.host, SECRETS.argument],
    environment: { SECRET_VARIABLE: SECRETS.environment },
    args: [`SECRET_ARGUMENT=${SECRETS.argument}`],
    scripts: SCRIPTS,
  };
  const host = spawn(
    process.execPath,
    [path.join(import.meta.dirname, "support/secret-host.mjs"), JSON.stringify(given)],
    { cwd: place.home, env: place.env, stdio: "pipe" },
  );
  t.after(() => host.kill("SIGKILL"));
  const watch = spawn(process.execPath, [command, "watch", "--jsonl"], { env: place.env, stdio: "pipe" });
  t.after(() => watch.kill("SIGKILL"));
  const logs = { stdout: "", stderr: "", watch: "" };
  const lines = createInterface({ input: host.stdout });
  lines.on("line", (line) => (logs.stdout += `${line}\n`));
  host.stderr.setEncoding("utf8").on("data", (text) => (logs.stderr += text));
  for (const stream of [watch.stdout, watch.stderr])
    stream.setEncoding("utf8").on("data", (text) => (logs.watch += text));
  const closed = once(host, "close");

  const look = async (when) => {
    const cli = async (...args) => {
      const said = await run(process.execPath, [command, ...args], { env: place.env }).catch(
        (error) => error,
      );
      const length = check(`${when}: agent-lifecycle ${args.join(" ")}`, `${said.stdout}${said.stderr}`);
      assert.ok(length > 0, args.join(" "));
      return said.stdout;
    };
    const { rows } = JSON.parse(await cli("status", "--json"));
    assert.ok(rows.length > 0);
    await cli("status");
    await cli("explain", rows[0].sessionId, "--json");
    await cli("bindings", "list", place.file);
    await cli("bindings", "list", place.file, "--json");
    for (const sub of ["inspect", "history"]) await cli("bindings", sub, place.file, "ps_working", "--json");
    await cli("bindings", "repair", place.file, "--json");
    const read = await readStatus({ home: place.home, content: "full" });
    check(`${when}: readStatus`, JSON.stringify(read));
    check(`${when}: statusReport`, statusReport(read.rows));
    check(
      `${when}: the monitor`,
      JSON.stringify([monitorSaid, monitor.rows(), monitor.rows().map(({ key }) => monitor.explain(key))]),
    );
    const files = filesBelow(place.home).filter(
      (file) => !file.includes("/guards/") && !file.includes("/native/"),
    );
    assert.ok(
      files.some((file) => file.endsWith(".jsonl")) && files.some((file) => file.includes("bindings.db")),
    );
    for (const file of files) check(`${when}: ${file}`, fs.readFileSync(file));
  };

  for (const name of Object.keys(SCRIPTS)) {
    host.stdin.write(`${JSON.stringify({ run: name, answers: { key: { text: SECRETS.answer } } })}\n`);
    while (!logs.stdout.includes(`done ${name}\n`) && host.exitCode === null)
      await Promise.race([once(lines, "line"), closed]);
    assert.equal(host.exitCode, null, logs.stderr);
    await look(`after ${name}`);
  }
  host.stdin.end();
  assert.deepEqual(await closed, [0, null], logs.stderr);
  await look("at the end");
  watch.kill("SIGTERM");
  await once(watch, "close");
  for (const [name, text] of Object.entries(logs)) assert.ok(check(`the log ${name}`, text) > 0, name);
  const shown = JSON.parse(fs.readFileSync(kept, "utf8"));
  for (const { what, value } of shown) check(`what the host was shown: ${what}`, JSON.stringify(value));

  // It was all said, or nothing could be found.
  const events = shown.filter(({ what }) => what === "event").map(({ value }) => value);
  const kinds = new Set(events.map(({ kind }) => kind));
  for (const kind of [
    "assistant_delta",
    "assistant_message",
    "reasoning_delta",
    "tool_call",
    "tool_execution_started",
    "tool_execution_updated",
    "tool_execution_finished",
    "plan_updated",
    "diff_updated",
    "warning",
    "error",
    "native_event",
    "approval_requested",
    "approval_resolved",
    "user_input_requested",
    "user_input_resolved",
    "turn_failed",
  ])
    assert.ok(
      kinds.has(kind),
      `${kind}: ${JSON.stringify(shown.filter(({ what }) => what === "diagnostic" || what === "turn" || what === "answer")).slice(0, 9000)}`,
    );
  const codes = new Set(shown.filter(({ what }) => what === "diagnostic").map(({ value }) => value.code));
  for (const code of ["noise", "unknown_notification"])
    assert.ok(codes.has(code), `${code} of ${[...codes]}`);
  const texts = events.filter(({ kind }) => kind === "assistant_message").map(({ text }) => text);
  for (const text of texts) {
    assert.match(text, /^I say .*\[REDACTED\].* now/);
  }
  assert.ok(texts.length >= 8);
  assert.equal(shown.filter(({ what }) => what === "open").length, 1);
  assert.ok(shown.filter(({ what }) => what === "prompt").length >= 3);
});

const bytes = (length) => Buffer.from(Array.from({ length }, (_, at) => (at * 167 + 13) % 256));
const HARMLESS = {
  hashes: ["md5", "sha1", "sha256", "sha512"].flatMap((name) =>
    ["hex", "base64", "base64url"].map((encoding) => createHash(name).update("harmless").digest(encoding)),
  ),
  ids: [
    "0f8fad5b-d9cb-469f-a165-70867728950e",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "toolu_01A09q90qw90lq917835lq9",
  ],
  paths: [
    "/home/user/project/node_modules/.pnpm/token-types@4.2.1/node_modules/token-types/lib/index.js",
    "C:\\Users\\me\\AppData\\Local\\Temp\\secretary\\passwords.txt",
    "https://example.com/a/b?page=2&sort=asc#token-list",
  ],
  base64: [bytes(300).toString("base64"), bytes(33).toString("base64url")],
  words: ["max_tokens: 4096, inputTokens=12, token_count: 5", "the secretary asked for the cookie banner"],
  code: ["ts/runtime/adapter-inbox.ts", "ts/runtime/turn-sequencer.ts", "ts/cli/main.ts"].map((file) =>
    fs.readFileSync(path.join(root, file), "utf8"),
  ),
};

test("what only looks like a secret passes through events unchanged", async (t) => {
  const place = runtimeHome(t);
  const texts = Object.values(HARMLESS).flat();
  const turn = [
    ...texts.flatMap((text, at) => [
      {
        observe: { kind: "assistant", nativeItemId: `a${at}`, text: { delta: text }, done: true },
        chunk: 61,
      },
    ]),
    { observe: { kind: "tool_call", nativeItemId: 1, toolName: "read", args: HARMLESS } },
    { observe: { kind: "tool_started", nativeItemId: 1 } },
    { observe: { kind: "tool_finished", nativeItemId: 1, result: HARMLESS } },
    { observe: { kind: "native", name: "raw", payload: HARMLESS } },
    { observe: { kind: "plan", plan: HARMLESS } },
    {
      approval: {
        kind: "tool",
        title: "t",
        detail: HARMLESS.paths.join("\n"),
        arguments: HARMLESS,
        decisions: [{ id: "yes", label: "Yes" }],
      },
    },
    { end: { status: "completed" } },
  ];
  const events = [];
  const store = await BindingStore.open(place.file);
  const config = fakeAdapter(
    { capabilities: FAKE_CAPABILITIES, nativeTurnIds: true, turns: [turn] },
    { SECRET_VARIABLE: SECRETS.environment },
  );
  const session = await openRuntimeSession({
    store,
    registry: createRuntimeRegistry({
      drivers: [fakeDriver()],
      instances: [{ runtimeInstanceId: "main", adapterId: "fake", config }],
    }),
    productSessionId: "ps_1",
    runtimeInstanceId: "main",
    workspace: place.home,
    publish: false,
    secrets: Object.values(SECRETS),
    onEvent(event) {
      events.push(event);
      if (event.kind === "approval_requested") void session.respondToApproval(event.request.requestId, "yes");
    },
  });
  assert.equal((await session.prompt({ text: "go" })).status, "completed");
  await session.dispose();
  await store.close();
  const of = (kind) => events.filter((event) => event.kind === kind);
  assert.deepEqual(
    of("assistant_message").map(({ text }) => text),
    texts,
  );
  const joined = (index) =>
    of("assistant_delta")
      .filter(({ contentIndex }) => contentIndex === index)
      .map(({ text }) => text)
      .join("");
  assert.deepEqual(
    of("assistant_message").map(({ contentIndex }) => joined(contentIndex)),
    texts,
  );
  assert.deepEqual(of("tool_call")[0].args, HARMLESS);
  assert.deepEqual(of("tool_execution_finished")[0].result, HARMLESS);
  assert.deepEqual(of("native_event")[0].payload, HARMLESS);
  assert.deepEqual(of("plan_updated")[0].plan, HARMLESS);
  const [{ request }] = of("approval_requested");
  assert.deepEqual([request.detail, request.arguments], [HARMLESS.paths.join("\n"), HARMLESS]);
});
