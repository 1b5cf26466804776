// Several host processes over one store: one has a session, the others are told so, and take it over when that one is dead.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, mark, marked, noneMarked, runtimeHome } from "./support/runtime-hosts.mjs";
import { skip } from "./support/runtime-kills.mjs";

const scriptOf = (place, id) => ({ turns: [answer("turn {turns}")], sessions: place.sessionsOf(id) });

test("two hosts that open one session at once: one has it, and the other is told that it is owned", async (t) => {
  const place = runtimeHome(t);
  const hosts = await Promise.all([place.host(), place.host()]);
  await Promise.all(hosts.map((host) => host.until(({ ready }) => ready !== undefined)));
  const bound = [];
  for (const [modes, isNew] of [
    [["normal", "normal"], true],
    [["normal", "repair"], true],
    [["normal", "rebind"], true],
    [["rebind", "rebind"], true],
    [["normal", "normal"], false],
    [["repair", "normal"], false],
    [["repair", "repair"], false],
    [["rebind", "normal"], false],
    [["rebind", "repair"], false],
    [["rebind", "rebind"], false],
  ]) {
    const id = `ps_${bound.length}`;
    bound.push(id);
    const script = scriptOf(place, id);
    if (!isNew) {
      await hosts[0].do(id, "open", { script });
      await hosts[0].do(id, "dispose");
    }
    const before = isNew ? undefined : await place.stored((store) => store.get(id));
    const outcomes = await Promise.all(
      hosts.map((host, at) => host.ask(id, "open", { script, mode: modes[at] })),
    );
    const what = `${modes} of a ${isNew ? "new" : "bound"} session: ${JSON.stringify(outcomes)}`;
    const winner = outcomes.findIndex(({ done }) => done === "open");
    assert.equal(outcomes[1 - winner]?.code, "binding_owned", what);
    const { nativeSessionId, generation, state } = await place.stored((store) => store.get(id));
    assert.deepEqual([state, generation], ["bound", (before?.generation ?? 0) + 1], what);
    const isSame = before !== undefined && modes[winner] !== "rebind";
    if (isSame) assert.equal(nativeSessionId, before.nativeSessionId, what);
    assert.equal(place.made(id), isNew || isSame ? 1 : 2, what);
    // Nor can the other take it from a living one, in no mode.
    for (const mode of ["normal", "repair", "rebind"]) {
      const again = await hosts[1 - winner].ask(id, "open", { script, mode });
      assert.equal(again.code, "binding_owned", mode);
    }
    assert.equal((await hosts[winner].do(id, "prompt")).status, "completed", what);
    await hosts[winner].do(id, "dispose");
    await hosts[1 - winner].do(id, "open", { script });
    assert.equal(
      (await place.stored((store) => store.get(id))).nativeSessionId,
      nativeSessionId,
      "given back, the other opens the same native session",
    );
    await hosts[1 - winner].do(id, "dispose");
  }
  for (const host of hosts) assert.deepEqual(await host.end(), { code: 0, signal: null });
  assert.deepEqual(place.generations(), []);
});

test(
  "a host that is killed loses its session to one that runs already, with all that it had",
  { skip },
  async (t) => {
    const place = runtimeHome(t);
    const names = Array.from({ length: 4 }, (_, at) => ({ id: `ps_${at}`, mark: mark() }));
    const hosts = await Promise.all([place.host(), place.host()]);
    // Both have had a session, so that what is done once in the life of a host is done.
    for (const [at, host] of hosts.entries()) {
      await host.do(`ps_own_${at}`, "open", { script: scriptOf(place, "own") });
    }
    for (const one of names)
      await hosts[0].do(one.id, "open", { script: scriptOf(place, one.id), mark: one.mark });
    const before = await place.stored((store) => store.list());
    for (const { id } of names) {
      const refused = await hosts[1].ask(id, "open", { script: scriptOf(place, id) });
      assert.equal(refused.code, "binding_owned");
    }
    // One that is only stopped is not dead.
    process.kill(hosts[0].pid, "SIGSTOP");
    for (const mode of ["normal", "repair", "rebind"]) {
      const refused = await hosts[1].ask("ps_0", "open", { script: scriptOf(place, "ps_0"), mode });
      assert.equal(refused.code, "binding_owned");
    }
    assert.ok(names.every((one) => marked(one.mark).length >= 3));
    await hosts[0].kill();
    for (const { id } of names) await hosts[1].do(id, "open", { script: scriptOf(place, id) });
    const after = await place.stored((store) => store.list());
    for (const { id } of names) {
      const [was, is] = [before, after].map((all) => all.find((one) => one.productSessionId === id));
      assert.deepEqual([is.nativeSessionId, is.generation], [was.nativeSessionId, was.generation + 1]);
      assert.equal((await hosts[1].do(id, "prompt")).status, "completed");
    }
    for (const one of names) await noneMarked(one.mark);
    assert.equal(place.generations().length, names.length + 1, "no folder of the dead host is left");
    assert.deepEqual(await hosts[1].end(), { code: 0, signal: null });
    assert.deepEqual(place.generations(), []);
  },
);
