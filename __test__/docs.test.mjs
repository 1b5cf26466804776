// The README and the docs say what is so: examples run, output is real, and words, codes, limits and members are the code's.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { JsonlLifecycleJournal, LifecycleProjector, normalizeLifecycleEvent } from "agent-lifecycle";
import { event, state } from "./support/events.mjs";
import { blocks, coded, rows, section } from "./support/markdown.mjs";

const root = path.dirname(import.meta.dirname);
const read = (file) => fs.readFileSync(path.join(root, file), "utf8");
const readme = read("README.md");
const contract = read("docs/contract.md");

const run = (args) => spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
const sorted = (list) => [...new Set(list)].toSorted();

const members = (text) => rows(text).map(([cell]) => coded(cell)[0]);
const codesBelow = (heading) => firstCells(section(contract, heading));
const optionsIn = (text) => sorted(text.match(/--[a-z-]+/g) ?? []);
const product = (text) =>
  text.split("*").reduce((before, factor) => before * Number(factor.replaceAll("_", "")), 1);
const firstCells = (text) => sorted(rows(text).flatMap(([cell]) => coded(cell)));

/** Every source file below a folder as text, its tests left out. */
function sources(folder, extension) {
  return fs
    .readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map((entry) => fs.readFileSync(path.join(entry.parentPath ?? entry.path, entry.name), "utf8"))
    .map((text) => text.split("#[cfg(test)]")[0]);
}

const core = sources("crates/core/src", ".rs").join("\n");
const io = sources("crates/io/src", ".rs").join("\n");
const skin = sources("src", ".rs").join("\n");
const ts = sources("ts", ".ts").join("\n");

const groups = (text, pattern) => [...text.matchAll(pattern)].map(([, word]) => word);

/** The text forms of an enum of the core. */
function words(name, code = core) {
  const bodies = groups(code, new RegExp(`^impl ${name} \\{\\n([\\s\\S]*?)^\\}`, "gm"));
  const body = bodies.find((text) => text.includes("fn as_str"));
  const [, text] = /fn as_str[\s\S]*?match self \{([\s\S]*?)\n {8}\}/.exec(body);
  return sorted(groups(text, /"(\w+)"/g));
}

/** The words of a union type. */
function union(name) {
  const [, body] = new RegExp(`export type ${name} =([\\s\\S]*?);`).exec(ts);
  return sorted(groups(body, /"(\w+)"/g));
}

test("the example has twelve lines, and runs as a module and as CommonJS to what is said", () => {
  const [example, commonjs] = blocks(readme, "js");
  assert.equal(example.split("\n").filter((line) => line.trim() !== "").length, 12);
  const [said] = blocks(section(readme, "## The library in twelve lines"), "text");
  const [first] = example.split("\n");
  for (const [kind, code] of [
    ["module", example],
    ["commonjs", example.replace(first, commonjs.trim())],
  ]) {
    const { stdout, stderr } = run([`--input-type=${kind}`, "--eval", code]);
    assert.equal(stdout + stderr, said, kind);
  }
});

test("the examples of reconciliation and changes print what is said", () => {
  for (const heading of ["### Reconciliation", "### Changes by cursor"]) {
    const text = section(contract, heading);
    const [example] = blocks(text, "js");
    const { stdout, stderr } = run(["--input-type=module", "--eval", example]);
    assert.equal(stdout + stderr, blocks(text, "text")[0], heading);
  }
});

test("the example of reconciling.md prints what is said, and its options and codes are those that there are", () => {
  const page = read("docs/reconciling.md");
  const [example] = blocks(page, "js");
  const { stdout, stderr } = run(["--input-type=module", "--eval", example]);
  assert.equal(stdout + stderr, blocks(page, "text")[0]);
  const source = read("ts/reconciler.ts");
  const [options] = page.split("## When it asks");
  const [, names] = /const OPTIONS = \[([\s\S]*?)\]/.exec(source);
  assert.deepEqual(
    firstCells(options).map((name) => name.split("(")[0]),
    sorted(groups(names, /"(\w+)"/g)),
  );
  const codes = section(page, "## Audit and journal");
  assert.deepEqual(firstCells(codes), sorted(groups(source, /code: "(\w+)"/g)));
});

test("the stores that are looked for are those of the page", () => {
  const [, stores] = /const STORES[\s\S]*?= \[\n([\s\S]*?)\n\];/.exec(io);
  const places = [...stores.matchAll(/\((None|Some\(".*?"\)), "(.*?)", "(.*?)"\)/g)];
  assert.ok(places.length > 4);
  const page = read("docs/providers.md");
  const [said] = /The store of an agent that[\s\S]*?\n- /.exec(page);
  for (const [, variable, above, store] of places) {
    assert.ok(coded(said).includes(variable === "None" ? `${above}/${store}` : store), store);
  }
});

test("the picture is the display of the fixture", () => {
  const [picture] = blocks(readme, "text");
  const display = "fixtures/claude-code/three-subagents/4-display.txt";
  assert.equal(picture, read(display));
});

test("commands that are shown print what is shown", () => {
  const shown = blocks(readme, "console").join("");
  const commands = shown.split(/^\$ /m).slice(1);
  assert.ok(commands.length > 0);
  let status;
  for (const command of commands) {
    const [line, ...output] = command.split("\n");
    const [name, ...args] = line.split(" ");
    if (name === "echo") {
      assert.equal(output.join("\n"), `${status}\n`, line);
      continue;
    }
    assert.equal(name, "agent-lifecycle");
    const ran = run(["dist/cli/main.js", ...args]);
    ({ status } = ran);
    assert.equal(ran.stdout + ran.stderr, output.join("\n"), line);
  }
});

test("the command, its options and its exit codes are those of --help", () => {
  const { stdout } = run(["dist/cli/main.js", "--help"]);
  const [, status, validate] = /(status \[[\s\S]*?)\n {6}[\s\S]*?(validate <.*)/.exec(stdout);
  const documented = rows(section(readme, "### status")).flatMap(([cell]) => coded(cell));
  assert.deepEqual(optionsIn(documented.join(" ")), optionsIn(status));
  assert.ok(readme.includes(`agent-lifecycle ${validate}`));
  const exits = rows(section(readme, "### Exit codes")).map(([code]) => code);
  assert.deepEqual(exits, ["0", "1", "2"]);
});

test("platforms, versions and exports in the README are those of the manifests and the package", async () => {
  const install = section(readme, "## Install");
  const [, platforms] = /The platforms: (.*?)\. /.exec(install);
  assert.deepEqual(coded(platforms), fs.readdirSync(path.join(root, "npm")).toSorted());
  const manifest = JSON.parse(read("package.json"));
  const [node] = /\d+\.\d+/.exec(manifest.engines.node);
  const [, rust] = /^rust-version = "(.*)"/m.exec(read("Cargo.toml"));
  for (const said of readme.matchAll(/Node (\d+\.\d+) or newer/g)) assert.equal(said[1], node);
  for (const said of readme.matchAll(/Rust (\d+\.\d+) or newer/g)) assert.equal(said[1], rust);
  const linter = JSON.parse(read("package-lock.json")).packages["node_modules/oxlint"].engines.node;
  const [, older, newer] = /(\d+\.\d+) or newer of Node 20, or (\d+\.\d+)/.exec(readme);
  assert.equal(linter, `^${older}.0 || >=${newer}.0`);
  const names = Object.keys(await import("agent-lifecycle")).filter(
    (name) => !["default", "module.exports", "__esModule"].includes(name),
  );
  const table = section(readme, "## Which one do I need");
  for (const name of names) assert.ok(table.includes(name), `${name} in the table`);
});

/** What the projector says to a child that went over `way` and is then said to be in `next`. */
function verdict(way, next) {
  const projector = new LifecycleProjector();
  const said = [...way, next].map((name, at) => {
    const ends = ["completed", "failed", "cancelled", "lost"].includes(name);
    return projector.tryApply(state(`e${at}`, name, ends ? { kind: "terminal" } : {}));
  });
  const last = said.pop();
  assert.ok(
    said.every(({ status }) => status === "applied"),
    `${way}`,
  );
  return last.status === "refused" ? last.error.code : last.status;
}

test("the transition table is the projector's", () => {
  const table = new Map(
    rows(section(contract, "## States"))
      .slice(0, words("State").length)
      .map(([from, to]) => [coded(from)[0], coded(to)]),
  );
  assert.deepEqual(sorted(table.keys()), words("State"));
  const ways = new Map([["created", ["created"]]]);
  for (const [from, way] of ways) {
    for (const to of table.get(from)) if (!ways.has(to)) ways.set(to, [...way, to]);
  }
  for (const [from, way] of ways) {
    for (const to of [...table.keys()].filter((name) => name !== "created")) {
      let expected = table.get(from).includes(to) || from === to ? "applied" : "illegal_transition";
      if (table.get(from).length === 0) expected = "terminal_immutable";
      assert.equal(verdict(way, to), expected, `${from} -> ${to}`);
    }
  }
});

test("kinds, reasons and statuses are the code's", () => {
  const [, kinds] = /\| `kind` \| (.*) \|/.exec(section(contract, "## The event"));
  assert.deepEqual(sorted(coded(kinds)), words("Kind"));
  const reasons = rows(section(contract, "## States")).slice(words("State").length);
  assert.deepEqual(sorted(reasons.flatMap(([cell]) => coded(cell))), words("WaitingReason"));
  const [statuses] = section(contract, "## What becomes of an event").split("\n### ");
  assert.deepEqual(firstCells(statuses), sorted([...words("Status"), "refused"]));
});

test("the codes are the code's, in both directions", () => {
  assert.deepEqual(codesBelow("### Refusals of an event"), words("Code"));
  assert.deepEqual(codesBelow("### Notes on a result"), words("Note"));
  assert.deepEqual(codesBelow("### Notes on a result"), union("ApplyCode"));
  assert.deepEqual(codesBelow("### Faults of lines"), words("DiagnosticCode"));
  assert.deepEqual(codesBelow("### Faults of lines"), union("DiagnosticCode"));
  const counts = [...groups(io, /\bcount\("(\w+)"/g), ...groups(core, /diagnostics\.insert\("(\w+)"/g)];
  assert.deepEqual(codesBelow("### Counts of the command"), sorted(counts));
  const notices = groups(io, /Self::\w+\(_\) => "(lock_\w+)"/g);
  assert.deepEqual(
    codesBelow("### Codes of a journal"),
    sorted([...words("FaultCode", io).filter((code) => code !== "invalid_option"), ...notices]),
  );
  const agent = read("docs/agent-events.md");
  const given = ["### Refusals of an event", "### Codes of the package", "### Codes of a journal"];
  assert.deepEqual(
    union("LifecycleErrorCode"),
    sorted([
      ...given.flatMap(codesBelow),
      ...["### Issues", "### Codes of sessions"].flatMap((heading) => firstCells(section(agent, heading))),
    ]),
  );
  const refusals = new Set(words("Code"));
  const others = [
    ...groups(skin, /\bcode: "(\w+)"/g),
    ...groups(skin, /\(\s*"([a-z_]+)",\s*(?:format!|"[^"]*"\.to_owned)/g),
    ...groups(ts, /new LifecycleError\(\s*"(\w+)"/g),
    ...groups(ts, /jsonText\(\w+, "\w+", "(\w+)"\)/g),
  ];
  assert.deepEqual(
    codesBelow("### Codes of the package"),
    sorted(others.filter((code) => !refusals.has(code))),
  );
});

test("each number in a table of limits is the constant's", () => {
  const all = `${core}\n${io}\n${skin}`;
  let checked = 0;
  for (const cells of rows(contract)) {
    const [name] = /^`([A-Z_]+|[a-z_]+_ms)`$/.exec(cells.at(-1))?.slice(1) ?? [];
    if (name === undefined) continue;
    const defined = new RegExp(`(?:const ${name}: \\w+ = |${name}: )([\\d_]+(?: \\* [\\d_]+)*)[;,]`, "g");
    const values = groups(all, defined).map(product);
    const [number] = cells
      .filter((cell) => /^[\d,]+$/.test(cell))
      .map((cell) => Number(cell.replaceAll(",", "")));
    assert.ok(values.includes(number), `${name} is ${values}, not ${number}`);
    checked += 1;
  }
  assert.ok(checked > 20, `${checked} numbers`);
});

test("the members of a row, of an event and of `status --json` are those that there are", () => {
  const projector = new LifecycleProjector();
  projector.apply(event());
  const [row] = projector.list();
  const [shape] = section(contract, "## A row").split("\n| what |");
  assert.deepEqual(members(shape), Object.keys(row));
  const [json] = section(contract, "### `status --json`").split("\n`validate");
  const { stdout } = run(["dist/cli/main.js", "status", "fixtures/claude-code/basic-turn", "--json"]);
  assert.deepEqual(members(json), Object.keys(JSON.parse(stdout)));
  assert.deepEqual(Object.keys(JSON.parse(stdout).rows[0]), Object.keys(row));
});

test("the members of an event, and which of them may be left out, are those of the table", () => {
  const [table] = section(contract, "## The event").split("\n### ");
  const documented = members(table);
  const full = state("e1", "waiting", {
    waitingReason: "prompt",
    sequence: 1,
    activity: "a",
    details: {},
    capabilities: {},
  });
  const names = documented.map((name) => name.replace("?", ""));
  assert.deepEqual(Object.keys(normalizeLifecycleEvent(full)), names);
  for (const name of documented) {
    const { [name.replace("?", "")]: _, ...rest } = full;
    if (name.endsWith("?")) assert.ok(normalizeLifecycleEvent(rest), name);
    else assert.throws(() => normalizeLifecycleEvent(rest), { name: "LifecycleError" }, name);
  }
});

/** The members of an interface of the types: name, whether it may be left out, type, and the comment before it. */
function interfaceMembers(file, name) {
  const [, body] = new RegExp(`export interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(read(file));
  const found = body.matchAll(
    /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?\n? {2}(?:readonly )?(\w+)(\??)(?:: ?|(?=\())([\s\S]*?);(?=\n|$)/g,
  );
  return [...found].map(([, comment = "", member, optional, type]) => ({
    member,
    optional: optional === "?",
    type: type.replace(/\s*\|\s*undefined$/, "").trim(),
    comment,
  }));
}

const TYPES = { string: "text", number: "number", boolean: "boolean" };

test("the options of each way in are those of the types and of the check, with type and default", () => {
  const journals = section(contract, "## The journal");
  const monitoring = read("docs/monitoring.md");
  const publishing = read("docs/publishing.md");
  const [publisherOptions] = publishing.split("| member of a publisher |");
  let checked = 0;
  for (const [page, file, name] of [
    [
      section(monitoring, "## Options").split("| member of a monitor |")[0],
      "ts/monitor.ts",
      "MonitorOptions",
    ],
    [section(monitoring, "## A status, once"), "ts/read-status.ts", "ReadStatusOptions"],
    [publisherOptions, "ts/publisher-file.ts", "OpenPublisherOptions"],
    [journals.split("| call |")[0], "ts/journal.ts", "JsonlLifecycleJournalOptions"],
  ]) {
    const typed = new Map(interfaceMembers(file, name).map((member) => [member.member, member]));
    const documented = rows(page).map(([cell, ...rest]) => [coded(cell)[0], ...rest]);
    assert.deepEqual(sorted(documented.map(([option]) => option)), sorted(typed.keys()), name);
    const [, listed] = /^const OPTIONS = \[([\s\S]*?)\] as const;/m.exec(read(file));
    assert.deepEqual(sorted(groups(listed, /"(\w+)"/g)), sorted(typed.keys()), name);
    for (const [option, type, otherwise] of documented) {
      const { optional, type: real, comment } = typed.get(option);
      assert.equal(otherwise === "required", !optional, `${name}.${option}: whether it is required`);
      const plain = TYPES[real];
      if (plain !== undefined) assert.ok(type.startsWith(plain), `${name}.${option} is ${real}, not ${type}`);
      if (real.includes("=>")) assert.match(type, /^function/, `${name}.${option}`);
      const literals = real === "ContentLevel" ? union("ContentLevel") : groups(real, /"(\w+)"/g);
      if (plain === undefined && !real.includes("=>") && literals.length > 1)
        assert.deepEqual(
          sorted(coded(type).map((word) => word.replaceAll('"', ""))),
          sorted(literals),
          option,
        );
      const [, number] = /([\d,]+)(?: \([^)]*\))? by default/.exec(comment) ?? [];
      if (number !== undefined) assert.equal(otherwise, number, `${name}.${option}: its default`);
      checked += 1;
    }
  }
  assert.equal(checked, 12 + 6 + 5 + 4);
});

test("the methods of a monitor, a publisher and a journal are those of the tables", () => {
  const named = (text) =>
    sorted(rows(text).flatMap(([cell]) => coded(cell).map((word) => /\w+/.exec(word)[0])));
  const [, monitor] = section(read("docs/monitoring.md"), "## Options").split("| member of a monitor |");
  const ofMonitor = interfaceMembers("ts/monitor.ts", "Monitor").map(({ member }) => member);
  // `await using` is Symbol.asyncDispose.
  assert.deepEqual(
    named(`| x |\n|---|\n${monitor.split("\n").slice(2).join("\n")}`),
    sorted([...ofMonitor, "await"]),
  );
  const [, publisher] = read("docs/publishing.md").split("| member of a publisher |");
  const published = named(publisher.split("## ")[0].split("\n").slice(2).join("\n"));
  assert.deepEqual(published, sorted(["source", "publish", "close", "await"]));
  const [, journal] = section(contract, "## The journal").split("| call |");
  const methods = Object.getOwnPropertyNames(JsonlLifecycleJournal.prototype).filter(
    (name) => name !== "constructor",
  );
  const [table] = journal.split("\n\n");
  assert.deepEqual(named(table.split("\n").slice(2).join("\n")), sorted([...methods, "await"]));
  const { stdout } = run(["dist/cli/main.js", "--help"]);
  const [command] = /journal rotate .*/.exec(stdout);
  const said = coded(section(contract, "## The journal")).find((text) => text.includes("journal rotate"));
  assert.deepEqual(optionsIn(said), optionsIn(command));
});

test("each path that the architecture names is there", () => {
  const top = /^(?:crates|src|ts|scripts|docs|fixtures|xtask|fuzz|__test__)\//;
  const prose = read("docs/architecture.md").replaceAll(/^```[\s\S]*?^```$/gm, "");
  const named = coded(prose).filter((name) => top.test(name) && !/[*<]/.test(name));
  assert.ok(named.length > 0);
  for (const name of named) assert.ok(fs.existsSync(path.join(root, name)), name);
});

test("the decisions are all listed, and each says what a decision must", () => {
  const files = fs.readdirSync(path.join(root, "docs/decisions")).filter((name) => name !== "README.md");
  assert.deepEqual(groups(read("docs/decisions/README.md"), /\((\d{4}-[\w-]+\.md)\)/g), files.toSorted());
  for (const name of files) {
    const text = read(`docs/decisions/${name}`);
    assert.ok(text.startsWith(`# ${name.slice(0, 4)}: `), name);
    for (const part of ["Context", "Decision", "Consequence"]) assert.ok(text.includes(`**${part}.**`), name);
  }
});
