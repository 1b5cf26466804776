// What must compile, and what must not. `tsc` is the test runner.
import { LifecycleError, coreVersion } from "agent-lifecycle";

export const version: string = coreVersion();
// @ts-expect-error: it takes nothing.
coreVersion(1);

export const error: TypeError = new LifecycleError("invalid_value", "no", { path: "a.b" });
export const code: string = new LifecycleError("invalid_value", "no").code;
// @ts-expect-error: the code is set once.
new LifecycleError("invalid_value", "no").code = "other";
// @ts-expect-error: a code and a message.
export const incomplete = new LifecycleError("invalid_value");
