// A host in twenty lines: it watches agents, and another process keeps their rows. `node host.mjs [file|folder...]`
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { openMonitor } from "agent-lifecycle";

const window = fork(fileURLToPath(new URL("window.mjs", import.meta.url)), { serialization: "advanced" });
const paths = process.argv.slice(2);
const monitor = await openMonitor({
  sources: paths.length > 0 ? paths : "default",
  onChange: (changes) => window.connected && window.send(changes),
  onDiagnostic: ({ message }) => console.error(message),
  ref: true,
});
const end = async () => {
  await monitor.close();
  if (window.connected) window.disconnect();
};
window.once("exit", end);
process.once("SIGTERM", end).once("SIGINT", end);
