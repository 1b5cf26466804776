// What must compile around AdapterProcess, and what must not. `tsc` is the test runner.
import {
  type AdapterDiagnostic,
  type AdapterNotification,
  AdapterProcess,
  type AdapterProcessEnd,
  type AdapterProcessEndReason,
  type AdapterProcessLimits,
  type AdapterProcessOptions,
  type AdapterProcessState,
  type AdapterRequest,
  AdapterRequestError,
  type AdapterRequestOptions,
  AdapterResponseError,
} from "agent-lifecycle";

declare const undecided: string | undefined;

const limits: Partial<AdapterProcessLimits> = { startMs: 1000 };
const options: AdapterProcessOptions = {
  command: "harness",
  args: ["serve"],
  cwd: undecided,
  env: { KEY: undecided },
  ownership: "shared",
  limits,
  initialize: async (adapter) => adapter.request("initialize", { version: 1 }),
  onNotification: ({ method, params }: AdapterNotification) => console.log(method, params),
  onRequest: async ({ nativeId, replied, signal }: AdapterRequest) => {
    if (signal.aborted) throw new AdapterRequestError(-32_602, "no", { nativeId });
    replied.then(
      () => undefined,
      (error: unknown) => console.error(error),
    );
    return { decision: "yes" };
  },
  onDiagnostic: ({ code, count }: AdapterDiagnostic) => console.log(code, count.toFixed()),
  onState: (state: AdapterProcessState) => console.log(state),
};

export async function use(): Promise<AdapterProcessEndReason> {
  const adapter: AdapterProcess = await AdapterProcess.start(options);
  const request: AdapterRequestOptions = { timeoutMs: null, signal: AbortSignal.timeout(1000) };
  const { turn } = await adapter.request<{ turn: string }>("turn", undefined, request);
  const stop: () => void = adapter.subscribe(({ method }) => method === turn);
  stop();
  const pid: number | undefined = adapter.pid;
  await adapter.notify("bye", { pid });
  await adapter.release();
  const end: AdapterProcessEnd = await adapter.close();
  const code: number | null = end.code;
  const given = await adapter.request("turn");
  // @ts-expect-error what a request gives is not known
  console.log(code, given.turn);
  // @ts-expect-error states are read
  adapter.state = "ready";
  // @ts-expect-error it is started, not made
  console.log(new AdapterProcess(options));
  // @ts-expect-error the program is required
  await AdapterProcess.start({});
  // @ts-expect-error there are two
  await AdapterProcess.start({ command: "a", ownership: "mine" });
  // @ts-expect-error a number, or null
  await adapter.request("a", 1, { timeoutMs: "1" });
  return end.reason;
}

export const rpc = (error: unknown): number | undefined =>
  error instanceof AdapterResponseError ? error.rpcCode : undefined;
