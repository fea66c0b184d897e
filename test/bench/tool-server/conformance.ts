/**
 * The protocol's own suites over the layer and dispatcher that the product has: scenarios that count and failed, but for those that no
 * server of plain JSON without state can meet (listed with their reasons), and messages that their version's schema does not have.
 */
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { readOutOfReach, runSuite, suites, suiteVersions } from '../../support/mcp/conformance.ts';
import { createProfile } from '../../support/mcp/profile.ts';
import { serveMcp } from '../../support/mcp/serve-profile.ts';

export const figures: readonly Figure[] = [{ name: 'tool-server.conformance', run }];

async function run({ log }: FigureOptions): Promise<Measured> {
  const outOfReach = readOutOfReach();
  const served = await serveMcp(createProfile());
  const detail: Record<string, unknown> = {};
  let faults = 0;
  let scenarios = 0;
  try {
    for (const suite of suites) {
      const results = await runSuite(suite, served.url);
      const beyond = outOfReach[suite];
      // Tasks are an extension, which no tier counts; here they do.
      const scored = results.filter(({ scored, scenario }) => scored || scenario.startsWith('tasks-'));
      const applicable = scored.filter(({ scenario }) => beyond[scenario] === undefined);
      const failed = applicable.filter(({ passed }) => !passed);
      const violations = results.reduce((sum, result) => sum + result.violations, 0);
      for (const { scenario, faults: said } of failed) log(`${suite} ${scenario}: ${said.join('; ')}`);
      faults += failed.length + violations;
      scenarios += applicable.length;
      detail[suite] = {
        counted: scored.length,
        passed: applicable.length - failed.length,
        failed: failed.map(({ scenario }) => scenario),
        violations,
        outOfReach: Object.keys(beyond),
      };
    }
  } finally {
    await served.close();
  }
  return {
    value: faults,
    unit: 'scenarios failed and messages against their schema',
    n: scenarios,
    at: `the suites ${suiteVersions()} over a profile of test tools behind the real dispatcher`,
    detail,
  };
}
