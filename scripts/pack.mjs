// `npm run pack:tarballs [folder]`: builds the tarballs of the main package and of the platform package of this
// machine. It works on a copy: the manifest that is published names the platform packages as optional dependencies,
// which the one in the repository cannot, for `npm ci` would look for versions that are not published yet.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(import.meta.url);
require("./tools.cjs").check("build");
const { at, ensureAll, npm } = require("./setup.cjs");

const readJson = (file) => JSON.parse(fs.readFileSync(file, "utf8"));
const copy = (from, to) => fs.cpSync(from, to, { recursive: true });

/** The main package as it is published. */
function stageMain(stage) {
  const { scripts: _, devDependencies: __, napi: ___, ...manifest } = readJson(at("package.json"));
  const platforms = fs.readdirSync(at("npm")).map((name) => readJson(at("npm", name, "package.json")));
  manifest.optionalDependencies = Object.fromEntries(platforms.map(({ name, version }) => [name, version]));
  fs.mkdirSync(stage, { recursive: true });
  // npm adds README and LICENSE by itself.
  for (const name of [...manifest.files, "README.md", "LICENSE"]) {
    if (fs.existsSync(at(name))) copy(at(name), path.join(stage, name));
  }
  fs.writeFileSync(path.join(stage, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** The platform package of a binary that was built here, with the process guard that is in the binary beside it. */
function stagePlatform(stage, binary) {
  const [, platform] = binary.split(".");
  copy(at("npm", platform), stage);
  copy(at(binary), path.join(stage, binary));
  copy(at("LICENSE"), path.join(stage, "LICENSE"));
  const written = require(at(binary)).writeGuard(stage);
  if (written === null) throw new Error(`${binary} was built without the process guard`);
  const guard = platform.startsWith("win32") ? "agent-lifecycle-guard.exe" : "agent-lifecycle-guard";
  fs.renameSync(written, path.join(stage, guard));
  // Whoever may use the package may run it.
  fs.chmodSync(path.join(stage, guard), 0o755);
  const manifest = readJson(path.join(stage, "package.json"));
  manifest.files.push(guard);
  fs.writeFileSync(path.join(stage, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

function pack(stage, out) {
  const run = npm(["pack", "--json", "--ignore-scripts", "--pack-destination", out], {
    cwd: stage,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [{ filename, size, unpackedSize }] = JSON.parse(run.stdout);
  console.log(`${path.join(out, filename)} ${size} bytes, unpacked ${unpackedSize}`);
}

ensureAll();
const out = path.resolve(process.argv[2] ?? at("target", "pack"));
const stages = fs.mkdtempSync(path.join(at("target"), "stage-"));
try {
  fs.mkdirSync(out, { recursive: true });
  stageMain(path.join(stages, "main"));
  pack(path.join(stages, "main"), out);
  for (const binary of fs.readdirSync(at("target", "napi")).filter((name) => name.endsWith(".node"))) {
    const stage = path.join(stages, binary);
    stagePlatform(stage, binary);
    pack(stage, out);
  }
} finally {
  fs.rmSync(stages, { recursive: true });
}
