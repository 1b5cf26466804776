// Why a row is in its state, in words. Pure.
import type { Evidence, Explanation } from "../explanation.js";
import type { Row } from "../row.js";
import {
  doubtWords,
  doingWords,
  freshnessWords,
  hasEnded,
  programWords,
  span,
  stateWords,
  titleWords,
} from "./words.js";

/** A name and what is said of it. */
export type Said = readonly [name: string, text: string];

/** The explanation as names and texts. Texts may hold anything that a journal does: they are not inert yet. */
export function explanationWords(row: Row, why: Explanation | undefined, now: number): Said[] {
  const said: Said[] = [
    ["title", titleWords(row)],
    ["key", row.key],
    // A narrow screen has no room for it in the row.
    ["program", programWords(row) + (row.place.cwd === null ? "" : ` in ${row.place.cwd}`)],
    ["state", `${stateWords(row)} since ${row.stateSince} (${span(now - Date.parse(row.stateSince))})`],
  ];
  if (hasEnded(row)) {
    const { exitCode, signal, cause } = row.outcome;
    const how = [
      ...(exitCode === undefined ? [] : [`exit code ${exitCode}`]),
      ...(signal === undefined ? [] : [`signal ${signal}`]),
      `cause ${cause}`,
    ];
    said.push(["ended", how.join(", ")]);
  }
  for (const { reason, text, waitId, since } of row.waits) {
    const what = text === undefined ? reason : `${reason}: ${text}`;
    said.push(["waits for", `${what}, since ${since} (${waitId})`]);
  }
  const doing = doingWords(row, now);
  if (doing !== "") said.push(["doing", doing]);
  const age = hasEnded(row) ? `${span(now - Date.parse(row.freshness.at))} ago` : freshnessWords(row, now);
  said.push(["evidence", `newest at ${row.freshness.at}: ${age}`]);
  if (row.freshness.stale && !hasEnded(row))
    said.push([
      "stale",
      `${why?.stale ?? row.freshness.reason ?? "the evidence is old"}; that says nothing about how it is`,
    ]);
  const { pid, processAlive } = row.evidence;
  const alive = { yes: "lives", no: "is gone", unknown: "may or may not live" }[processAlive];
  said.push(["process", pid === null ? "not known" : `${pid} ${alive}`]);
  const doubts = doubtWords(row);
  if (doubts !== "") said.push(["doubts", doubts]);
  if (why === undefined) return [...said, ["records", "none is held any more that explains it"]];
  if (why.reconciliation !== null) {
    const { reason, deadlineAt, asked } = why.reconciliation;
    // Where nobody asks, nothing is waited for.
    const until = asked === "unasked" ? "this program asked nobody" : `${ASKED[asked]} ${deadlineAt}`;
    said.push(["asked", `because of ${reason}; ${until}`]);
  }
  return [...said, ...recordWords(why)];
}

const ASKED = {
  pending: "an answer is waited for until",
  unanswered: "no answer came until",
} as const;

/** The records, each with its journal's number; then the journals, so that a long path stands once. */
function recordWords({ evidence, freshness, lateEvidence }: Explanation): Said[] {
  const rest = freshness.evidence;
  const all = rest === null ? evidence : [...evidence, rest];
  const journals = [...new Set(all.map(({ journal }) => journal))].filter((journal) => journal !== null);
  const words = ({
    at,
    journal,
    offset,
    recordType,
    effect,
    inferred,
    sequence,
    eventId,
  }: Evidence): string => {
    // What a hook, a process or an authority said stands in no journal.
    const place = journal === null ? "" : ` [${journals.indexOf(journal) + 1}] byte ${offset}`;
    const follows = inferred === true ? " (in no record: the next step needs it)" : "";
    const number = sequence === undefined ? "" : `, sequence ${sequence}`;
    const event = eventId === undefined ? "" : `, event ${eventId}`;
    return `${at}${place} ${recordType}: ${effect}${follows}${number}${event}`;
  };
  const records = evidence.map((one): Said => ["record", words(one)]);
  const late = lateEvidence.recent.map(({ observedAt, kind, state, code, eventId }): Said => {
    const what = state === undefined ? kind : `${kind} ${state}`;
    return ["late", `${observedAt} ${what}: ${code}, event ${eventId}`];
  });
  const untold = lateEvidence.count - late.length;
  return [
    ...(records.length === 0 ? [["records", "none"] satisfies Said] : records),
    ["fresh by", rest === null ? "no record that is held" : words(rest)],
    ...late,
    ...(untold > 0 ? [["late", `and ${untold} before these`] satisfies Said] : []),
    ...journals.map((journal, at): Said => [`[${at + 1}]`, journal]),
  ];
}
