// A host with the example adapter for Claude Code, whose agent goes on and on: `claude-host.mjs <folder>`. It says when a turn is on.
import path from "node:path";
import { BindingStore, createRuntimeRegistry, openRuntimeSession } from "agent-lifecycle";
import { claudeCodeConfig, claudeCodeDriver } from "../../examples/claude-code-stream-json/driver.mjs";

const [folder] = process.argv.slice(2);
const config = claudeCodeConfig({
  command: process.execPath,
  args: [path.join(import.meta.dirname, "claude-code.mjs")],
  environment: ["CONFORMANCE_SCENARIO=busy", `CONFORMANCE_FOLDER=${folder}`],
});
const session = await openRuntimeSession({
  store: await BindingStore.open(path.join(folder, "bindings.db")),
  registry: createRuntimeRegistry({
    drivers: [claudeCodeDriver()],
    instances: [{ runtimeInstanceId: "claude", adapterId: "claude-code.stream-json", config }],
  }),
  productSessionId: "ps_1",
  runtimeInstanceId: "claude",
  workspace: folder,
  publish: false,
  onEvent: ({ kind }) => kind === "turn_started" && console.log(kind),
});
await session.prompt({ text: "go on" });
