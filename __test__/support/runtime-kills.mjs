// `kill -9` of a host at a step, and what another host finds and makes of it.
import assert from "node:assert/strict";
import { answer, mark, marked, noneMarked, runtimeHome } from "./runtime-hosts.mjs";

/** Descendants are found in /proc. */
export const skip = process.platform === "linux" ? false : "processes are looked for in /proc";

const NEVER_BOUND = ["created", "claimed", "released", "freed", "orphaned"];

/**
 * Kills a host at the step of each case, and then lets one new host open all their sessions.
 *
 * @param cases `{name, stop, script, isResumed, moves(host, id), binding, made}`: `binding` is the state that the killed host may
 *   have left, of `none`, `unbound` and `bound`; `made` the most native sessions that the harness has then.
 */
export async function killAndRecover(t, cases) {
  const place = runtimeHome(t);
  const numbered = cases.map((one, at) => ({ ...one, id: `ps_${at}`, mark: mark() }));
  const scriptOf = ({ id, script }) => ({
    turns: [answer("first")],
    ...script,
    sessions: place.sessionsOf(id),
  });
  const resumed = numbered.filter(({ isResumed }) => isResumed);
  const first = await place.host();
  for (const { id } of resumed) {
    await first.do(id, "open", { script: { turns: [answer("first")], sessions: place.sessionsOf(id) } });
    await first.do(id, "dispose");
  }
  assert.deepEqual(await first.end(), { code: 0, signal: null });

  const found = new Map();
  const kill = async (one) => {
    const before = await place.stored((store) => store.get(one.id));
    const host = await place.host(one.stop);
    const opened = await host.ask(one.id, "open", { script: scriptOf(one), mark: one.mark });
    if (opened?.done === "open") await one.moves?.(host, one.id);
    assert.deepEqual(
      await host.closed,
      { code: null, signal: "SIGKILL" },
      `${one.name}: the step ${one.stop} was met`,
    );
    await noneMarked(one.mark);
    found.set(one.id, {
      before,
      made: place.made(one.id),
      folders: place.generations().length,
      after: await place.stored((store) => store.get(one.id)),
      owner: await place.stored(async (store) => (await store.inspect(one.id))?.owner?.status),
    });
  };
  // Two at a time.
  const waiting = [...numbered];
  const worker = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await kill(one);
  };
  await Promise.all([worker(), worker()]);
  assert.ok(
    [...found.values()].some(({ folders }) => folders > 0),
    "something was left that can be removed",
  );

  const next = await place.host();
  const live = new Map();
  for (const one of numbered) {
    const script = { turns: [answer("again {turns}")], sessions: place.sessionsOf(one.id) };
    live.set(one.id, await next.do(one.id, "open", { script, mark: `again-${one.mark}` }));
  }
  const left = await next.do("ps_0", "generations");
  assert.equal(left.length, numbered.length, `a folder for each live session and no other: ${left}`);
  for (const one of numbered) {
    await t.test(`${one.isResumed ? "resumed" : "new"}, killed at: ${one.name}`, async () => {
      const { before, made, after, owner } = found.get(one.id);
      const state = after?.state ?? "none";
      assert.ok(one.binding.includes(state), `the killed host left ${state}`);
      if (before !== undefined) assert.equal(after.nativeSessionId, before.nativeSessionId);
      // A claim that the killed host had is a dead one's, and never hidden.
      const wasClaimed = after !== undefined && after.generation > (before?.generation ?? 0);
      if (one.mayBeReleased !== true) assert.equal(owner, wasClaimed ? "dead" : undefined);
      assert.ok(made <= one.made, `the harness had ${made} native sessions`);
      assert.equal(
        place.made(one.id),
        state === "bound" ? made : made + 1,
        "none is made beside a bound one",
      );

      assert.equal(live.get(one.id).generation, (after?.generation ?? 0) + 1);
      assert.ok(marked(`again-${one.mark}`).length >= 3, "its processes are found while they run");
      assert.equal((await next.do(one.id, "prompt")).status, "completed");
      const { binding, history } = await place.stored(async (store) => ({
        binding: await store.get(one.id),
        history: await store.history(one.id),
      }));
      assert.equal(binding.state, "bound");
      if (state === "bound") assert.equal(binding.nativeSessionId, after.nativeSessionId);
      const recorded = history.filter(({ change }) => !NEVER_BOUND.includes(change));
      const ids = recorded.map(({ nativeSessionId }) => nativeSessionId).filter(Boolean);
      assert.deepEqual([...new Set(ids)], [binding.nativeSessionId], "one native session was ever recorded");
      const revisions = history
        .filter(({ change }) => ["created", "updated", "claimed"].includes(change))
        .map(({ revision }) => revision);
      assert.deepEqual(
        revisions,
        Array.from({ length: binding.revision }, (_, at) => at + 1),
        "revisions have no gap",
      );
      const turns = one.turns ?? 0;
      const said = await next.until(({ id, event }) => id === one.id && event === "assistant_message");
      // A native session that goes on knows its turns.
      assert.equal(said.text, `again ${(state === "bound" ? turns : 0) + 1}`);
    });
  }
  assert.deepEqual(await next.end(), { code: 0, signal: null });
  assert.deepEqual(place.generations(), []);
  for (const one of numbered) await noneMarked(one.mark);
}
