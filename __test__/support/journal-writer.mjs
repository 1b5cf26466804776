// A writer of this package in a process of its own. Run: node journal-writer.mjs <path> <name> <count> [die]. It prints each number
// that it got, with the event's id; with `die` it ends by a signal in the middle.
import { JsonlLifecycleJournal } from "agent-lifecycle";
import { note } from "./events.mjs";

const [, , path, name, count, die] = process.argv;
const journal = new JsonlLifecycleJournal(path, { durability: "os", lockTimeoutMs: 60_000 });
for (let at = 0; at < Number(count); at++) {
  const eventId = `${name}-${at}`;
  const { journalSequence } = await journal.append(note(eventId, "heartbeat", { childId: name }));
  console.log(`${journalSequence} ${eventId}`);
}
if (die === "die") process.kill(process.pid, "SIGKILL");
await journal.close();
