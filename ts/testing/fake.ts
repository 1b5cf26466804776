// How to run the fake adapter: the driver that speaks to it, and the configuration that makes it do what a script says.
import path from "node:path";
import type { AdapterCapabilities, RuntimeDriver } from "../runtime/driver.js";
import { jsonRpcDriver } from "../runtime/json-rpc-driver.js";
import type { FakeAdapterScript } from "./fake-script.js";

/** Everything that a driver can be able to do; the fake can do all of it. */
export const FAKE_CAPABILITIES: AdapterCapabilities = Object.freeze({
  resume: true,
  steering: true,
  abort: true,
  approvals: true,
  userInput: true,
});

/** The configuration of an instance of {@link fakeDriver}. */
export interface FakeAdapterConfig extends Readonly<Record<string, unknown>> {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: readonly string[];
}

/**
 * The configuration that runs a fake adapter with this script, for a `jsonRpcDriver`. `environment` gives it variables, which
 * the texts of its steps can name.
 */
export function fakeAdapter(
  script: FakeAdapterScript,
  environment: Readonly<Record<string, string>> = {},
): FakeAdapterConfig {
  return {
    command: process.execPath,
    args: [path.join(__dirname, "fake-adapter.js"), JSON.stringify(script)],
    environment: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
  };
}

/** The neutral driver with the capabilities of a script that has all of them, and turn ids. */
export function fakeDriver(): RuntimeDriver {
  return jsonRpcDriver({ adapterId: "fake", capabilities: FAKE_CAPABILITIES, nativeTurnIds: true });
}
