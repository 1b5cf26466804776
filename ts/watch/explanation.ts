// Why a row is in its state, in words. Pure.
import type { Explanation } from "../explanation.js";
import type { Row } from "../row.js";
import { doubtWords, doingWords, freshnessWords, hasEnded, span, stateWords, titleWords } from "./words.js";

/** A name and what is said of it. */
export type Said = readonly [name: string, text: string];

/** The explanation as names and texts. Texts may hold anything that a journal does: they are not inert yet. */
export function explanationWords(row: Row, why: Explanation | undefined, now: number): Said[] {
  const said: Said[] = [
    ["title", titleWords(row)],
    ["key", row.key],
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
    const { reason, deadlineAt } = why.reconciliation;
    said.push(["asked", `because of ${reason}; an answer is waited for until ${deadlineAt}`]);
  }
  return [...said, ...recordWords(why)];
}

/** The records, each with its journal's number; then the journals, so that a long path stands once. */
function recordWords({ evidence }: Explanation): Said[] {
  if (evidence.length === 0) return [["records", "none"]];
  const journals = [...new Set(evidence.map(({ journal }) => journal))].filter((journal) => journal !== "");
  const records = evidence.map(({ at, journal, offset, recordType, effect, inferred }): Said => {
    // What a hook or a process said stands in no journal.
    const place = journal === "" ? "" : ` [${journals.indexOf(journal) + 1}] byte ${offset}`;
    const follows = inferred === true ? " (in no record: the next step needs it)" : "";
    return ["record", `${at}${place} ${recordType}: ${effect}${follows}`];
  });
  return [...records, ...journals.map((journal, at): Said => [`[${at + 1}]`, journal])];
}
