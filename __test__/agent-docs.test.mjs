// docs/agent-events.md and docs/following.md say what is so: examples run, and tables are those of the check.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import * as lifecycle from "agent-lifecycle";
import typescript from "typescript";
import { KINDS, MODEL, RULES, sample } from "./support/agent-table.mjs";
import { blocks, coded, rows, section } from "./support/markdown.mjs";

const { createAgentLifecyclePublisher, validateAgentLifecycleEvent } = lifecycle;
const root = path.dirname(import.meta.dirname);
const read = (file) => fs.readFileSync(path.join(root, file), "utf8");
const page = read("docs/agent-events.md");
const bridgePage = read("docs/bridge.md");
const pages = [
  page,
  read("docs/following.md"),
  bridgePage,
  read("README.md"),
  read("docs/hermes.md"),
  read("docs/adapter-contract.md"),
  read("docs/model-routing.md"),
];
const examples = pages.flatMap((text) => blocks(text, "ts"));

/** An entry of the package as a file. */
const entry = (name) => pathToFileURL(path.join(root, `${name ?? "index"}.js`)).href;

/** Runs a TypeScript example without its types. */
async function runExample(code) {
  const { outputText } = typescript.transpileModule(code, {
    compilerOptions: { module: typescript.ModuleKind.ESNext, target: typescript.ScriptTarget.ES2022 },
  });
  const module = outputText.replaceAll(
    /from "agent-lifecycle(?:\/(\w+))?"/g,
    (_, name) => `from ${JSON.stringify(entry(name))}`,
  );
  await import(`data:text/javascript,${encodeURIComponent(module)}`);
}

for (const [at, example] of examples.entries()) {
  const [, name] = /import \{\s*(?:\w+,\s*)*?(\w+)/.exec(example.slice(example.indexOf("\n"))) ?? [];
  test(`example ${at + 1} (${name}) runs`, () => runExample(example));
}

test("the examples compile", () => {
  const folder = path.join(root, "__test__");
  const sources = new Map(examples.map((code, at) => [path.join(folder, `example-${at}.mts`), code]));
  const { config } = typescript.readConfigFile(path.join(folder, "tsconfig.json"), typescript.sys.readFile);
  const { options } = typescript.parseJsonConfigFileContent(config, typescript.sys, folder);
  const host = typescript.createCompilerHost(options);
  const { fileExists, readFile } = host;
  host.fileExists = (file) => sources.has(file) || fileExists(file);
  host.readFile = (file) => sources.get(file) ?? readFile(file);
  const program = typescript.createProgram([...sources.keys()], { ...options, skipLibCheck: true }, host);
  const faults = typescript.getPreEmitDiagnostics(program);
  assert.equal(typescript.formatDiagnostics(faults, host), "");
});

/** What the session's own agent comes to after `events`, a second apart. */
function bridged(events) {
  const bridge = lifecycle.bridgeAgentEvents({ source: "s", sourceEpoch: "1", sessionId: "s" });
  const projector = new lifecycle.LifecycleProjector();
  for (const [second, event] of events.entries()) {
    const time = new Date(Date.UTC(2026, 4, 17, 12, 0, second)).toISOString();
    for (const made of bridge.push(event, { at: time })) projector.apply(made);
  }
  return projector.list()[0];
}

test("the options and the context of the bridge are those of its page", () => {
  const types = read("ts/bridge.ts");
  for (const [name, shape] of [
    ["option", "AgentBridgeOptions"],
    ["context", "AgentEventContext"],
  ]) {
    const [, body] = new RegExp(`interface ${shape} \\{([\\s\\S]*?)\\n\\}`).exec(types);
    const members = [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, member]) => member);
    const table = section(bridgePage, "## Options").split(`| ${name} |`)[1].split("\n\n")[0];
    const documented = table
      .split("\n")
      .slice(2)
      .flatMap((line) => coded(line.split("|")[1]));
    assert.deepEqual(documented.toSorted(), members.toSorted());
  }
});

test("each agent event is in the table of the bridge, and waits and exits come to what it says", () => {
  const [kinds] = section(bridgePage, "## What follows from each event").split("\n\nA parent");
  assert.deepEqual(
    new Set(rows(kinds).flatMap(([cell]) => coded(cell).filter((name) => KINDS.has(name)))),
    new Set(KINDS.keys()),
  );
  const turn = { kind: "turn.started", turnId: "t" };
  const waits = rows(section(bridgePage, "## Waits"));
  assert.equal(waits.length, 7);
  for (const [cell, reasons, result] of waits) {
    const [given] = coded(cell);
    const named = [...coded(reasons), ...(reasons.includes("any") ? ["free text"] : [])];
    const none = reasons.includes("none") ? [undefined] : [];
    for (const reason of [...named, ...none]) {
      const wait = { kind: "wait.started", waitId: "w", state: given, reason };
      assert.equal(bridged([turn, wait]).waitingReason, coded(result)[0], `${given} ${reason}`);
    }
  }
  const done = (outcome) => [turn, { kind: "agent.done", outcome }];
  const exit = { kind: "agent.exited" };
  const [ended, never, failed, open] = rows(section(bridgePage, "## Exits"));
  for (const [at, outcome] of coded(ended[0]).entries()) {
    assert.equal(bridged([...done(outcome), { ...exit, exitCode: 3 }]).state, coded(ended[1])[at]);
  }
  assert.equal(bridged([{ kind: "session.started" }, exit]).state, coded(never[1])[0]);
  for (const code of [{ exitCode: 1 }, { signal: "SIGKILL" }]) {
    assert.equal(bridged([turn, { ...exit, ...code }]).state, coded(failed[1])[0]);
  }
  assert.match(open[1], /^no end/);
  assert.equal(bridged([turn, { ...exit, exitCode: 0 }]).state, "running");
});

test("helpers, kinds and members are those of the check", () => {
  const table = rows(section(page, "## Which helper when"));
  const helpers = table.map(([helper]) => coded(helper)[0].replace("()", ""));
  const { publish: _, ...publisher } = createAgentLifecyclePublisher(() => undefined);
  assert.deepEqual(helpers, Object.keys(publisher));
  assert.deepEqual(
    table.map(([, kind]) => coded(kind)[0]),
    [...KINDS.keys()],
  );
  for (const [helper, kind, required, optional] of table) {
    const members = KINDS.get(coded(kind)[0]).filter(({ name }) => name !== "occurredAt");
    const names = (wanted) => members.filter((member) => member.required === wanted).map(({ name }) => name);
    assert.deepEqual(coded(required), names(true), helper);
    assert.deepEqual(coded(optional), names(false), helper);
  }
});

/** The issues of a valid event whose member `name` holds `value`. */
function issuesWith(name, value) {
  const [member, nested] = name.split(".");
  const [kind] = [...KINDS].find(([, members]) => members.some((other) => other.name === member));
  const changed = nested === undefined ? value : { id: "m", [nested]: value };
  const result = validateAgentLifecycleEvent({ ...sample(kind), [member]: changed });
  return result.ok ? [] : result.issues.map(({ path: at, code }) => [at, code]);
}

const number = (text) => Number(text.replaceAll(",", ""));

test("limits are those of the check, at the limit and one beyond", () => {
  const table = rows(section(page, "## Members"));
  const names = [...Object.keys(RULES), "model"].toSorted();
  assert.deepEqual(table.map(([name]) => coded(name)[0]).toSorted(), names);
  let checked = 0;
  for (const [cell, , holds, least, most] of table) {
    const [name] = coded(cell);
    const borders = {
      identity: (units) => "x".repeat(units),
      "display text": (units) => "x".repeat(units),
      integer: (integer) => integer,
      "date-time": (units) => `2026-05-17T22:29:21.${"1".repeat(units - 21)}Z`,
    };
    const make = borders[holds];
    if (make === undefined) continue;
    checked += 1;
    const fault = [[`$.${name}`, RULES[name].code]];
    assert.deepEqual(issuesWith(name, make(number(most))), []);
    assert.deepEqual(issuesWith(name, make(number(most) + 1)), fault);
    if (least === "") continue;
    assert.deepEqual(issuesWith(name, make(number(least))), []);
    assert.deepEqual(issuesWith(name, make(number(least) - 1)), fault);
    const isDisplay = holds === "display text";
    assert.equal(RULES[name].most !== undefined, isDisplay, `${name} is cut by fit`);
    if (typeof make(1) === "string") assert.equal(issuesWith(name, "a\ud83d").length === 0, isDisplay);
  }
  assert.equal(checked, Object.keys(RULES).length - 2, "all but outcome and state");
});

const snake = (name) => name.replace(/(?!^)[A-Z]/g, "_$&").toLowerCase();

test("words and codes are those of the check and of the types", () => {
  const types = read("ts/agent-event.ts");
  const [, union] = /AgentEventIssueCode =([\s\S]*?);/.exec(types);
  const codes = rows(section(page, "### Issues")).map(([code]) => coded(code)[0]);
  assert.deepEqual(
    codes,
    [...union.matchAll(/"(\w+)"/g)].map(([, code]) => code),
  );
  const [core] = /enum IssueCode \{[\s\S]*?\n\}/.exec(read("crates/core/src/agent/validate.rs"));
  assert.deepEqual(
    codes,
    [...core.matchAll(/^ {4}(\w+),$/gm)].map(([, name]) => snake(name)),
  );
  for (const [cell, words] of rows(section(page, "## Members"))) {
    const [name] = coded(cell);
    if (name !== "outcome" && name !== "state") continue;
    for (const word of coded(words)) assert.deepEqual(issuesWith(name, word), [], word);
  }
  const members = rows(section(page, "## Members")).find(([cell]) => coded(cell)[0] === "model")[1];
  const shape = MODEL.map(({ name, required }) => (required ? name : `${name}?`)).join(", ");
  assert.deepEqual(coded(members), [`{${shape}}`]);
  const thrown = [...read("ts/session.ts").matchAll(/refuser\("(\w+)"\)/g)].map(([, code]) => code);
  assert.deepEqual(
    rows(section(page, "### Codes of sessions")).map(([code]) => coded(code)[0]),
    thrown.toSorted(),
  );
});

test("what an observer and a follower are told is in the tables", () => {
  const said = (file, pattern) => [...read(file).matchAll(pattern)].map(([, code]) => code);
  const codes = new Set(
    ["ts/observe.ts", "ts/observed-journal.ts"].flatMap((file) => said(file, /report\(\{ code: "(\w+)"/g)),
  );
  const told = rows(section(page, "### What `onDiagnostic` is told")).map(([code]) => coded(code)[0]);
  assert.deepEqual(told.toSorted(), [...codes].toSorted());
  const [, union] = /readonly code: (.*);/.exec(read("ts/follow.ts"));
  const following = rows(section(read("docs/following.md"), "## Who tells of changes"));
  assert.deepEqual(
    following.map(([code]) => `"${coded(code)[0]}"`),
    union.split(" | "),
  );
});
