// When snapshots are asked for, on a clock of the test's own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { snapshotSchedule } from "../dist/snapshot-schedule.js";

/** Lets everything run that a promise waits for. */
const settled = async () => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

/** A schedule each of whose requests is answered by the test: `requests` has `{reason, signal, answer, fail}`. */
function made(t, options = {}) {
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const [requests, taken, failed] = [[], [], []];
  const schedule = snapshotSchedule({
    fetch: (reason, { signal }) =>
      new Promise((answer, fail) => requests.push({ reason, signal, answer, fail })),
    take(answer, reason) {
      if (answer === "broken") throw new Error("broken");
      taken.push([answer, reason]);
      return `took ${answer}`;
    },
    unanswered: (error, reason) => failed.push([error.message, reason]),
    intervalMs: 5000,
    deadlineMs: 2000,
    clock: () => now,
    random: () => 0,
    ...options,
  });
  t.after(() => schedule.close());
  const pass = async (ms) => {
    // The clock first: what a timer calls sees the time that it was set for.
    now += ms;
    t.mock.timers.tick(ms);
    await settled();
  };
  return { schedule, requests, taken, failed, pass, setClock: (to) => (now = to) };
}

test("requests that overlap share the first one's fetch, reason and answer", async (t) => {
  const { schedule, requests, taken } = made(t);
  const asked = [
    schedule.ask("session_open"),
    schedule.ask("reconnect"),
    schedule.askIfDue(),
    schedule.askUnlessPausing("question"),
  ];
  assert.equal(requests.length, 1);
  requests[0].answer("a");
  const expected = { status: "answered", reason: "session_open", result: "took a" };
  for (const shared of asked) assert.deepEqual(await shared, expected);
  assert.deepEqual(taken, [["a", "session_open"]]);
  void schedule.ask("reconnect");
  assert.deepEqual(
    requests.map(({ reason }) => reason),
    ["session_open", "reconnect"],
  );
});

test("who asks anew waits for what is on its way, and does not share it", async (t) => {
  const { schedule, requests } = made(t);
  void schedule.ask("periodic");
  const anew = schedule.askAnew("reconnect");
  assert.equal(requests.length, 1);
  requests[0].answer("before");
  await settled();
  requests[1].answer("after");
  assert.deepEqual(await anew, { status: "answered", reason: "reconnect", result: "took after" });
  void schedule.askAnew("reconnect");
  assert.equal(requests.length, 3);
});

test("a fetch that asks in its turn shares itself", async (t) => {
  let inner;
  const { schedule } = made(t, {
    fetch() {
      inner = schedule.ask("reconnect");
      return "at once";
    },
  });
  const outer = await schedule.ask("session_open");
  assert.deepEqual([outer.status, outer.reason, await inner], ["answered", "session_open", outer]);
});

test("the interval runs from the end of a request; timers ask by themselves", async (t) => {
  const { schedule, requests, pass } = made(t, { deadlineMs: 60_000 });
  void schedule.ask("session_open");
  await pass(3000);
  requests[0].answer("a");
  await settled();
  await pass(4999);
  assert.equal(requests.length, 1);
  assert.equal(schedule.askIfDue(), undefined);
  await pass(1);
  assert.deepEqual(
    requests.map(({ reason }) => reason),
    ["session_open", "periodic"],
  );
});

test("nothing was asked yet: the host may ask at once, the timer asks after one interval", async (t) => {
  const { requests, pass } = made(t);
  await pass(4999);
  assert.equal(requests.length, 0);
  await pass(1);
  assert.equal(requests.length, 1);
  const other = made(t, { isAutomatic: false });
  void other.schedule.askIfDue();
  assert.equal(other.requests.length, 1);
});

test("without timers only the host asks, and after a failure the next is due at once", async (t) => {
  const { schedule, requests, failed, pass } = made(t, { isAutomatic: false });
  const first = schedule.ask("session_open");
  requests[0].fail(new Error("down"));
  assert.equal((await first).status, "unanswered");
  await pass(3_600_000);
  assert.equal(requests.length, 1);
  const second = schedule.askIfDue();
  requests[1].fail(new Error("still down"));
  await second;
  const third = schedule.askIfDue();
  requests[2].answer("a");
  assert.equal((await third).status, "answered");
  assert.equal(schedule.askIfDue(), undefined);
  await pass(4999);
  assert.equal(schedule.askIfDue(), undefined);
  await pass(1);
  assert.notEqual(schedule.askIfDue(), undefined);
  assert.deepEqual(failed, [
    ["down", "session_open"],
    ["still down", "periodic"],
  ]);
});

test("no answer at the deadline is none, its signal is aborted, and a late answer is not taken", async (t) => {
  const { schedule, requests, taken, failed, pass } = made(t);
  const asked = schedule.ask("session_open");
  await pass(1999);
  assert.deepEqual([failed, requests[0].signal.aborted], [[], false]);
  await pass(1);
  const { status, error } = await asked;
  assert.deepEqual([status, error.name, requests[0].signal.aborted], ["unanswered", "TimeoutError", true]);
  requests[0].answer("late");
  await settled();
  assert.deepEqual([taken, failed], [[], [["no answer within 2000 ms", "session_open"]]]);
});

test("an error, a throw and an answer that is refused are no answers", async (t) => {
  const { schedule, requests, taken, failed } = made(t);
  const first = schedule.ask("session_open");
  requests[0].fail(new Error("no route"));
  await first;
  const second = schedule.ask("reconnect");
  requests[1].answer("broken");
  assert.equal((await second).status, "unanswered");
  const throwing = made(t, {
    fetch() {
      throw new Error("thrown");
    },
  });
  assert.equal((await throwing.schedule.ask("reconnect")).error.message, "thrown");
  assert.deepEqual(taken, []);
  assert.deepEqual(failed, [
    ["no route", "session_open"],
    ["broken", "reconnect"],
  ]);
});

/** The milliseconds between the failures of an authority that never answers. */
async function pauses(t, random, count, intervalMs) {
  const { schedule, requests, failed, pass } = made(t, {
    fetch() {
      requests.push({});
      throw new Error("down");
    },
    random,
    intervalMs,
  });
  await schedule.ask("session_open");
  const found = [];
  for (let ms = 0; found.length < count; ms += 250) {
    await pass(250);
    if (requests.length > found.length + 1) {
      found.push(ms + 250);
      ms = -250;
    }
  }
  assert.equal(failed.length, count + 1);
  return found;
}

test("after failures it asks ever more seldom, at most each minute or interval, with jitter", async (t) => {
  const doubled = [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000];
  assert.deepEqual(await pauses(t, () => 0, 8, 5000), doubled);
  // Half of the greatest jitter: a quarter less.
  assert.deepEqual(await pauses(t, () => 0.5, 3, 5000), [750, 1500, 3000]);
  assert.deepEqual(await pauses(t, () => 0, 2, 500), [500, 1000]);
  assert.deepEqual((await pauses(t, () => 0, 8, 100_000)).slice(6), [64_000, 100_000]);
});

test("a reconnect asks in the pause, what is periodic or a question does not; an answer ends the pause", async (t) => {
  const { schedule, requests, pass } = made(t);
  const first = schedule.ask("session_open");
  requests[0].fail(new Error("down"));
  await first;
  assert.equal(schedule.askIfDue(), undefined);
  assert.equal(schedule.askUnlessPausing("question"), undefined);
  const second = schedule.ask("reconnect");
  requests[1].answer("a");
  await second;
  assert.equal(schedule.askIfDue(), undefined);
  const third = schedule.askUnlessPausing("question");
  requests[2].fail(new Error("down"));
  await third;
  // The first pause again, not the third.
  await pass(999);
  assert.equal(requests.length, 3);
  await pass(1);
  assert.equal(requests.length, 4);
});

test("a clock that is set back holds nothing up for longer than the wait", async (t) => {
  const { schedule, requests, setClock } = made(t, { isAutomatic: false });
  setClock(100_000);
  const first = schedule.ask("session_open");
  requests[0].answer("a");
  await first;
  setClock(96_000);
  assert.equal(schedule.askIfDue(), undefined);
  setClock(94_999);
  assert.notEqual(schedule.askIfDue(), undefined);
});

test("closed: the open request is aborted, nothing is taken, nothing is asked again", async (t) => {
  const { schedule, requests, taken, failed, pass } = made(t);
  const asked = schedule.ask("session_open");
  schedule.close();
  schedule.close();
  assert.equal(requests[0].signal.aborted, true);
  assert.deepEqual(await asked, { status: "closed", reason: "session_open" });
  requests[0].answer("late");
  await pass(3_600_000);
  assert.deepEqual(await schedule.ask("reconnect"), { status: "closed", reason: "reconnect" });
  assert.deepEqual([requests.length, taken, failed], [1, [], []]);
});

test("a time must be positive and finite", () => {
  const given = { fetch() {}, take() {}, unanswered() {}, intervalMs: 1 };
  for (const name of ["intervalMs", "deadlineMs"])
    for (const value of [
      0,
      -1,
      Infinity,
      Number.NaN,
      "5",
      null,
      ...(name === "intervalMs" ? [undefined] : []),
    ])
      assert.throws(
        () => snapshotSchedule({ ...given, [name]: value }),
        { name: "LifecycleError", code: "invalid_option", path: name },
        `${name}: ${String(value)}`,
      );
});

test("an open schedule keeps no script alive", async () => {
  const { spawnSync } = await import("node:child_process");
  const module = new URL("../dist/snapshot-schedule.js", import.meta.url).href;
  const script = `
    const { snapshotSchedule } = await import(${JSON.stringify(module)});
    const given = { take() {}, unanswered() {}, intervalMs: 3600000, deadlineMs: 3600000 };
    snapshotSchedule({ ...given, fetch: () => new Promise(() => {}) }).ask("session_open");
    console.log("asked");`;
  const ran = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
    timeout: 60_000,
  });
  assert.deepEqual([ran.status, ran.stdout], [0, "asked\n"], ran.stderr);
});
