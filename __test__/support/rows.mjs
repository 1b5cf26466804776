// Rows for tests, and a monitor of rows that a test holds.

/** The time that the rows are seen at. */
export const NOW = "2026-03-02T12:00:00Z";

/** A running root that started a minute before, changed by `changes`; its key is its child id. */
export function row(childId, changes = {}) {
  return {
    key: childId,
    childId,
    source: "claude-code/one",
    provider: "claude-code",
    agentVersion: "2.1.240",
    sessionId: "one",
    parentKey: null,
    rootKey: changes.parentKey ?? childId,
    attempt: 1,
    state: "running",
    stateSince: "2026-03-02T11:59:30Z",
    waitingReason: null,
    waits: [],
    turn: { turnId: "t1", open: true },
    turns: { count: 1, recent: [{ turnId: "t1" }] },
    activity: null,
    tools: { count: 0, open: [] },
    liveChildren: 0,
    title: `title of ${childId}`,
    model: null,
    place: { cwd: "/work/one", branch: null },
    startedAt: "2026-03-02T11:59:00Z",
    freshness: { at: "2026-03-02T11:59:50Z", stale: false, reason: null, reconcile: null },
    evidence: { pid: null, processAlive: "unknown" },
    outcome: { terminal: null, cause: "unknown" },
    usage: null,
    context: null,
    transcript: "/work/one/journal.jsonl",
    result: null,
    capabilities: {
      history: "known",
      heartbeat: "unknown",
      snapshot: "unknown",
      cancel: "unknown",
      terminalCause: "unknown",
      permissionWaits: "unknown",
    },
    gapDetected: false,
    epochConflict: null,
    lateEvidence: 0,
    diagnostics: {},
    degraded: false,
    attention: null,
    host: null,
    ...changes,
  };
}

/** A monitor of these rows; `set` gives it others and says so to whoever opened it. */
export function fakeMonitor(rows, explanations = {}) {
  const batches = [];
  let present = new Map(rows.map((one) => [one.key, one]));
  let onChange;
  const cursor = () => `fake.${batches.length}`;
  return {
    open: async (options) => {
      ({ onChange } = options);
      return {
        rows: () => [...present.values()],
        explain: (key) => explanations[key],
        hidden: 3,
        changesSince(given) {
          const from = /^fake\.(\d+)$/.exec(given ?? "")?.[1];
          if (from === undefined)
            return { cursor: cursor(), upserted: [...present.values()], removed: [], reset: true };
          const keys = new Set(batches.slice(Number(from)).flat());
          return {
            cursor: cursor(),
            upserted: [...keys].filter((key) => present.has(key)).map((key) => present.get(key)),
            removed: [...keys].filter((key) => !present.has(key)),
            reset: false,
          };
        },
        close: async () => {},
      };
    },
    set(next) {
      const before = present;
      present = new Map(next.map((one) => [one.key, one]));
      const keys = new Set([...before.keys(), ...present.keys()]);
      batches.push(
        [...keys].filter((key) => JSON.stringify(before.get(key)) !== JSON.stringify(present.get(key))),
      );
      onChange({ cursor: cursor(), upserted: [], removed: [], reset: false });
    },
  };
}
