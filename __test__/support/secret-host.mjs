// A host whose sessions have secrets in every place: `secret-host.mjs <JSON>`. It keeps in one file all that it is ever shown, and logs
// what a host logs. What is asked of it on standard input is the next step; it says on standard output when one is done.
import fs from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { inspect } from "node:util";
import { BindingStore, createRuntimeRegistry, openRuntimeSession } from "agent-lifecycle";
import { FAKE_CAPABILITIES, fakeAdapter, fakeDriver } from "agent-lifecycle/testing";

const { home, kept, secrets, environment, args, scripts } = JSON.parse(process.argv[2]);

const shown = [];
const keep = (what, value) => {
  shown.push({ what, value });
  fs.writeFileSync(kept, JSON.stringify(shown));
};

/** All that a log would have of an error. */
const keepError = (what, error) => {
  console.error(error);
  keep(what, [
    inspect(error, { depth: 9, showHidden: true }),
    String(error),
    error.stack,
    error,
    error.details,
  ]);
};

const driver = fakeDriver();
const registry = createRuntimeRegistry({
  drivers: [
    {
      ...driver,
      async diagnose({ config }) {
        throw new Error(`cannot log in with ${config.environment.join(" ")}`);
      },
    },
  ],
  instances: Object.entries(scripts).map(([name, script]) => {
    const config = fakeAdapter(
      {
        capabilities: FAKE_CAPABILITIES,
        nativeTurnIds: true,
        sessions: path.join(home, "native"),
        ...script,
      },
      environment,
    );
    return {
      runtimeInstanceId: name,
      adapterId: "fake",
      config: { ...config, args: [...config.args, ...args] },
    };
  }),
});
const store = await BindingStore.open(path.join(home, "bindings.db"));

async function run(name, answers) {
  let session;
  const events = [];
  try {
    session = await openRuntimeSession({
      store,
      registry,
      productSessionId: `ps_${name}`,
      runtimeInstanceId: name,
      workspace: home,
      secrets,
      onEvent(event) {
        keep("event", event);
        events.push(event);
        console.log(JSON.stringify(event));
        if (event.kind === "approval_requested" || event.kind === "user_input_requested") {
          keep("status", session.status());
          void respond(event).catch((error) => keepError("answer", error));
        }
      },
      onDiagnostic(diagnostic) {
        keep("diagnostic", diagnostic);
        console.error(diagnostic);
      },
    });
  } catch (error) {
    keepError("open", error);
    return;
  }
  const respond = async (event) => {
    const { requestId } = event.request;
    if (event.kind === "approval_requested") return session.respondToApproval(requestId, "yes");
    // A wrong one first: its error must not repeat what was said.
    const wrong = Object.fromEntries(Object.keys(answers).map((id) => [id, { options: [answers[id].text] }]));
    await session.respondToUserInput(requestId, wrong).catch((error) => keepError("answer", error));
    keep("resolution", await session.respondToUserInput(requestId, answers));
  };
  try {
    keep("turn", await session.prompt({ text: "work" }));
  } catch (error) {
    keepError("prompt", error);
  }
  await session.prompt({ text: "again" }).catch((error) => keepError("prompt", error));
  keep("status", session.status());
  return session;
}

const input = createInterface({ input: process.stdin });
const live = [];
for await (const line of input) {
  const { run: name, answers } = JSON.parse(line);
  if (name === undefined) break;
  const session = await run(name, answers);
  if (session !== undefined) live.push(session);
  keep("inspection", await registry.inspect());
  for (const { productSessionId } of await store.list()) {
    keep("binding", [await store.inspect(productSessionId), await store.history(productSessionId)]);
  }
  console.log(`done ${name}`);
}
await Promise.all(live.map((session) => session.dispose()));
await store.close();
