// The process that shows the rows: it loads no addon, and is fed with changes over its channel.
import { createRowStore, hostStatus } from "agent-lifecycle/client";

const store = createRowStore();
store.subscribe(() => {
  for (const row of store.snapshot()) console.log(hostStatus(row), row.state, row.title ?? row.childId);
  console.log("");
});
process.on("message", (changes) => store.apply(changes));
// Ctrl-c reaches both processes of a terminal; this one ends with its channel.
process.on("SIGINT", () => {});
