// An agent in a process of its own. Run: node publishing-agent.mjs <title> <close | exit | throw | stay>. With `stay` it says that it
// is there, and ends with its stdin.
import { openPublisher } from "agent-lifecycle";

const [, , title, end] = process.argv;
const publisher = openPublisher({
  agent: "my-agent",
  version: "1.4.0",
  cwd: "/work/place",
  onError: (error) => console.error(error.code, error.message),
});
publisher.sessionStarted({ title });
publisher.turnStarted({ turnId: "t1" });
publisher.toolStarted({ toolId: "c1", name: "Bash" });
if (end === "exit") process.exit(0);
if (end === "throw") throw new Error("the agent's own fault");
if (end === "close") await publisher.close();
if (end === "stay") {
  process.stdin.on("end", () => publisher.close()).resume();
  console.log(publisher.source);
}
