// Schema-v1 events for tests.

/** A valid event, changed by `changes`; a change of undefined takes the member away. */
export function event(changes = {}) {
  const whole = {
    schemaVersion: 1,
    eventId: "e1",
    source: "source",
    sourceEpoch: "epoch",
    childId: "child",
    lineage: { rootChildId: "child", attempt: 1, external: false },
    kind: "created",
    state: "created",
    observedAt: "2026-05-17T22:29:21Z",
    ...changes,
  };
  return JSON.parse(JSON.stringify(whole));
}

/** A state event. */
export const state = (eventId, name, changes = {}) =>
  event({ eventId, kind: name === "created" ? "created" : "state_changed", state: name, ...changes });

/** An event without a state. */
export const note = (eventId, kind, changes = {}) => event({ eventId, kind, state: undefined, ...changes });
