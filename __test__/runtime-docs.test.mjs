// docs/runtime.md: its example runs, and its codes are those of the code.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
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
