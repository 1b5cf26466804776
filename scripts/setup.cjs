"use strict";
// Sets up what is missing and nothing else: packages, the addon, the TypeScript build. Each has a stamp, the hash of
// what it is made from; the same hash and the files in place mean that there is nothing to do.

const { spawnSync } = require("node:child_process");
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const { output, root } = require("./tools.cjs");

const at = (...parts) => path.join(root, ...parts);
/** Where `napi build` writes; the drift check compares what it finds there with the committed files. */
const GENERATED = at("target", "napi");
// The manifests too: native.js holds the name and the version of the package.
const ADDON_SOURCES = [
  "Cargo.toml",
  "Cargo.lock",
  ".cargo/config.toml",
  "build.rs",
  "src",
  "package.json",
  "package-lock.json",
];

/** Runs a command in the repository, its output shown, and throws where it fails. */
function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: "inherit", encoding: "utf8", ...options });
  if (result.error) throw result.error;
  if (result.status !== 0) {
    throw new Error(`${path.basename(command)} ended with ${result.signal ?? `exit code ${result.status}`}`);
  }
  return result;
}

/** Runs npm: the one that runs this script, where there is one. */
function npm(args, options) {
  const script = process.env.npm_execpath;
  return script ? run(process.execPath, [script, ...args], options) : run("npm", args, options);
}

/** Runs the command of an installed package, without a shell and without npx. */
function runPackage(name, args, command = name) {
  run(process.execPath, [packageBin(name, command), ...args]);
}

/** The script behind the command of an installed package. */
function packageBin(name, command = name) {
  const { bin } = JSON.parse(fs.readFileSync(at("node_modules", name, "package.json"), "utf8"));
  return at("node_modules", name, typeof bin === "string" ? bin : bin[command]);
}

function filesUnder(entry) {
  if (!fs.existsSync(at(entry))) return [];
  if (!fs.statSync(at(entry)).isDirectory()) return [entry];
  return fs
    .readdirSync(at(entry))
    .toSorted()
    .flatMap((name) => filesUnder(`${entry}/${name}`));
}

function hash(entries, more = "") {
  const sum = createHash("sha256").update(more);
  for (const file of entries.flatMap(filesUnder)) {
    const bytes = fs.readFileSync(at(file));
    sum.update(`\0${file}\0${bytes.length}\0`).update(bytes);
  }
  return sum.digest("hex");
}

/** Makes something unless its stamp and its files say that it is made. */
function ensure({ stamp, sum, products, make, title }) {
  const made = fs.existsSync(stamp) && fs.readFileSync(stamp, "utf8") === sum;
  if (made && products.every((file) => fs.existsSync(file))) return;
  console.log(`set-up: ${title}`);
  fs.rmSync(stamp, { force: true });
  make();
  fs.mkdirSync(path.dirname(stamp), { recursive: true });
  fs.writeFileSync(stamp, sum);
}

function ensurePackages() {
  ensure({
    title: "npm packages",
    // Within node_modules, so that it goes when they go.
    stamp: at("node_modules", ".agent-lifecycle-stamp"),
    sum: hash(["package-lock.json"], process.version),
    products: [],
    make() {
      npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
    },
  });
}

/** The addon in the release profile: the one that is tested is the one that is published. */
function ensureAddon({ locked = true } = {}) {
  // All of a crate but its tests: a source may include data that lies beside it.
  const crates = fs.readdirSync(at("crates")).flatMap((crate) =>
    fs
      .readdirSync(at("crates", crate))
      .filter((name) => !["benches", "tests"].includes(name))
      .map((name) => `crates/${crate}/${name}`),
  );
  const binary = fs.existsSync(GENERATED)
    ? fs.readdirSync(GENERATED).filter((name) => name.endsWith(".node"))
    : [];
  ensure({
    title: "the addon",
    stamp: at("target", "stamps", "addon"),
    sum: hash([...ADDON_SOURCES, ...crates], output("rustc", ["-vV"])),
    products: [
      ...["native.js", "native.d.ts", "npm"].map((name) => path.join(GENERATED, name)),
      ...binary.map((name) => at(name)),
    ],
    make() {
      fs.rmSync(GENERATED, { recursive: true, force: true });
      const args = ["build", "--platform", "--release", "--output-dir", GENERATED];
      runPackage(
        "@napi-rs/cli",
        [...args, "--js", "native.js", "--dts", "native.d.ts", ...(locked ? ["--", "--locked"] : [])],
        "napi",
      );
      runPackage("@napi-rs/cli", ["create-npm-dirs", "--npm-dir", path.join(GENERATED, "npm")], "napi");
      for (const name of fs.readdirSync(GENERATED)) {
        // By rename: a running process may have the old one mapped.
        if (name.endsWith(".node")) {
          fs.copyFileSync(path.join(GENERATED, name), at(`${name}.new`));
          fs.renameSync(at(`${name}.new`), at(name));
        }
      }
    },
  });
}

/** What `tsc` writes, below the repository: of every source the code and its types. */
function distFiles() {
  const sources = filesUnder("ts").filter((file) => /(?<!\.d)\.ts$/.test(file));
  return sources.flatMap((file) =>
    [".js", ".d.ts"].map((end) => path.join("dist", file.slice("ts/".length, -".ts".length) + end)),
  );
}

function ensureDist() {
  ensure({
    title: "the TypeScript build",
    stamp: at("target", "stamps", "dist"),
    sum: hash(["ts", "tsconfig.json", "native.d.ts", "package-lock.json"]),
    products: distFiles().map((file) => at(file)),
    make() {
      fs.rmSync(at("dist"), { recursive: true, force: true });
      runPackage("typescript", ["--project", "tsconfig.json"], "tsc");
    },
  });
}

/** What is generated and committed: the loader, its types and the manifests of the platform packages. */
function generatedFiles() {
  return filesUnder("target/napi")
    .map((file) => path.posix.relative("target/napi", file))
    .filter((file) => !file.endsWith(".node"));
}

/** Writes the generated files where they are committed. */
function writeGenerated() {
  for (const file of generatedFiles()) {
    fs.mkdirSync(path.dirname(at(file)), { recursive: true });
    fs.copyFileSync(path.join(GENERATED, file), at(file));
  }
}

function isCurrent(file) {
  return (
    fs.existsSync(at(file)) && fs.readFileSync(path.join(GENERATED, file)).equals(fs.readFileSync(at(file)))
  );
}

/** Fails where the committed files are not what the generator writes today. */
function checkDrift() {
  const generated = generatedFiles();
  const drifted = [
    ...generated.filter((file) => !isCurrent(file)),
    ...filesUnder("npm").filter((file) => !file.endsWith(".node") && !generated.includes(file)),
  ];
  if (drifted.length > 0) {
    throw new Error(`not what the generator writes: ${drifted.join(", ")}: run \`npm run build\` and commit`);
  }
}

function ensureAll() {
  ensurePackages();
  ensureAddon();
  ensureDist();
}

module.exports = {
  at,
  checkDrift,
  distFiles,
  ensureAddon,
  ensureAll,
  ensureDist,
  ensurePackages,
  npm,
  packageBin,
  run,
  runPackage,
  writeGenerated,
};
