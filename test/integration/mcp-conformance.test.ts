/** The protocol's own suites, over the same layer and dispatcher that the product has (figure `tool-server.conformance`). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readOutOfReach, runScenario, runSuite, type Suite, suites } from '../support/mcp/conformance.ts';
import { createProfile } from '../support/mcp/profile.ts';
import { type ServedProfile, serveMcp } from '../support/mcp/serve-profile.ts';

const outOfReach = readOutOfReach();
let served: ServedProfile;
beforeAll(async () => {
  served = await serveMcp(createProfile());
});
afterAll(() => served.close());

/** The scenarios of the tasks extension that the suite has; none counts towards a tier, and all must pass here. */
const taskScenarios = [
  'tasks-capability-negotiation',
  'tasks-dispatch-and-envelope',
  'tasks-lifecycle',
  'tasks-mrtr-composition',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-request-state-removal',
  'tasks-required-task-error',
  'tasks-status-notifications',
  'tasks-wire-fields',
];

/** How many scenarios count: a suite that ran fewer would say nothing. */
const counted: Readonly<Record<Suite, number>> = { '2026-07-28': 37, '2025-11-25': 30, older: 32 };

test.each(suites)(
  'of %s all that counts passes but what is out of reach, which fails; no message breaks its schema',
  async (suite) => {
    const results = await runSuite(suite, served.url);
    const scored = results.filter((result) => result.scored);
    expect(scored.length).toBe(counted[suite]);
    const failed = scored.filter(({ passed }) => !passed);
    const known = Object.keys(outOfReach[suite]);
    // One that is listed and passes is no longer out of reach: it leaves the list.
    expect(failed.map(({ scenario }) => scenario).toSorted()).toEqual(known.toSorted());
    expect(results.filter(({ violations }) => violations > 0)).toEqual([]);
    const tasks = results.filter(({ scenario }) => scenario.startsWith('tasks-'));
    expect(tasks.map(({ scenario }) => scenario).toSorted()).toEqual(suite === '2026-07-28' ? taskScenarios : []);
    expect(tasks.filter(({ passed }) => !passed)).toEqual([]);
  },
);

test('where the headers of 2026-07-28 are required, the suite’s checks of them pass, though they do not count', async () => {
  const strict = await serveMcp(createProfile(), { strictHeaders: true });
  try {
    const { passed, faults } = await runScenario('http-header-validation', '2026-07-28', strict.url);
    expect({ passed, faults }).toEqual({ passed: true, faults: [] });
  } finally {
    await strict.close();
  }
});
