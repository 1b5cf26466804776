// `kill -9` of the host at each step of opening a session: the next host finds a right binding, no process and no folder of the dead.
import { test } from "node:test";
import { killAndRecover, skip } from "./support/runtime-kills.mjs";

const STARTED = { start: [{ line: "process started" }, { hang: true }] };

// What the killed host may have left of a new session; a resumed one is bound, whatever happens.
const STEPS = [
  { stop: "before claim", binding: ["unbound"], made: 0 },
  { stop: "claim being written", binding: ["unbound"], made: 0 },
  { stop: "claimed", binding: ["unbound"], made: 0 },
  { stop: "folder made", binding: ["unbound"], made: 0 },
  { stop: "process started", binding: ["unbound"], made: 0, script: STARTED },
  { stop: "handshake", binding: ["unbound"], made: 0 },
  // It was made and is not recorded: the next host makes another, and this one is nobody's.
  { stop: "native session made", binding: ["unbound"], made: 1 },
  { stop: "binding being written", binding: ["unbound", "bound"], made: 1 },
  { stop: "binding written", binding: ["bound"], made: 1 },
  { stop: "opened", binding: ["bound"], made: 1 },
];

test("a host is killed at each step of an opening", { skip }, async (t) => {
  const fresh = STEPS.map((step) => ({ name: step.stop, ...step }));
  const resumed = fresh.map((step) => ({ ...step, isResumed: true, binding: ["bound"], made: 1 }));
  await killAndRecover(t, [...fresh, ...resumed]);
});
