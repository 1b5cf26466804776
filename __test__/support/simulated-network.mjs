// A server with children, a network that loses, delays, repeats and reorders, and a clock that both live by.

/** Numbers from 0 to below 1, the same for the same seed. */
export function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const ENDS = ["completed", "failed", "cancelled"];
const NEXT = {
  created: ["starting"],
  starting: ["running", "waiting", "failed"],
  running: ["waiting", "waiting", "completed", "failed", "cancelled"],
  waiting: ["running", "running", "running", "cancelled"],
};
export const isEnd = (state) => ENDS.includes(state) || state === "lost";

const lineageOf = (childId) => ({
  rootChildId: "root",
  attempt: 1,
  external: false,
  ...(childId !== "root" && { parentChildId: "root" }),
});

/**
 * The truth. `emit` gets each event as it happens; `count` each kind of trouble. Some children give no sequences, and some that ended
 * are forgotten: later snapshots leave them out.
 */
export function serverOf({ random, now, emit, count }) {
  const children = new Map();
  let epoch = 1;
  let snapshots = 0;
  let events = 0;
  const pick = (list) => list[Math.floor(random() * list.length)];
  const time = () => new Date(now()).toISOString();
  function say(child, kind, state) {
    events += 1;
    const isSequenced = child.isSequenced && kind !== "heartbeat";
    if (isSequenced) child.sequence += 1;
    emit({
      schemaVersion: 1,
      eventId: `e${events}`,
      source: "server",
      sourceEpoch: `boot-${epoch}`,
      childId: child.childId,
      lineage: lineageOf(child.childId),
      kind,
      observedAt: time(),
      ...(state !== undefined && { state }),
      ...(kind === "activity" && { activity: `step ${events}` }),
      ...(isSequenced && { sequence: child.sequence }),
    });
  }
  function spawn() {
    const childId = children.size === 0 ? "root" : `child-${children.size}`;
    const child = {
      childId,
      state: "created",
      sequence: -1,
      isSequenced: random() < 0.6,
      isForgotten: false,
    };
    children.set(childId, child);
    say(child, "created", "created");
  }
  spawn();
  return {
    children,
    /** A moment of the server's life. */
    live() {
      if (children.size < 8 && random() < 0.02) spawn();
      for (const child of children.values()) {
        if (isEnd(child.state)) {
          if (!child.isForgotten && random() < 0.005) {
            child.isForgotten = true;
            count("server forgot an end");
          }
          continue;
        }
        const luck = random();
        if (luck < 0.03) {
          child.state = pick(NEXT[child.state]);
          say(child, isEnd(child.state) ? "terminal" : "state_changed", child.state);
        } else if (luck < 0.06) say(child, pick(["activity", "heartbeat"]));
      }
    },
    restart() {
      count("server restart");
      epoch += 1;
      for (const child of children.values()) child.sequence = -1;
    },
    snapshot() {
      snapshots += 1;
      const listed = [...children.values()].filter(({ isForgotten }) => !isForgotten);
      return {
        complete: true,
        source: "server",
        sourceEpoch: `boot-${epoch}`,
        snapshotId: `s${snapshots}`,
        observedAt: time(),
        coverage: "all",
        advancesEpoch: true,
        children: listed.map(({ childId, state, sequence }) => ({
          childId,
          state,
          lineage: lineageOf(childId),
          ...(sequence >= 0 && { sequence }),
        })),
      };
    },
  };
}

/** What happens later, in its order. */
export function agenda() {
  let due = [];
  return {
    later: (at, what) => due.push({ at, what }),
    run(now) {
      const ready = due.filter(({ at }) => at <= now).toSorted((a, b) => a.at - b.at);
      due = due.filter(({ at }) => at > now);
      for (const { what } of ready) what();
    },
  };
}

/**
 * A network. `isCalm` ends all trouble with answers. `event(event)` carries one to `deliver`; `fetch(ask)` carries what `ask` gives when the
 * request arrives.
 */
export function networkOf({ random, now, later, deliver, count }) {
  const answers = [];
  let newest = -1;
  const answer = (snapshot) => {
    const place = answers.indexOf(snapshot);
    if (place < newest) count("snapshot out of order");
    newest = Math.max(newest, place);
    return snapshot;
  };
  const network = {
    isCalm: false,
    isConnected: true,
    /** Events that were sent and may still arrive. */
    underway: 0,
    event(event) {
      if (!network.isConnected || random() < 0.15) return count("event lost");
      const copies = random() < 0.15 ? 2 : 1;
      if (copies === 2) count("event twice");
      for (let copy = 0; copy < copies; copy += 1) {
        const delay = random() < 0.25 ? random() * 15_000 : random() * 100;
        if (delay > 100) count("event delayed");
        network.underway += 1;
        later(now() + delay, () => {
          network.underway -= 1;
          deliver(event);
        });
      }
    },
    fetch(ask) {
      const asked = () => answers[answers.push(ask()) - 1];
      return new Promise((resolve, reject) => {
        const arrive = (snapshot, delay) => later(now() + delay, () => resolve(answer(snapshot)));
        if (network.isCalm) return arrive(asked(), 0);
        if (!network.isConnected) return reject(new Error("offline"));
        const luck = random();
        if (luck < 0.1) return count("snapshot lost");
        if (luck < 0.2) {
          count("snapshot too late");
          return arrive(asked(), 6000 + random() * 20_000);
        }
        if (luck < 0.3) {
          count("snapshot failed");
          return reject(new Error("internal error"));
        }
        if (luck < 0.35) {
          count("snapshot incomplete");
          return later(now() + 10, () => resolve({ ...ask(), complete: false }));
        }
        if (luck < 0.5 && answers.length > 0) {
          const older = answers[Math.floor(random() * answers.length)];
          count("snapshot of before");
          return arrive(older, random() * 3000);
        }
        // What happens while the answer is on its way is newer than the answer.
        return arrive(asked(), random() * 3000);
      });
    },
  };
  return network;
}
