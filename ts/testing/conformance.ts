// The conformance suite: rules that an adapter's author tries on their own driver.
import { optionsArgument, textArgument } from "../arguments.js";
import { thrownText } from "../callbacks.js";
import type { RuntimeDriver } from "../runtime/driver.js";
import { createRuntimeRegistry } from "../runtime/registry.js";
import { within } from "../runtime/within.js";
import { Bench, ConformanceFailure } from "./bench.js";
import { CONTRACT_RULES } from "./rules/contract.js";
import { CONTROL_RULES } from "./rules/control.js";
import { DURABILITY_RULES } from "./rules/durability.js";
import { REQUEST_RULES } from "./rules/requests.js";
import type { RuleDefinition } from "./rules/rule.js";
import { TURN_RULES } from "./rules/turns.js";
import type { ConformanceScenario, ConformanceScenarios } from "./scenario.js";

export interface ConformanceOptions {
  /** The driver under test. */
  readonly driver: RuntimeDriver;
  /** How its harness is made to behave. A rule whose scenario is left out is skipped. */
  readonly scenarios: ConformanceScenarios;
  /** Milliseconds that one rule may take; 60,000 by default. */
  readonly ruleMs?: number | undefined;
  /** Milliseconds that the harness has to end a turn that is aborted; 10,000 by default. */
  readonly abortMs?: number | undefined;
}

/** A rule, for any test runner: `test(rule.title, { skip: rule.skip }, rule.run)`. */
export interface ConformanceRule {
  readonly id: string;
  /** What is to be so. */
  readonly title: string;
  readonly scenario: ConformanceScenario;
  /** Why it cannot be tried; false where it can. */
  readonly skip: string | false;
  /** Tries it. Rejects where the adapter does not keep it, and where it is skipped: what is not tried has not passed. */
  run(): Promise<void>;
}

/** What became of a rule. */
export interface ConformanceResult {
  readonly rule: string;
  readonly title: string;
  readonly status: "passed" | "failed" | "skipped";
  /** Why it failed, or was skipped. */
  readonly message?: string;
}

const RULES: readonly RuleDefinition[] = [
  ...CONTRACT_RULES,
  ...TURN_RULES,
  ...CONTROL_RULES,
  ...DURABILITY_RULES,
  ...REQUEST_RULES,
];

const OPTIONS = ["driver", "scenarios", "ruleMs", "abortMs"] as const;

/** The rules, for this driver. Each makes its own instance, store and sessions when it runs, and leaves nothing. */
export function adapterConformance(options: ConformanceOptions): ConformanceRule[] {
  const {
    driver,
    scenarios = {},
    ruleMs = 60_000,
    abortMs = 10_000,
  } = optionsArgument(options, "options", OPTIONS);
  textArgument(driver?.adapterId, "driver.adapterId");
  const subject = driver!;
  const unregistered = registrationFault(subject);
  return RULES.map(({ id, title, scenario, exempt, run }) => {
    const make = scenarios[scenario];
    const skip = (): string | false => {
      // The one rule that says so.
      if (id === "capabilities" && unregistered !== undefined) return false;
      if (unregistered !== undefined)
        return "the driver cannot be registered, so nothing can be opened: see capabilities";
      return exempt?.(subject) ?? (make === undefined && `no harness for the scenario ${scenario} was given`);
    };
    const skipped = skip();
    return Object.freeze<ConformanceRule>({
      id,
      title,
      scenario,
      skip: skipped,
      async run() {
        if (skipped !== false) throw new ConformanceFailure(`skipped: ${skipped}`);
        if (unregistered !== undefined) throw new ConformanceFailure(unregistered);
        const bench = await Bench.make(subject, make!, abortMs);
        try {
          await within(ruleMs, run(bench), () => new ConformanceFailure(`not done within ${ruleMs} ms`));
        } finally {
          await bench.close();
        }
      },
    });
  });
}

/** Tries all rules, one after the other. */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceResult[]> {
  const results: ConformanceResult[] = [];
  for (const { id: rule, title, skip, run } of adapterConformance(options)) {
    if (skip !== false) {
      results.push({ rule, title, status: "skipped", message: skip });
      continue;
    }
    try {
      await run();
      results.push({ rule, title, status: "passed" });
    } catch (error) {
      results.push({ rule, title, status: "failed", message: thrownText(error) });
    }
  }
  return results;
}

function registrationFault(driver: RuntimeDriver): string | undefined {
  try {
    createRuntimeRegistry({ drivers: [driver], instances: [] });
    return undefined;
  } catch (error) {
    return thrownText(error);
  }
}
