// Rules of abort, steering and disposal.
import { check } from "../bench.js";
import { type RuleDefinition, checkText, needs, rejection, turn } from "./rule.js";

const abortIdle: RuleDefinition = {
  id: "abort-idle",
  title: "an abort without a turn does nothing, nor one that comes after the turn has ended",
  scenario: "plain",
  async run(bench) {
    const trial = await bench.open();
    const before = trial.events.length;
    await trial.session.abort();
    check(trial.events.length === before, "an abort of an idle session made an event");
    const { turnId } = await turn(trial, "completed");
    await trial.session.abort();
    // The turn may end while the abort is on its way.
    if (bench.driver.capabilities.abort) await bench.driver.abort!(trial.native, { turnId });
    await turn(trial, "completed");
  },
};

const abortBusy: RuleDefinition = {
  id: "abort-busy",
  title: "an abort ends the turn as interrupted, by the harness's own word, and the session goes on",
  scenario: "busy",
  exempt: needs("abort"),
  async run(bench) {
    const trial = await bench.open();
    const prompted = trial.session.prompt({ text: "conformance" });
    await trial.until(() => trial.of("turn_started").length === 1);
    await trial.session.abort();
    const { status } = await prompted;
    check(status === "interrupted", `the turn ended as ${status}`);
    const [end] = trial.of("turn_completed");
    check(end?.confirmed === true, "the harness did not confirm the abort in time");
    const isRestarted = trial.of("adapter_lifecycle").some(({ state }) => state === "restarting");
    check(!isRestarted, "the harness had to be restarted");
    await turn(trial, "completed", "After.");
  },
};

const steering: RuleDefinition = {
  id: "steering",
  title: "steering changes the turn that is on, and begins no other",
  scenario: "steer",
  exempt: needs("steering"),
  async run(bench) {
    const trial = await bench.open();
    const prompted = trial.session.prompt({ text: "conformance" });
    await trial.until(() => trial.of("turn_started").length === 1);
    await trial.session.steer!({ text: "to the left" });
    const { status, turnId } = await prompted;
    check(status === "completed", `the turn ended as ${status}`);
    checkText(trial, turnId, "Waiting.steered: to the left");
    check(trial.of("turn_started").length === 1, "steering began another turn");
  },
};

const FAULTS = new Set(["dispose_failed", "dispose_forced", "release_failed"]);

const disposeTwice: RuleDefinition = {
  id: "dispose-twice",
  title: "disposal ends everything, says nothing afterwards, and can be asked for again",
  scenario: "plain",
  async run(bench) {
    const trial = await bench.open();
    await turn(trial, "completed");
    const { session } = trial;
    const disposed = session.dispose();
    check(session.dispose() === disposed, "dispose() gives another promise each time");
    await disposed;
    const said = trial.events.length;
    const fault = trial.diagnostics.find(({ code }) => FAULTS.has(code));
    check(fault === undefined, `${fault?.code}: ${fault?.message}`);
    await bench.driver.dispose(trial.native);
    await session.abort();
    const { code } = await rejection(session.prompt({ text: "conformance" }), "a prompt after disposal");
    check(code === "session_disposed", `a prompt after disposal was refused with ${String(code)}`);
    check(trial.events.length === said, "an event came after disposal");
  },
};

export const CONTROL_RULES: readonly RuleDefinition[] = [abortIdle, abortBusy, steering, disposeTwice];
