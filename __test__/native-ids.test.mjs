// Native ids are the harness's: no operation of a product takes one or finds anything by one, and none is ever a path. The code is searched
// for both: TypeScript by its types and by what flows from a native id, Rust by what flows within a file.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import ts from "typescript";

const root = path.dirname(import.meta.dirname);
/** How native ids are called, in either language. */
const NATIVE = /native(?:[A-Za-z]*)(?:Id|Ids)$|^native_(?:\w+_)?ids?$|^native_key$/;

const filesBelow = (folder, ending) =>
  fs
    .readdirSync(path.join(root, folder), { recursive: true })
    .filter((name) => name.endsWith(ending))
    .map((name) => path.join(folder, name));

// ---- Paths, TypeScript

/** What makes or uses a path. */
const MAKERS = /^(?:fs|fsp|path|posix|win32)$/;
const MODULES = /^(?:node:)?(?:fs|fs\/promises|path|path\/posix|path\/win32)$/;
const ALSO = new Set(["pathToFileURL", "makeStateFolder", "stateDirectory"]);

/**
 * The places of a program where something that comes from a native id goes into a path. It follows variables, assignments, templates,
 * destructuring, members and the parameters of functions whose declaration is known.
 */
function pathsOf(program, files) {
  const checker = program.getTypeChecker();
  /** Of a function's declaration, the numbers of the parameters that get one. */
  const parameters = new Map();
  let found = [];
  for (let before = -1; before !== countOf(parameters);) {
    before = countOf(parameters);
    found = files.flatMap((file) => flowsOf(program.getSourceFile(file), checker, parameters));
  }
  return found;
}

/** A program of one file. */
function programOf(text) {
  const file = ts.createSourceFile("a.ts", text, ts.ScriptTarget.Latest, true);
  const options = { noLib: true, noResolve: true };
  const host = ts.createCompilerHost(options);
  return ts.createProgram(["a.ts"], options, {
    ...host,
    getSourceFile: (name) => (name === "a.ts" ? file : undefined),
  });
}

const countOf = (parameters) => [...parameters.values()].reduce((sum, numbers) => sum + numbers.size, 0);

function flowsOf(file, checker, parameters) {
  const found = [];
  const makers = new Set();
  for (const statement of file.statements) {
    if (!ts.isImportDeclaration(statement) || !MODULES.test(statement.moduleSpecifier.text)) continue;
    const { name, namedBindings } = statement.importClause ?? {};
    if (name !== undefined) makers.add(name.text);
    if (namedBindings === undefined) continue;
    if (ts.isNamespaceImport(namedBindings)) makers.add(namedBindings.name.text);
    else for (const { name: imported } of namedBindings.elements) makers.add(imported.text);
  }
  const scope = (node, outer) => {
    // A name that comes from a native id is one in its function and in those within.
    const tainted = new Set(outer);
    const isTainted = (part) => {
      if (ts.isIdentifier(part)) return NATIVE.test(part.text) || tainted.has(part.text);
      if (ts.isStringLiteralLike(part)) return false;
      // A name that is asked about is not its value, and neither is a member that is only called like one.
      if (ts.isTypeNode(part) || ts.isFunctionLike(part)) return false;
      if (ts.isBinaryExpression(part) && /[=<>]/.test(part.operatorToken.getText())) {
        if (part.operatorToken.kind !== ts.SyntaxKind.EqualsToken) return false;
      }
      if (ts.isPropertyAssignment(part)) return isTainted(part.initializer);
      if (ts.isConditionalExpression(part)) return isTainted(part.whenTrue) || isTainted(part.whenFalse);
      return ts.forEachChild(part, (child) => isTainted(child) || undefined) ?? false;
    };
    const names = (binding) =>
      ts.isIdentifier(binding)
        ? [binding.text]
        : binding.elements.flatMap((element) => (element.name === undefined ? [] : names(element.name)));
    const own = parameters.get(node);
    for (const [at, { name }] of (node.parameters ?? []).entries())
      if (own?.has(at)) for (const one of names(name)) tainted.add(one);
    const visit = (part) => {
      if (part !== node && ts.isFunctionLike(part)) return scope(part, tainted);
      if (ts.isVariableDeclaration(part) && part.initializer !== undefined && isTainted(part.initializer)) {
        if (ts.isIdentifier(part.name)) tainted.add(part.name.text);
      }
      if (
        ts.isBindingElement(part) &&
        part.propertyName !== undefined &&
        NATIVE.test(part.propertyName.getText())
      )
        for (const one of names(part.name)) tainted.add(one);
      if (
        ts.isBinaryExpression(part) &&
        part.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
        isTainted(part.right)
      ) {
        const target = ts.isPropertyAccessExpression(part.left) ? part.left.name.text : part.left.getText();
        tainted.add(target);
      }
      if (ts.isCallExpression(part) || ts.isNewExpression(part)) {
        const callee = part.expression;
        const rootName = leftmost(callee);
        const last = ts.isPropertyAccessExpression(callee) ? callee.name.text : callee.getText();
        const isMaker = makers.has(rootName) || MAKERS.test(rootName) || ALSO.has(last) || last === "URL";
        for (const [at, argument] of (part.arguments ?? []).entries()) {
          if (!isTainted(argument)) continue;
          if (isMaker) {
            const { line } = file.getLineAndCharacterOfPosition(part.getStart());
            found.push({ place: `${file.fileName}:${line + 1}`, text: part.getText() });
          } else {
            const { declaration } = checker.getResolvedSignature(part) ?? {};
            if (declaration !== undefined)
              parameters.set(declaration, (parameters.get(declaration) ?? new Set()).add(at));
          }
        }
      }
      return ts.forEachChild(part, (child) => void visit(child));
    };
    visit(node);
  };
  scope(file, []);
  return found;
}

function leftmost(expression) {
  let part = expression;
  while (ts.isPropertyAccessExpression(part) || ts.isCallExpression(part) || ts.isNonNullExpression(part))
    part = part.expression;
  return part.getText();
}

test("the search finds a native id that becomes a path, by whatever way, and nothing else", () => {
  const head =
    'import fs from "node:fs";\nimport path from "node:path";\nimport { readFileSync as read } from "node:fs";\n';
  const is = [
    "function f(nativeSessionId) { return path.join('a', nativeSessionId); }",
    "function f(native) { return fs.readFileSync(native.nativeSessionId); }",
    "function f(native) { const { nativeSessionId: id } = native; return path.resolve(id); }",
    "function f(binding) { const file = `${binding.nativeSessionId}.json`; fs.rmSync(file); }",
    "function f(binding) { let name; name = binding.nativeSessionId; const other = name + 'x'; return read(other); }",
    "function g(name) { return path.join('a', name); } function f(nativeThreadId) { return g(nativeThreadId); }",
    "const g = (a, name) => fs.existsSync(name); class A { f({ nativeId }) { return g(1, String(nativeId)); } }",
    "class A { #file(id) { return path.join('a', id); } f(nativeSessionId) { return this.#file(nativeSessionId); } }",
    "function f(nativeSessionId) { return new URL(nativeSessionId, 'file:///a'); }",
    "function f(one) { return [one.nativeSessionId].map((id) => id) && path.join(...[one.nativeSessionId]); }",
  ];
  const isNot = [
    "function f(nativeSessionId) { return path.join('a', String(nativeSessionId === undefined)); }",
    "function f(nativeSessionId, directory) { send(nativeSessionId); return path.join(directory, 'a'); }",
    "function f(binding) { return binding.nativeSessionId !== undefined && fs.existsSync(binding.file); }",
    "const nativeSessionId = fs.readFileSync('a', 'utf8');",
  ];
  for (const code of is) assert.notDeepEqual(pathsOf(programOf(head + code), ["a.ts"]), [], code);
  for (const code of isNot) assert.deepEqual(pathsOf(programOf(head + code), ["a.ts"]), [], code);
});

const { config } = ts.readConfigFile(path.join(root, "tsconfig.json"), ts.sys.readFile);
const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, root);
const program = ts.createProgram(fileNames, options);

test("no native id is a path in the TypeScript of the package", () => {
  assert.ok(fileNames.includes(path.join(root, "ts/runtime/open.ts")) && fileNames.length > 60);
  const found = pathsOf(program, fileNames).map(({ place, text }) => ({
    place: path.relative(root, place),
    text,
  }));
  // The fake is a harness: the ids are its own, and what a host gives as one is checked against their form first.
  const others = found.filter(({ place }) => !place.startsWith("ts/testing/fake-adapter.ts:"));
  assert.deepEqual(others, []);
  assert.ok(found.length > 0, "the one place that there is was found");
  assert.match(
    fs.readFileSync(path.join(root, "ts/testing/fake-adapter.ts"), "utf8"),
    /NATIVE_ID\.test\(nativeSessionId\)\s*\?\s*this\.#file\(nativeSessionId\)/,
  );
});

// ---- What a product gives and gets

const checker = program.getTypeChecker();
const exported = new Map(
  checker
    .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(path.join(root, "ts/index.ts"))))
    .map((symbol) => [symbol.name, symbol]),
);
const typeOf = (name) => {
  const symbol = exported.get(name);
  assert.ok(symbol !== undefined, `${name} is exported`);
  return checker.getDeclaredTypeOfSymbol(
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
  );
};

/** The names of members and parameters of a type, at any depth, with where they are. Not of types of the language, nor of `without`. */
function namesOf(type, where, without = [], seen = new Set()) {
  const name = type.aliasSymbol?.name ?? type.symbol?.name;
  if (seen.has(type) || (seen.size > 0 && without.includes(name))) return [];
  seen.add(type);
  if (type.isUnionOrIntersection()) return type.types.flatMap((one) => namesOf(one, where, without, seen));
  const inside = [...(type.aliasTypeArguments ?? []), ...(checker.getTypeArguments?.(type) ?? [])].flatMap(
    (one) => namesOf(one, where, without, seen),
  );
  const declared = type.symbol?.declarations ?? [];
  const isOurs = declared.some((one) => one.getSourceFile().fileName.startsWith(path.join(root, "ts")));
  if (declared.length > 0 && !isOurs) return inside;
  const calls = type
    .getCallSignatures()
    .flatMap((signature) => [
      ...signature.parameters.flatMap((one) => [
        { name: one.name, where: `${where}(${one.name})` },
        ...namesOf(checker.getTypeOfSymbol(one), `${where}(${one.name})`, without, seen),
      ]),
      ...namesOf(signature.getReturnType(), `${where}()`, without, seen),
    ]);
  const members = type
    .getProperties()
    .flatMap((member) => [
      { name: member.name, where: `${where}.${member.name}` },
      ...namesOf(checker.getTypeOfSymbol(member), `${where}.${member.name}`, without, seen),
    ]);
  return [...inside, ...calls, ...members];
}

const nativeIn = (name, without) =>
  namesOf(typeOf(name), name, without).filter((one) => NATIVE.test(one.name));

test("nothing that a product gives or gets has a native id in it", () => {
  // What is handed through from the host's own configuration, not said of a session: the store, and the table of an adapter.
  const without = ["BindingRepository", "RuntimeDriver"];
  for (const name of [
    "OpenRuntimeSessionOptions",
    "RuntimeSession",
    "RuntimeSessionStatus",
    "RuntimePrompt",
    "RuntimeTurnResult",
    "RuntimeRegistry",
    "RuntimeInstanceInspection",
    "AgentRuntimeSemanticEvent",
    "ApprovalRequest",
    "UserInputRequest",
    "BindingInspection",
    "Row",
  ]) {
    assert.ok(namesOf(typeOf(name), name, without).length > 1, `${name} is looked through`);
    assert.deepEqual(nativeIn(name, without), [], name);
  }
  // It finds them where they are.
  for (const name of ["AdapterContext", "RuntimeDriver", "RuntimeSessionBinding"])
    assert.ok(nativeIn(name).length > 0, name);
});

test("a binding is found by its product session only", () => {
  const store = typeOf("BindingRepository");
  const takes = store.getProperties().map((method) => {
    const [signature] = checker.getTypeOfSymbol(method).getCallSignatures();
    const [first] = signature.parameters;
    const names = signature.parameters.flatMap((one) => [
      { name: one.name },
      ...namesOf(checker.getTypeOfSymbol(one), one.name),
    ]);
    const isAbout =
      first !== undefined &&
      (first.name === "productSessionId" || checker.getTypeOfSymbol(first).getProperty("productSessionId"));
    return {
      method: method.name,
      isAbout: isAbout !== undefined && isAbout !== false,
      isNative: names.some(({ name }) => NATIVE.test(name)),
    };
  });
  // What is written of a session may name its native one.
  const writes = ["create", "recordOrphan", "reserveNative", "update"];
  assert.deepEqual(
    takes
      .filter(({ isNative }) => isNative)
      .map(({ method }) => method)
      .toSorted(),
    writes,
  );
  const about = takes.filter(({ isAbout }) => isAbout).map(({ method }) => method);
  assert.deepEqual(about.toSorted(), [...writes, "claim", "get", "history", "inspect"].toSorted());
});

// ---- Paths, Rust

/** Comments and tests are no code that runs in the product. */
const rustOf = (text) =>
  text
    .replaceAll(/\/\/[^\n]*/g, "")
    // Of a text only the variables in it count.
    .replaceAll(
      /"(?:[^"\\]|\\.)*"/g,
      (whole) => `("", ${[...whole.matchAll(/\{(\w+)/g)].map(([, name]) => name).join(", ")})`,
    )
    .replace(/#\[cfg\(test\)\]\s*mod \w+ \{[\s\S]*/, "");

const RUST_PATH =
  /\b(?:Path|PathBuf|OsString|OsStr|File|OpenOptions)\b|\bfs::|\.(?:push|join|with_file_name|with_extension|set_file_name|canonicalize)\(/;
const RUST_NATIVE =
  /\b(?:native_id|native_session_id|native_turn_id|native_item_id|native_event_id|native_request_id|native_key|NativeId)\b/;

/** Statements in which a native id, or a variable that was made from one, meets a path. */
function rustPathsOf(text) {
  const statements = rustOf(text).split(/[;{}]/);
  const tainted = new Set();
  const isNative = (statement) =>
    RUST_NATIVE.test(statement) ||
    (statement.match(/\b[a-z_]\w*\b/g) ?? []).some((word) => tainted.has(word));
  for (let before = -1; before !== tainted.size;) {
    before = tainted.size;
    for (const statement of statements) {
      const name = /\blet\s+(?:mut\s+)?([a-z_]\w*)[^=]*=(?!=)/.exec(statement)?.[1];
      if (name !== undefined && isNative(statement.slice(statement.indexOf("=")))) tainted.add(name);
    }
  }
  return statements
    .filter((statement) => isNative(statement) && RUST_PATH.test(statement))
    .map((one) => one.trim());
}

test("no native id is a path in the Rust of the package", () => {
  for (const code of [
    "let a = folder.join(&binding.native_session_id);",
    'let name = format!("{native_id}.json"); let file = File::open(name);',
    "fn f(native_session_id: &str) -> PathBuf { Path::new(native_session_id).to_owned() }",
  ])
    assert.notDeepEqual(rustPathsOf(code), [], code);
  assert.deepEqual(
    rustPathsOf("let a = folder.join(name); row.set(native_id); // native_id in folder.join(x)"),
    [],
  );

  const files = ["crates/core/src", "crates/io/src", "crates/guard/src", "src"].flatMap((folder) =>
    filesBelow(folder, ".rs"),
  );
  const runtime = files.filter((name) => RUST_NATIVE.test(fs.readFileSync(path.join(root, name), "utf8")));
  assert.ok(
    runtime.some((name) => name.includes("binding_store")),
    "files that have native ids are looked through",
  );
  const found = runtime
    // There `native_id` is a check of ids in agents' own journals, which are found by what is on the disk.
    .filter(
      (name) => !/crates\/(?:io\/src\/(?:titles|discover|monitor\/spool)|core\/src\/providers\/)/.test(name),
    )
    .flatMap((name) =>
      rustPathsOf(fs.readFileSync(path.join(root, name), "utf8")).map((text) => ({ name, text })),
    );
  assert.deepEqual(found, []);
});
