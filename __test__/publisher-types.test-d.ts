// What must compile around one's own publisher and hooks, and what must not. `tsc` is the test runner.
import {
  type AgentLifecyclePublisher,
  type AgentPublisher,
  type HookCommand,
  type HookEventName,
  type HookSettings,
  type OpenPublisherOptions,
  hookSettings,
  openPublisher,
} from "agent-lifecycle";

declare const version: string | undefined;

const options: OpenPublisherOptions = {
  agent: "my-agent",
  version,
  cwd: process.cwd(),
  heartbeatMs: 30_000,
  onError: (error, unreported) => console.error(error.message, unreported.toFixed()),
};

export async function publish(): Promise<AgentLifecyclePublisher> {
  await using publisher: AgentPublisher = openPublisher(options);
  const source: string = publisher.source;
  publisher.sessionStarted({ title: source });
  const nothing: void = publisher.done({ outcome: "success" });
  // @ts-expect-error there is nothing to wait for
  publisher.done({ outcome: "success" }).then(() => nothing);
  // @ts-expect-error the outcome is required
  publisher.done({});
  // @ts-expect-error a source is for good
  publisher.source = "other";
  await publisher.close();
  return publisher;
}

// @ts-expect-error without onError nobody would hear of errors
openPublisher({ agent: "my-agent" });
// @ts-expect-error the agent has a name
openPublisher({ onError: () => undefined });
openPublisher({ agent: "a", onError: async () => undefined });
// @ts-expect-error milliseconds are a number
openPublisher({ ...options, heartbeatMs: "30s" });

const settings: HookSettings = hookSettings();
const event: HookEventName = "PermissionRequest";
export const command: HookCommand | undefined = settings.hooks[event][0]?.hooks[0];
hookSettings({ command: "npx agent-lifecycle" });
// @ts-expect-error there is no hook for it
export const tool = settings.hooks.PreToolUse;
