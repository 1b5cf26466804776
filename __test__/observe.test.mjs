// The driver of JSONL sessions: each sentence of docs/agent-events.md, "How a session is observed".
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { createAgentLifecyclePublisher, observeJsonlSession } from "agent-lifecycle";
import * as host from "./support/seed-host.mjs";
import { append, binding, child, lines, session, until, watcher } from "./support/watchers.mjs";

const publish = createAgentLifecyclePublisher(() => undefined);

/** Observes with a mapper that keeps `[journal, generation, record]` of each record. */
function observing(source, { options, map, ...rest } = {}) {
  const seen = [];
  const diagnostics = [];
  const mapRecord = async (record, context) => {
    seen.push([context.journal.childId ?? "root", context.generation, record]);
    await map?.(record, context, seen);
  };
  const done = observeJsonlSession(session(source, mapRecord, options), {
    publish,
    onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
    ...rest,
  });
  done.catch(() => undefined);
  return { seen, diagnostics, done };
}

const codes = (diagnostics) => diagnostics.map(({ code }) => code);
const of = (seen, name) => seen.filter(([journal]) => journal === name).map(([, , record]) => record);
const range = (from, to) => Array.from({ length: to - from }, (_, at) => from + at);

test("records are mapped once, in order and awaited, with their context", async () => {
  const root = watcher(append(1, 2), append(3)).end();
  let running = 0;
  const contexts = [];
  const { seen, diagnostics, done } = observing(root, {
    async map(_, context) {
      running += 1;
      assert.equal(running, 1);
      await new Promise(setImmediate);
      running -= 1;
      contexts.push(context);
    },
  });
  await done;
  assert.deepEqual(seen, [
    ["root", 0, 1],
    ["root", 0, 2],
    ["root", 0, 3],
  ]);
  const [context] = contexts;
  assert.deepEqual(Object.keys(context), ["binding", "journal", "publish", "signal", "generation"]);
  assert.equal(context.binding, binding);
  assert.deepEqual(context.journal, { role: "root" });
  assert.equal(context.publish, publish);
  assert.equal(context.signal.aborted, true, "the signal ends with the observation");
  assert.deepEqual(diagnostics, []);
  assert.equal(root.disposed, 1);
});

test("a source may be a promise, and publish may be a sink", async () => {
  const root = watcher(append("t1")).end();
  const events = [];
  const declared = session(Promise.resolve(root), (turnId, context) =>
    context.publish.turnStarted({ turnId }),
  );
  await observeJsonlSession(declared, { publish: (event) => events.push(event) });
  assert.deepEqual(events, [{ kind: "turn.started", turnId: "t1" }]);
  assert.equal(root.disposed, 1);
});

test("a record that is split over chunks is carried, whatever their size", async () => {
  const bytes = Buffer.from('{"a":"é"}\n[1,2]\n"😀"\n');
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const chunks = [];
    for (let at = 0; at < bytes.length; at += size) {
      chunks.push({ type: "append", bytes: bytes.subarray(at, at + size) });
    }
    const { seen, done } = observing(watcher(...chunks).end());
    await done;
    assert.deepEqual(of(seen, "root"), [{ a: "é" }, [1, 2], "😀"], `${size}`);
  }
});

test("no more than the chunk that is mapped has been asked for", async () => {
  const root = watcher(append(1, 2), append(3), append(4)).end();
  const asked = [];
  await observing(root, { map: () => asked.push(root.asked) }).done;
  assert.deepEqual(asked, [1, 1, 2, 3]);
});

for (const type of ["replace", "truncate"]) {
  test(`after ${type} equal records are not mapped again, and the first other one begins a generation`, async () => {
    const partial = { type: "append", bytes: Buffer.from('{"never":"wel') };
    const { seen, diagnostics, done } = observing(
      watcher(
        append("a", "b", "c"),
        partial,
        lines(type, "a"),
        append("b"),
        append("x", "c"),
        append("d"),
        // Once more the same: nothing. Then more: it is appended.
        lines(type, "a", "b", "x", "c", "d"),
        append("e"),
        lines(type, "y"),
        lines(type),
        append("y", "z"),
      ).end(),
    );
    await done;
    assert.deepEqual(
      seen.map(([, generation, record]) => `${generation}${record}`),
      ["0a", "0b", "0c", "1x", "1c", "1d", "1e", "2y", "2z"],
    );
    assert.deepEqual(diagnostics, []);
  });
}

test("a journal that became shorter and goes on with what it had is not mapped again", async () => {
  const { seen, done } = observing(
    watcher(append("a", "b", "c"), lines("truncate", "a"), append("b"), append("c", "d")).end(),
  );
  await done;
  assert.deepEqual(of(seen, "root"), ["a", "b", "c", "d"]);
});

test("a record that fails costs itself, and 100 in a row their journal", async () => {
  const failing = new Error("no");
  const root = watcher(append(...range(0, 250))).end();
  const { seen, diagnostics, done } = observing(root, {
    map(record) {
      // 99, then a success, then 100.
      if (record !== 99 && record < 200) {
        if (record % 2 === 0) throw failing;
        return Promise.reject(failing);
      }
    },
  });
  await assert.rejects(done, { name: "LifecycleError", code: "journal_stopped", cause: failing });
  assert.equal(seen.length, 200);
  assert.deepEqual(codes(diagnostics), [...Array(199).fill("record_failed"), "journal_stopped"]);
  const { journal, offset, error } = diagnostics[11];
  // 0 to 9 take two bytes each.
  assert.deepEqual([journal, offset, error], [{ role: "root" }, 23, failing]);
  assert.equal(root.disposed, 1);
});

test("a mapped record that failed is not mapped again after a replace", async () => {
  const { seen, done } = observing(watcher(append(1, 2), lines("replace", 1, 2)).end(), {
    map() {
      throw new Error("no");
    },
  });
  await done;
  assert.deepEqual(of(seen, "root"), [1, 2]);
});

test("a child that stops leaves the others alone", async () => {
  const children = ["bad", "broken", "good"].map((id) =>
    child(
      id,
      id === "broken" ? watcher(append(1), new Error("gone")) : watcher(append(...range(0, 120))).end(),
    ),
  );
  const { seen, diagnostics, done } = observing(watcher(append("r")).end(), {
    options: { childSources: children },
    map(_, { journal }) {
      if (journal.childId === "bad") throw new Error("no");
    },
  });
  await done;
  assert.equal(of(seen, "bad").length, 100);
  assert.deepEqual(of(seen, "good"), range(0, 120));
  const stopped = diagnostics.filter(({ code }) => code === "journal_stopped");
  assert.deepEqual(stopped.map(({ journal }) => journal.childId).toSorted(), ["bad", "broken"]);
  for (const { source } of children) assert.equal(source.disposed, 1);
});

test("children start after the root's first chunk, and run beside it", async () => {
  const root = watcher();
  const one = watcher(append("c1"));
  const { seen, done } = observing(root, { options: { childSources: [child("one", one)] } });
  await until(() => root.asked === 1);
  assert.equal(one.asked, 0);
  root.push(append("r1"));
  await until(() => seen.length === 2);
  one.push(append("c2"));
  await until(() => seen.length === 3);
  root.push(append("r2"));
  await until(() => seen.length === 4);
  assert.deepEqual(
    seen.map(([, , record]) => record),
    ["r1", "c1", "c2", "r2"],
  );
  root.end();
  one.end();
  await done;
});

test("children of a root that ends without a chunk are read", async () => {
  const { seen, done } = observing(watcher().end(), {
    options: { childSources: [child("one", watcher(append(1)).end())] },
  });
  await done;
  assert.deepEqual(seen, [["one", 0, 1]]);
});

test("discovered children start once per childId, at most 64 live, and a further one waits", async () => {
  const sources = range(0, 70).map((at) => watcher(append(at)));
  let yielded = 0;
  async function* discovery() {
    for (const [at, source] of sources.entries()) {
      yielded += 1;
      yield child(`c${at}`, source);
      yield child(`c${at}`, source);
    }
  }
  const declared = watcher(append("d"));
  const { seen, diagnostics, done } = observing(watcher(append("r")).end(), {
    options: { childSources: [child("declared", declared)], childSourceDiscovery: discovery() },
  });
  await until(() => seen.length === 65);
  await new Promise(setImmediate);
  assert.equal(yielded, 64, "the 65th child waits, and nothing behind it was asked for");
  assert.equal(sources.filter(({ asked }) => asked > 0).length, 63);
  declared.end();
  await until(() => seen.length === 66);
  for (const source of sources) source.end();
  await done;
  assert.equal(seen.length, 72);
  assert.deepEqual(diagnostics, []);
  for (const source of sources) assert.equal(source.disposed, 1);
});

async function* oddDiscovery() {
  yield { childId: "", journal: { id: "j" }, source: watcher() };
  yield { childId: "c", journal: {}, source: watcher() };
  yield child("good", watcher(append(1)).end());
  throw new Error("gone");
}

test("a discovery may be a promise; what is no child is refused, and one that fails costs nothing else", async () => {
  const { seen, diagnostics, done } = observing(watcher(append("r")).end(), {
    options: { childSourceDiscovery: Promise.resolve(oddDiscovery()) },
  });
  await done;
  assert.deepEqual(of(seen, "good"), [1]);
  assert.deepEqual(codes(diagnostics), ["child_refused", "child_refused", "discovery_failed"]);
});

test("a discovery that finds nothing more does not outlast the journals", async () => {
  let returned = 0;
  const discovery = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => undefined),
      return: async () => ({ done: true, value: (returned += 1) }),
    }),
  };
  const { diagnostics, done } = observing(watcher(append("r")).end(), {
    options: { childSourceDiscovery: discovery },
  });
  await done;
  assert.equal(returned, 1);
  assert.deepEqual(codes(diagnostics), ["discovery_closed"]);
});

test("cancelled before it begins, nothing is acquired", async () => {
  const root = watcher(append(1));
  const reason = new Error("enough");
  const { seen, done } = observing(root, { signal: AbortSignal.abort(reason) });
  await assert.rejects(done, reason);
  assert.deepEqual([root.asked, root.disposed, seen.length], [0, 0, 0]);
});

test("cancelled between records, the next is not mapped, and each watcher is disposed once", async () => {
  const abort = new AbortController();
  const reason = new Error("enough");
  const root = watcher(append(1, 2, 3), append(4));
  const one = watcher(append(5));
  const { seen, diagnostics, done } = observing(root, {
    signal: abort.signal,
    options: { childSources: [child("one", one)] },
    map(record, { signal }) {
      if (record !== 2) return;
      abort.abort(reason);
      assert.equal(signal.aborted, true);
      throw new Error("cancelled work");
    },
  });
  await assert.rejects(done, reason);
  assert.deepEqual(of(seen, "root"), [1, 2]);
  assert.deepEqual([root.disposed, one.disposed, one.asked], [1, 0, 0]);
  assert.deepEqual(diagnostics, []);
});

test("cancelled while it waits for chunks, it rejects at once", async () => {
  const abort = new AbortController();
  const root = watcher(append(1));
  const one = watcher(append(2));
  let resolveLate;
  const late = new Promise((resolve) => {
    resolveLate = resolve;
  });
  const { seen, done } = observing(root, {
    signal: abort.signal,
    options: { childSources: [child("one", one), child("late", late)] },
  });
  await until(() => seen.length === 2);
  abort.abort();
  await assert.rejects(done, { name: "AbortError" });
  assert.deepEqual([root.disposed, one.disposed], [1, 1]);
  const comes = watcher();
  resolveLate(comes);
  await until(() => comes.disposed === 1);
  assert.equal(comes.asked, 0);
});

test("a signal that cannot call is asked", async () => {
  const signal = {
    aborted: false,
    throwIfAborted() {
      if (this.aborted) throw new Error("by hand");
    },
  };
  const root = watcher(append(1));
  let given;
  const { seen, done } = observing(root, { signal, map: (_, context) => (given = context.signal) });
  await until(() => seen.length === 1);
  assert.equal(given.aborted, false);
  signal.aborted = true;
  assert.equal(given.aborted, true);
  assert.throws(() => given.throwIfAborted(), /by hand/);
  // Asking keeps no script alive, so the test does.
  await until(() => root.disposed === 1);
  await assert.rejects(done, /by hand/);
});

test("a root that cannot be acquired or read rejects, and starts no child", async () => {
  const one = watcher(append(1)).end();
  const options = { childSources: [child("one", one)] };
  for (const source of [Promise.reject(new Error("no file")), watcher(new Error("no file"))]) {
    const { diagnostics, done } = observing(source, { options });
    await assert.rejects(done, /no file/);
    assert.deepEqual(codes(diagnostics), ["journal_stopped"]);
  }
  assert.equal(one.asked, 0);
});

test("lines that are no record are reported with their place, and so is a torn end", async () => {
  const bytes = Buffer.from('1\nnot json\n2\n\n{"a":');
  const { seen, diagnostics, done } = observing(watcher({ type: "append", bytes }).end());
  await done;
  assert.deepEqual(of(seen, "root"), [1, 2]);
  assert.deepEqual(
    diagnostics.map(({ code, offset, error }) => [code, offset, error.code]),
    [
      ["malformed", 2, "malformed"],
      ["truncated", 14, "truncated"],
    ],
  );
});

test("of many faults in a chunk the last are named and the others counted", async () => {
  const bytes = Buffer.from("x\n".repeat(50));
  const { diagnostics, done } = observing(watcher({ type: "append", bytes }).end());
  await done;
  assert.equal(diagnostics.length, 33);
  assert.equal(diagnostics[0].code, "more_faults");
  assert.match(diagnostics[0].error.message, /^18 more/);
});

test("a chunk that is none stops its journal", async () => {
  for (const chunk of [
    { type: "add", bytes: Buffer.from("1\n") },
    { type: "append", bytes: 5 },
  ]) {
    const root = watcher(chunk);
    const { done } = observing(root);
    await assert.rejects(done, { code: "invalid_chunk" });
    assert.equal(root.disposed, 1);
  }
});

test("an iterable without dispose is ended, and what disposing throws is reported", async () => {
  let ended = 0;
  async function* source() {
    try {
      yield append(1);
      yield append(2);
    } finally {
      ended += 1;
    }
  }
  const abort = new AbortController();
  await assert.rejects(observing(source(), { signal: abort.signal, map: () => abort.abort() }).done);
  assert.equal(ended, 1);
  const root = watcher(append(1)).end();
  root.dispose = () => {
    throw new Error("held");
  };
  const { diagnostics, done } = observing(root);
  await done;
  assert.deepEqual(codes(diagnostics), ["dispose_failed"]);
});

test("without onDiagnostic the first fault of a code is a warning, and what onDiagnostic throws is one", async () => {
  const failing = session(watcher(append(1, 2)).end(), () => {
    throw new Error("no");
  });
  const warned = once(process, "warning");
  await observeJsonlSession(failing, { publish });
  const [{ message }] = await warned;
  assert.match(message, /record_failed: no/);
  const again = once(process, "warning");
  const thrower = session(watcher(append(1)).end(), failing.mapRecord);
  await observeJsonlSession(thrower, {
    publish,
    onDiagnostic() {
      throw new Error("the host's fault");
    },
  });
  assert.match((await again)[0].message, /the host's fault/);
});

test("arguments are refused by name", async () => {
  const good = session(watcher(), () => undefined);
  for (const [args, path] of [
    [[undefined, { publish }], "session"],
    [[{}, { publish }], "session"],
    [[good], "publish"],
    [[good, { publish: {} }], "publish"],
    [[good, { publish, maxRecordBytes: "1" }], "maxRecordBytes"],
    [[good, { publish, maxRecordBytes: Number.NaN }], "maxRecordBytes"],
  ]) {
    await assert.rejects(observeJsonlSession(...args), { name: "LifecycleError", path });
  }
  assert.equal(good.source.asked, 0);
});

const toldJournal = () =>
  watcher(
    append({ type: "turn_started" }, { type: "tool_started" }),
    append({ type: "tool_started", tool: "Bash" }, { type: "other" }, { type: "complete" }),
    lines("replace", { type: "turn_started" }),
  ).end();

const kinds = (events) => events.map(({ kind }) => kind);

test("a host that knows only the public page runs, by hand and under the driver", async () => {
  const told = ["turn.started", "tool.started", "agent.done"];
  // Without a driver what is rewritten is mapped again.
  assert.deepEqual(kinds(await host.observeByHand(toldJournal(), binding)), [...told, "turn.started"]);
  const events = [];
  const declared = { state: "bound", binding, source: toldJournal(), mapRecord: host.mapRecord };
  await observeJsonlSession(declared, {
    publish: createAgentLifecyclePublisher((event) => void events.push(event)),
  });
  assert.deepEqual(kinds(events), told);
});
