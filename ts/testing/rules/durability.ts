// Rules of native sessions that outlive their process.
import { thrownText } from "../../callbacks.js";
import { check } from "../bench.js";
import { type RuleDefinition, needs, rejection, turn } from "./rule.js";

const resume: RuleDefinition = {
  id: "resume",
  title: "after a restart the same native session goes on",
  scenario: "resume",
  exempt: needs("resume"),
  async run(bench) {
    const first = await bench.open();
    await turn(first, "completed", "turn 1.");
    const before = await bench.binding();
    check(before.state === "bound", `after a turn the binding is ${before.state}`);
    await bench.restart();
    const second = await bench.open();
    await turn(second, "completed", "turn 2.");
    const after = await bench.binding();
    check(
      after.nativeSessionId === before.nativeSessionId,
      "the session was resumed with another native session",
    );
    check(second.session.generation > first.session.generation, "the generation did not grow");
  },
};

const missing: RuleDefinition = {
  id: "missing",
  title: "a native session that is gone is said to be missing, and is not replaced",
  scenario: "missing",
  exempt: needs("resume"),
  async run(bench) {
    await turn(await bench.open(), "completed", "turn 1.");
    const { nativeSessionId } = await bench.binding();
    check(nativeSessionId !== undefined, "after a turn there is no native session id");
    await bench.restart();
    await bench.setup.between?.(nativeSessionId);
    for (const mode of ["normal", "repair", "normal"] as const) {
      const error = await rejection(
        bench.open(undefined, mode),
        "opening a session whose native session is gone",
      );
      const { code } = error;
      check(bench.made === 1, "a native session was opened in the place of the one that is gone");
      check(
        code === "binding_missing",
        `opening it was refused with ${String(code)}, not with binding_missing`,
      );
      const { state, nativeSessionId: recorded, diagnostic } = await bench.binding();
      check(state === "missing", `the binding is ${state}, not missing`);
      check(recorded === nativeSessionId, "the binding records another native session id");
      const told = JSON.stringify([thrownText(error), error, diagnostic]);
      check(!told.includes(nativeSessionId), "the native session id is in what is told of it");
    }
  },
};

const brokenResume: RuleDefinition = {
  id: "broken-resume",
  title: "a harness that does not start says nothing of the native session, and the binding stays as it was",
  scenario: "broken-resume",
  exempt: needs("resume"),
  async run(bench) {
    await turn(await bench.open(), "completed", "turn 1.");
    const { nativeSessionId } = await bench.binding();
    check(nativeSessionId !== undefined, "after a turn there is no native session id");
    await bench.restart();
    await bench.setup.between?.(nativeSessionId);
    await rejection(bench.open(), "opening a session whose harness does not start");
    const { state, nativeSessionId: recorded } = await bench.binding();
    check(state === "bound", `the binding is ${state}, and should have stayed bound`);
    check(recorded === nativeSessionId, "the binding records another native session id");
  },
};

export const DURABILITY_RULES: readonly RuleDefinition[] = [resume, missing, brokenResume];
