// Our hooks in a settings file: put in, looked for and taken out, with real files and the real command.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { hookSettings } from "agent-lifecycle";
import * as fc from "fast-check";
import { hookStatus, readSettings, withHooks, withoutHooks, writeSettings } from "../dist/hooks-install.js";

const main = path.join(import.meta.dirname, "..", "dist", "cli", "main.js");
const EVENTS = ["PermissionRequest", "Notification", "SubagentStart", "SubagentStop", "Stop", "SessionEnd"];
const BACKUP = ".agent-lifecycle-backup";
const isWindows = process.platform === "win32";

function temporary(t) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "hooks-")));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  return folder;
}

/** Runs `agent-lifecycle hook` in a home of its own. */
function hook(home, args, env = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, "hook", ...args], {
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: home, USERPROFILE: home, ...env },
  });
  return { status, stdout, stderr };
}

/** A home with a settings file. */
function homeWith(t, text) {
  const home = temporary(t);
  const file = path.join(home, ".claude", "settings.json");
  fs.mkdirSync(path.dirname(file));
  if (text !== undefined) fs.writeFileSync(file, text);
  return { home, file, read: () => fs.readFileSync(file, "utf8") };
}

test("the settings name each event once, with a hook in the background", () => {
  const { hooks } = hookSettings({ command: "npx agent-lifecycle" });
  assert.deepEqual(Object.keys(hooks), EVENTS);
  const command = "npx agent-lifecycle hook run --installed agent-lifecycle@1";
  for (const name of EVENTS)
    assert.deepEqual(hooks[name], [{ hooks: [{ type: "command", command, async: true, timeout: 10 }] }]);
  assert.throws(() => hookSettings({ command: 1 }), { code: "invalid_argument", path: "command" });
});

test("the command of the settings runs in a shell and leaves a file", { skip: isWindows }, (t) => {
  const home = temporary(t);
  const [{ hooks }] = hookSettings().hooks.Stop;
  const { status, stdout, stderr } = spawnSync("sh", ["-c", hooks[0].command], {
    encoding: "utf8",
    input: '{"hook_event_name":"Stop","session_id":"s"}',
    env: { HOME: home, XDG_STATE_HOME: home },
  });
  assert.deepEqual([status, stdout, stderr], [0, "", ""]);
  const state =
    process.platform === "darwin" ? "Library/Application Support/agent-lifecycle" : "agent-lifecycle";
  assert.equal(fs.readdirSync(path.join(home, state, "spool")).length, 1);
});

/** A hook of somebody else. */
const other = { type: "command", command: "say done", timeout: 3, unknownMember: [1, 2] };

const TEXTS = {
  "two spaces": '{\n  "model": "opus",\n  "permissions": {"allow": ["Bash(ls)", "Read"]}\n}\n',
  tabs: '{\n\t"model": "opus"\n}\n',
  "four spaces, no newline at the end": '{\n    "model": "opus"\n}',
  CRLF: '{\r\n  "model": "opus"\r\n}\r\n',
  "one line": '{"model":"opus","n":1.0}',
  "an empty object": "{}\n",
  "an empty object with a space": "{ }",
  "an empty object on two lines": "{\n}\n",
  "an empty object with an empty line": "{\n\n}",
  "an empty object with CRLF": "{\r\n}\r\n",
  "odd layout, numbers and keys":
    '{ "b" : 1.50e3 ,\n  "a":-0,\n\n  "10": "\\u00e9\\/", "2": [ 1,2 ,3 ] , "__proto__": {"x": 1}\n }\n\n',
  "a key twice": '{\n  "a": 1,\n  "a": 2\n}\n',
  "hooks of others": JSON.stringify(
    {
      hooks: {
        PreToolUse: [{ matcher: "Bash", hooks: [other] }],
        Stop: [{ hooks: [other, other], more: true }],
        Future: { anything: 1 },
      },
      last: 1,
    },
    null,
    2,
  ),
  "text that looks like ours":
    '{\n  "note": "{ \\"hooks\\": { hook run --installed agent-lifecycle@1 ",\n  "hooks": {"Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "echo \\"hook run\\" ] }"}]}]}\n}\n',
};

for (const [name, text] of Object.entries(TEXTS)) {
  test(`${name}: install adds ours and nothing else, and uninstall gives the same bytes`, (t) => {
    const { home, file, read } = homeWith(t, text);
    assert.deepEqual(hook(home, ["status"]), { status: 1, stdout: `${file}: not installed\n`, stderr: "" });
    assert.equal(hook(home, ["install"]).status, 0);
    const installed = read();
    const before = JSON.parse(text);
    const after = JSON.parse(installed);
    for (const event of EVENTS) {
      const groups = before.hooks?.[event] ?? [];
      assert.deepEqual(after.hooks[event], [...groups, ...hookSettings().hooks[event]]);
    }
    const without = { ...after.hooks };
    for (const event of EVENTS) delete without[event];
    const expected = { ...before.hooks };
    for (const event of EVENTS) delete expected[event];
    assert.deepEqual(without, expected);
    assert.deepEqual({ ...after, hooks: 0 }, { ...before, hooks: 0 });
    assert.equal(fs.readFileSync(file + BACKUP, "utf8"), text);
    assert.deepEqual(hook(home, ["status"]), { status: 0, stdout: `${file}: installed\n`, stderr: "" });

    const again = hook(home, ["install"]);
    assert.equal(again.stdout, `${file}: the hooks are installed already, nothing was changed\n`);
    assert.equal(read(), installed);
    assert.equal(fs.readFileSync(file + BACKUP, "utf8"), text, "the copy is of what was there before");

    assert.equal(hook(home, ["uninstall"]).status, 0);
    assert.equal(read(), text);
    assert.equal(fs.readFileSync(file + BACKUP, "utf8"), installed);
    const gone = hook(home, ["uninstall"]);
    assert.equal(gone.stdout, `${file}: the hooks are gone already, nothing was changed\n`);
    assert.deepEqual(fs.readdirSync(path.dirname(file)).toSorted(), [
      "settings.json",
      `settings.json${BACKUP}`,
    ]);
  });
}

test("the layout of the file is kept", () => {
  const lines = withHooks(TEXTS.tabs).split("\n");
  assert.deepEqual(lines.slice(0, 8), [
    "{",
    '\t"model": "opus",',
    '\t"hooks": {',
    '\t\t"PermissionRequest": [',
    "\t\t\t{",
    '\t\t\t\t"hooks": [',
    "\t\t\t\t\t{",
    '\t\t\t\t\t\t"type": "command",',
  ]);
  assert.ok(!withHooks(TEXTS["one line"]).includes("\n"));
  assert.ok(!/[^\r]\n/.test(withHooks(TEXTS.CRLF)));
});

test("any settings: what is not ours stays, byte for byte; nothing happens twice", () => {
  const seen = { "own hooks": 0, "our event": 0, flat: 0 };
  const group = fc.record({ matcher: fc.string(), hooks: fc.array(fc.constant(other), { minLength: 1 }) });
  const hooks = fc.dictionary(
    fc.constantFrom("PreToolUse", "Odd", ...EVENTS),
    fc.array(group, { minLength: 1 }),
    {
      minKeys: 1,
    },
  );
  const settings = fc
    .record({ values: fc.dictionary(fc.string(), fc.jsonValue()), hooks: fc.option(hooks) })
    .map((made) => ({ ...made.values, ...(made.hooks ? { hooks: made.hooks } : { hooks: undefined }) }));
  fc.assert(
    fc.property(settings, fc.constantFrom(undefined, " ", "  ", "    ", "\t"), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      seen["own hooks"] += value.hooks === undefined ? 0 : 1;
      seen["our event"] += EVENTS.some((event) => value.hooks?.[event]) ? 1 : 0;
      seen.flat += indent === undefined ? 1 : 0;
      const installed = withHooks(text);
      assert.equal(hookStatus(installed).state, "installed");
      assert.equal(withHooks(installed), installed);
      assert.equal(withoutHooks(installed), text);
      const expected = JSON.parse(text);
      expected.hooks ??= {};
      for (const [event, groups] of Object.entries(hookSettings().hooks))
        expected.hooks[event] = [...(expected.hooks[event] ?? []), ...groups];
      assert.deepEqual(JSON.parse(installed), expected);
    }),
    { numRuns: 300, seed: 7 },
  );
  for (const [what, times] of Object.entries(seen)) assert.ok(times > 20, what);
});

test("hooks of another installation are known, replaced in their place, and removed", (t) => {
  const foreign = hookSettings({ command: "npx agent-lifecycle" });
  foreign.hooks.Stop[0].hooks.unshift(other);
  foreign.hooks.Stop.push(...hookSettings({ command: "/old/agent-lifecycle" }).hooks.Stop);
  const { home, file, read } = homeWith(t, JSON.stringify(foreign, null, 2));
  const { status, stdout } = hook(home, ["status", "--json"]);
  assert.equal(status, 1);
  const events = Object.fromEntries(EVENTS.map((name) => [name, "other version"]));
  assert.deepEqual(JSON.parse(stdout), { settings: file, state: "other version", events, disabled: false });
  hook(home, ["install"]);
  const expected = hookSettings();
  expected.hooks.Stop[0].hooks.unshift(other);
  assert.equal(read(), JSON.stringify(expected, null, 2));
  hook(home, ["uninstall"]);
  assert.deepEqual(JSON.parse(read()), { hooks: { Stop: [{ hooks: [other] }] } });
});

test("hooks of some events are said to be partly there", (t) => {
  const { Stop } = hookSettings().hooks;
  const { home, file } = homeWith(t, JSON.stringify({ hooks: { Stop }, disableAllHooks: true }));
  const lines = EVENTS.map((name) => `  ${name}: ${name === "Stop" ? "installed" : "absent"}`);
  assert.deepEqual(hook(home, ["status"]), {
    status: 1,
    stdout: `${[`${file}: partly`, ...lines, "  no hook runs: the settings have disableAllHooks"].join("\n")}\n`,
    stderr: "",
  });
});

test("a file that is not there is made, for its owner only; one that is keeps its mode", (t) => {
  const { home, file, read } = homeWith(t);
  assert.deepEqual(hook(home, ["install"]).status, 0);
  assert.deepEqual(JSON.parse(read()), hookSettings());
  assert.deepEqual(fs.readdirSync(path.dirname(file)), ["settings.json"]);
  if (isWindows) return;
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  fs.chmodSync(file, 0o640);
  hook(home, ["uninstall"]);
  assert.equal(read(), "{}\n");
  assert.equal(fs.statSync(file).mode & 0o777, 0o640);
});

test("--dry-run shows the text and changes nothing", (t) => {
  const text = TEXTS["two spaces"];
  const { home, file, read } = homeWith(t, text);
  assert.deepEqual(hook(home, ["install", "--dry-run"]), { status: 0, stdout: withHooks(text), stderr: "" });
  assert.deepEqual(hook(home, ["uninstall", "--dry-run"]), { status: 0, stdout: text, stderr: "" });
  assert.equal(read(), text);
  assert.deepEqual(fs.readdirSync(path.dirname(file)), ["settings.json"]);
});

test("CLAUDE_CONFIG_DIR and --settings say which file", (t) => {
  const folder = temporary(t);
  const [one, two] = ["one", "two"].map((name) => path.join(folder, name));
  for (const place of [one, two]) fs.mkdirSync(place);
  hook(folder, ["install"], { CLAUDE_CONFIG_DIR: one });
  hook(folder, ["install", "--settings", path.join(two, "local.json")]);
  assert.deepEqual([...fs.readdirSync(one), ...fs.readdirSync(two)], ["settings.json", "local.json"]);
});

for (const [name, bytes, why] of [
  ["no JSON", "{ // mine\n}", "it is not JSON"],
  ["an empty file", "", "it is not JSON"],
  ["a list", "[]", "it is not a JSON object"],
  ["null", "null", "it is not a JSON object"],
  ["no UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), "it is not UTF-8"],
  ["hooks that are a list", '{"hooks": []}', "its member hooks is no object"],
  ["an event that is no list", '{"hooks": {"Stop": {}}}', "its member hooks.Stop is no list"],
]) {
  test(`${name}: refused, and left as it is`, (t) => {
    const { home, file } = homeWith(t, bytes);
    for (const act of ["install", "uninstall", "status"]) {
      assert.deepEqual(hook(home, [act]), {
        status: 2,
        stdout: "",
        stderr: `agent-lifecycle: ${file} cannot be changed: ${why}. Nothing was changed.\n`,
      });
    }
    assert.deepEqual(fs.readFileSync(file), Buffer.from(bytes));
    assert.deepEqual(fs.readdirSync(path.dirname(file)), ["settings.json"]);
  });
}

test("groups and hooks of any shape are let be", () => {
  for (const odd of [
    null,
    1,
    "x",
    [],
    {},
    { hooks: 1 },
    { hooks: { a: { command: 1 } } },
    { hooks: [null, 1] },
  ]) {
    const text = JSON.stringify({ hooks: { Stop: [odd] } });
    assert.equal(withoutHooks(withHooks(text)), text);
  }
});

test(
  "a link in its own folder is followed; one that leads out is refused and named",
  { skip: isWindows },
  (t) => {
    const { home, file } = homeWith(t);
    const inside = path.join(path.dirname(file), "real.json");
    fs.writeFileSync(inside, TEXTS.tabs);
    fs.symlinkSync("real.json", file);
    assert.equal(hook(home, ["install"]).status, 0);
    assert.ok(fs.lstatSync(file).isSymbolicLink());
    assert.equal(fs.readFileSync(inside, "utf8"), withHooks(TEXTS.tabs));

    const outside = path.join(home, "dotfiles.json");
    fs.writeFileSync(outside, TEXTS.tabs);
    fs.rmSync(file);
    fs.symlinkSync(outside, file);
    const { status, stderr } = hook(home, ["install"]);
    assert.equal(status, 2);
    assert.ok(stderr.includes(`it is a link to ${outside}, outside its folder`));
    assert.equal(fs.readFileSync(outside, "utf8"), TEXTS.tabs);
    assert.equal(hook(home, ["install", "--settings", outside]).status, 0);
    assert.equal(fs.readFileSync(outside, "utf8"), withHooks(TEXTS.tabs));
  },
);

test("a file that was changed since it was read is not overwritten", (t) => {
  const { file, read } = homeWith(t, "{}");
  const before = readSettings(file);
  fs.writeFileSync(file, '{"new": 1}');
  assert.throws(() => writeSettings(before, withHooks(before.text)), { code: "unusable_settings" });
  assert.equal(read(), '{"new": 1}');
  assert.deepEqual(fs.readdirSync(path.dirname(file)), ["settings.json"]);
});

test("a folder that is not there, and arguments without sense", (t) => {
  const home = temporary(t);
  const folder = path.join(home, ".claude");
  const { status, stderr } = hook(home, ["install"]);
  assert.equal(status, 2);
  assert.ok(stderr.includes(`there is no folder ${folder}; create it`));
  // Without settings there are no hooks, which is no fault of the file.
  const file = path.join(folder, "settings.json");
  const asked = hook(home, ["status"]);
  assert.deepEqual([asked.status, asked.stderr], [1, ""]);
  assert.equal(asked.stdout, `${file}: not installed (there is no such file)\n`);
  assert.equal(JSON.parse(hook(home, ["status", "--json"]).stdout).state, "not installed");
  assert.match(hook(home, ["uninstall"]).stdout, /gone already, nothing was changed/);
  for (const args of [
    [],
    ["instal"],
    ["install", "x"],
    ["status", "--dry-run"],
    ["install", "--json"],
    ["--x"],
  ])
    assert.equal(hook(home, args).status, 2, args.join(" "));
  assert.deepEqual(fs.readdirSync(home), []);
});
