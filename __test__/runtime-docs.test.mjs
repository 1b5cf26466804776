// docs/runtime.md: its example runs, and its codes are those of the code.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { jsonRpcDriver } from "agent-lifecycle";
import { blocks, coded, rows, section } from "./support/markdown.mjs";

const root = path.dirname(import.meta.dirname);
const page = fs.readFileSync(path.join(root, "docs/runtime.md"), "utf8");
const source = [
  "registry",
  "open",
  "live-session",
  "harness",
  "json-rpc-driver",
  "native-binding",
  "session-requests",
]
  .map((name) => fs.readFileSync(path.join(root, `ts/runtime/${name}.ts`), "utf8"))
  .join("\n");

/** The codes that these functions are called with. */
const codes = (...names) =>
  new Set(
    names.flatMap((name) =>
      [...source.matchAll(new RegExp(`${name}\\(\\s*"([a-z_]+)"`, "g"))].map(([, code]) => code),
    ),
  );

test("the example opens a session, and opened again it is the same native session", (t) => {
  const folder = fs.mkdtempSync(path.join(root, "__test__", "example-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const [example] = blocks(page, "js");
  fs.writeFileSync(path.join(folder, "example.mjs"), example);
  const env = { ...process.env, HOME: folder, XDG_STATE_HOME: folder, LOCALAPPDATA: folder };
  for (let run = 0; run < 2; run += 1) {
    const { status, stdout, stderr } = spawnSync(process.execPath, ["example.mjs"], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
    assert.deepEqual([status, stdout, stderr], [0, "Hello.\ncompleted\n", ""]);
  }
  assert.equal(fs.readdirSync(path.join(folder, "sessions")).length, 1);
});

test("a program and its host run as they stand, and say what is said", (t) => {
  const folder = fs.mkdtempSync(path.join(root, "__test__", "example-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const text = section(page, "## A program as an adapter");
  const [program, host, ...more] = blocks(text, "js");
  assert.deepEqual(more, []);
  fs.writeFileSync(path.join(folder, "program.mjs"), program);
  fs.writeFileSync(path.join(folder, "host.mjs"), host);
  const env = { ...process.env, HOME: folder, XDG_STATE_HOME: folder, LOCALAPPDATA: folder };
  const { status, stdout, stderr } = spawnSync(process.execPath, ["host.mjs"], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  const [said, turn] = coded(/^It prints .*$/m.exec(text)[0]);
  assert.deepEqual([status, stdout, stderr], [0, `${said}\n${turn}\n`, ""]);
});

test("the options and the configuration of jsonRpcDriver are those of the code", () => {
  const table = rows(section(page, "## A program as an adapter"));
  const file = fs.readFileSync(path.join(root, "ts/runtime/json-rpc-driver.ts"), "utf8");
  const body = /export interface JsonRpcDriverOptions \{([\s\S]*?)\n\}/.exec(file)[1];
  const options = [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name]) => name);
  const { configSchema } = jsonRpcDriver({ adapterId: "one" });
  const named = table.map(([name]) => coded(name)[0]);
  assert.deepEqual(named, [...options, ...Object.keys(configSchema)]);
  const TYPES = { string: "text", strings: "list of texts" };
  for (const [name, type, usual] of table.slice(options.length)) {
    const field = configSchema[coded(name)[0]];
    assert.deepEqual([type, usual === "required"], [TYPES[field.type], field.required === true], name);
    if (field.required !== true) assert.deepEqual([usual, field.default], ["none", []], name);
  }
  const { capabilities, nativeTurnIds } = jsonRpcDriver({ adapterId: "one" });
  const [, , , ofCapabilities] = table[options.indexOf("capabilities")];
  assert.deepEqual(coded(ofCapabilities).slice(0, 5), Object.keys(capabilities));
  assert.ok(Object.values(capabilities).every((can) => can === false) && nativeTurnIds === false);
});

test("the options of openRuntimeSession are those of the code", () => {
  const file = fs.readFileSync(path.join(root, "ts/runtime/open.ts"), "utf8");
  const list = /const OPTIONS = \[([\s\S]*?)\] as const/.exec(file)[1];
  const options = [...list.matchAll(/"(\w+)"/g)].map(([, name]) => name);
  const table = rows(section(page, "## Opening")).slice(0, options.length);
  assert.deepEqual(
    table.map(([name]) => coded(name)[0]),
    options,
  );
  const body = /export interface OpenRuntimeSessionOptions \{([\s\S]*?)\n\}/.exec(file)[1];
  for (const [name, type, usual] of table) {
    const [word] = coded(name);
    const isRequired = new RegExp(`readonly ${word}: `).test(body);
    assert.equal(usual === "required", isRequired, word);
    if (type !== "milliseconds") continue;
    const [, number] = new RegExp(`timeOption\\(given\\.${word}, "${word}", ([\\d_]+)\\)`).exec(file);
    assert.equal(usual.replaceAll(",", ""), number.replaceAll("_", ""), word);
  }
  const modes = /const MODES[^=]*= \[(.*?)\]/.exec(file)[1];
  const ofMode = table.find(([name]) => name === "`mode`");
  assert.deepEqual(
    coded(ofMode[1]),
    [...modes.matchAll(/"(\w+)"/g)].map(([, mode]) => mode),
  );
});

test("the example of what is said of a native session prints what is said", () => {
  const text = section(page, "## Opening");
  const [example] = blocks(text, "js");
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", example], {
    cwd: root,
    encoding: "utf8",
  });
  const said = coded(/^It prints .*$/m.exec(text)[0]);
  assert.equal(stdout + stderr, `${said.join("\n")}\n`);
});

test("each code of an error is in the table, and no other", () => {
  const described = rows(section(page, "## Errors").split("### Diagnostics")[0]).flatMap(([, code]) =>
    coded(code ?? ""),
  );
  const inTable = new Set(described.filter((code) => /^[a-z_]+$/.test(code)));
  const thrown = codes(
    "refuse",
    "RegistrationError",
    "bindingError",
    "BindingError",
    "#fault",
    "ProtocolError",
    "#turnError",
    "violation",
    "CapabilityUnavailableError",
    "AvailabilityError",
  );
  // Said by an expression, and thrown by a name.
  for (const code of ["binding_missing", "binding_error"]) thrown.add(code);
  const warned = codes("#warn", "warn");
  const told = rows(section(page, "### Diagnostics")).flatMap(([code]) => coded(code));
  assert.deepEqual([...inTable].toSorted(), [...thrown].toSorted());
  assert.deepEqual(
    told.filter((code) => !warned.has(code) && code !== "not_published"),
    [],
  );
  assert.deepEqual(
    [...warned].filter((code) => !told.includes(code)),
    [],
  );
});
