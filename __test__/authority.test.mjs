// Questions to an authority, on a clock of the test's own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { authority } from "../dist/authority.js";

/** Lets everything run that a promise waits for. */
const settled = async () => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

const question = (childId, within = 1000) => ({
  source: "s",
  childId,
  reason: "silence",
  deadlineAt: new Date(Date.now() + within).toISOString(),
});

/** An authority whose projection is a map of children to what came of asking. */
function court(t, reconcile) {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_700_000_000_000 });
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const [rows, words, failed] = [new Map(), [], []];
  const asker = authority({
    reconcile,
    answer(_, childId, word) {
      words.push(word);
      rows.set(childId, word === "none" ? "unanswered" : "pending");
    },
    rows: () =>
      Array.from(rows, ([childId, standing]) => ({
        source: "s",
        childId,
        freshness: { reconcile: standing },
      })),
    failed: (message) => failed.push(message),
  });
  const pass = async (ms) => {
    now += ms;
    t.mock.timers.tick(ms);
    await settled();
  };
  return { asker, rows, words, failed, pass };
}

test("who never answers has not answered at the deadline, and a later answer is none", async (t) => {
  let late;
  const { asker, words, pass } = court(t, () => new Promise((resolve) => (late = resolve)));
  asker.ask(question("c"));
  await pass(999);
  assert.deepEqual(words, []);
  await pass(1);
  assert.deepEqual(words, ["none"]);
  late("gone");
  await settled();
  assert.deepEqual(words, ["none"]);
});

test("what is unanswered is asked again after 30 s, then twice as long, at most 10 min", async (t) => {
  const asked = [];
  const { asker, words, pass } = court(t, (given) => {
    asked.push(given);
    return "unknown";
  });
  asker.ask(question("c"));
  await settled();
  for (const [index, seconds] of [30, 60, 120, 240, 480, 600, 600].entries()) {
    await pass(seconds * 1000 - 1);
    assert.equal(asked.length, index + 1);
    await pass(1);
    assert.equal(asked.length, index + 2);
  }
  assert.equal(words.length, 8);
  assert.deepEqual([asked.at(-1).childId, asked.at(-1).reason], ["c", "silence"]);
  // As long as for the first.
  assert.equal(Date.parse(asked.at(-1).deadlineAt), Date.now() + 1000);
});

for (const [name, end] of [
  ["that is closed", ({ rows }) => rows.set("c", null)],
  ["of a monitor that is closed", ({ asker }) => asker.close()],
]) {
  test(`a question ${name} is not asked again`, async (t) => {
    let asked = 0;
    const made = court(t, () => (asked += 1));
    made.asker.ask(question("c"));
    await settled();
    end(made);
    await made.pass(30_000);
    await made.pass(3_600_000);
    assert.equal(asked, 1);
  });
}

test("an answer ends the asking", async (t) => {
  const answers = ["unknown", "gone"];
  let asked = 0;
  const { asker, words, pass } = court(t, () => answers[(asked += 1) - 1]);
  asker.ask(question("c"));
  await settled();
  await pass(30_000);
  await pass(3_600_000);
  assert.deepEqual(words, ["none", "gone"]);
});

test("at most 1,024 are asked again at a time; the others are later", async (t) => {
  let isHung = false;
  let open = [];
  const { asker, pass } = court(t, () => (isHung ? new Promise((resolve) => open.push(resolve)) : "unknown"));
  for (let child = 0; child < 1500; child += 1) asker.ask(question(`c${child}`, 1e6));
  await settled();
  isHung = true;
  await pass(30_000);
  assert.equal(open.length, 1024);
  for (const answer of open.splice(0)) answer("there");
  await settled();
  await pass(1000);
  assert.equal(open.length, 476);
});

test("what cannot be shown as text is told all the same", async (t) => {
  const { asker, words, failed } = court(t, () => {
    throw Object.create(null);
  });
  asker.ask(question("c"));
  await settled();
  assert.deepEqual([words, failed], [["none"], ["what was thrown cannot be shown as text"]]);
});
