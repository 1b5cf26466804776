// `kill -9` of the host at each step of a prompt, an approval, an abort and disposal: the next host goes on with the same native session.
import { test } from "node:test";
import { killAndRecover, skip } from "./support/runtime-kills.mjs";
import { answer } from "./support/runtime-hosts.mjs";

const DECISIONS = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];
const turnOf = (...steps) => ({ turns: [steps] });
const ASKING = turnOf(
  { approval: { kind: "command", title: "run it", decisions: DECISIONS } },
  { hang: true },
);
const QUESTIONS = turnOf(
  { questions: [{ id: "name", question: "Whose?", allowFreeform: true }] },
  { hang: true },
);
const STREAMING = turnOf({ observe: { kind: "assistant", text: { delta: "I am " } } }, { hang: true });

const prompt = (host, id) => host.ask(id, "prompt");
async function asked(host, id) {
  void host.ask(id, "prompt");
  const { requestId } = (await host.event(id, "approval_requested")) ?? {};
  return host.ask(id, "answer", { requestId });
}
async function streamed(host, id, action) {
  void host.ask(id, "prompt");
  await host.event(id, "assistant_delta");
  return host.ask(id, action);
}
const aborted = (host, id) => streamed(host, id, "abort");
const disposed = (host, id) => streamed(host, id, "dispose");

/** Of a native session that has its id from the opening on. */
const BOUND = { binding: ["bound"], made: 1, turns: 1 };
/** Of one that has it from the first turn on. */
const LAZY = { nativeSessionId: "first-turn" };

const STEPS = [
  { name: "prompt: before it is sent", stop: "prompt", moves: prompt, ...BOUND, turns: 0 },
  {
    name: "prompt: sent",
    stop: "prompt read",
    script: turnOf({ line: "prompt read" }, { hang: true }, { accept: true }),
    moves: prompt,
    ...BOUND,
  },
  { name: "prompt: accepted", stop: "accepted", script: STREAMING, moves: prompt, ...BOUND },
  { name: "prompt: streaming", stop: "assistant_delta", script: STREAMING, moves: prompt, ...BOUND },
  { name: "prompt: completed", stop: "turn_completed", moves: prompt, ...BOUND },
  {
    name: "first prompt: sent, its native session not recorded",
    stop: "prompt",
    script: { ...LAZY, ...STREAMING },
    moves: prompt,
    ...BOUND,
    binding: ["unbound"],
    made: 0,
  },
  {
    name: "first prompt: its native session is being recorded",
    stop: "binding being recorded",
    script: { ...LAZY, ...STREAMING },
    moves: prompt,
    ...BOUND,
    binding: ["unbound", "bound"],
  },
  {
    name: "first prompt: its native session is recorded",
    stop: "binding recorded",
    script: { ...LAZY, ...STREAMING },
    moves: prompt,
    ...BOUND,
  },
  { name: "approval: open", stop: "approval_requested", script: ASKING, moves: asked, ...BOUND },
  { name: "approval: answer claimed", stop: "answer claimed", script: ASKING, moves: asked, ...BOUND },
  {
    name: "approval: answer being written",
    stop: "answer being written",
    script: ASKING,
    moves: asked,
    ...BOUND,
  },
  { name: "approval: answer written", stop: "answer written", script: ASKING, moves: asked, ...BOUND },
  { name: "approval: answered", stop: "answered", script: ASKING, moves: asked, ...BOUND },
  { name: "question: open", stop: "user_input_requested", script: QUESTIONS, moves: prompt, ...BOUND },
  { name: "abort: begun", stop: "abort", script: STREAMING, moves: aborted, ...BOUND },
  { name: "dispose: begun", stop: "dispose begun", script: STREAMING, moves: disposed, ...BOUND },
  { name: "dispose: process closing", stop: "process closing", script: STREAMING, moves: disposed, ...BOUND },
  { name: "dispose: process closed", stop: "process closed", script: STREAMING, moves: disposed, ...BOUND },
  {
    name: "dispose: claim not yet released",
    stop: "claim not yet released",
    script: STREAMING,
    moves: disposed,
    ...BOUND,
  },
  {
    name: "dispose: claim being released",
    stop: "claim being released",
    script: STREAMING,
    moves: disposed,
    mayBeReleased: true,
    ...BOUND,
  },
  {
    name: "dispose: done",
    stop: "disposed",
    script: { turns: [answer("done")] },
    moves: async (host, id) => {
      await host.ask(id, "prompt");
      return host.ask(id, "dispose");
    },
    mayBeReleased: true,
    ...BOUND,
  },
];

test("a host is killed at each step of a turn and of disposal", { skip }, (t) => killAndRecover(t, STEPS));
