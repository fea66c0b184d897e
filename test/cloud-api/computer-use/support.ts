/** Runs as a computer would answer them, and a cloud of two people whose computers are reached over a real link. */
import { createCallersComputers } from '../../../src/cloud-api/computer-use/computers.ts';
import type { HostedDevices } from '../../../src/cloud-api/computer-use/hosted-port.ts';
import { createDeviceRoutes } from '../../../src/cloud-api/computer-use/index.ts';
import { createRunProxy } from '../../../src/cloud-api/computer-use/run-proxy.ts';
import type { Run } from '../../../src/contracts/computer-use/run.ts';
import { everyScope } from '../../../src/kit/http/principals.ts';
import type { BoundRoute, OwnerLookups } from '../../../src/kit/http/types.ts';
import { serve } from '../../kit/http/support.ts';
import { computers, resolve, startPairedCloud, startPairedComputer } from '../../support/paired-computers.ts';

export const at = '2026-11-22T10:00:00.000Z';

export function run(id: string, more: Partial<Run> = {}): Run {
  return {
    run_id: id,
    session_id: 'session_1',
    mode: 'direct',
    status: 'running',
    task: null,
    target_scope: 'browser',
    steps: 0,
    max_steps: 20,
    result: null,
    error: null,
    approval: null,
    pause: null,
    artifacts: [],
    usage: { model: null, input_tokens: 0, output_tokens: 0, cost_usd: null, actions: 0 },
    metadata: {},
    created_at: at,
    started_at: at,
    finished_at: null,
    ...more,
  };
}

/** `bearer` is the name of who calls. */
export async function startCloud(hosted: HostedDevices['pass'] | null = null) {
  const { cloud, engines } = await startPairedCloud();
  const callers = createCallersComputers({
    engines,
    advice: 'See that it runs.',
    computers: {
      resolve,
      list: async (userId) =>
        computers
          .filter(({ user }) => user === userId)
          .map(({ id }) => ({ id, state: cloud.dialIns.state(id).linked ? 'linked' : 'away' })),
    },
  });
  const web = await serve({
    routes: [
      ...createRunProxy(callers).routes,
      ...createDeviceRoutes(callers, hosted === null ? null : { pass: hosted }).routes,
    ],
    authenticators: [
      {
        name: 'by name',
        authenticate({ headers }) {
          const userId = headers.authorization?.slice('Bearer '.length);
          return userId === undefined ? null : { kind: 'user', userId, scopes: everyScope, via: 'cookie' };
        },
      },
    ],
  });
  return { cloud, web };
}

/** Its person is the one of {@link computers}. */
export async function startComputer(
  { cloud }: Awaited<ReturnType<typeof startCloud>>,
  letter: 'a' | 'b' | 'c',
  routes: readonly BoundRoute[],
  owners: OwnerLookups = {},
) {
  return startPairedComputer(cloud, ['a', 'b', 'c'].indexOf(letter), {
    routes,
    owners: { 'computer-use-run': () => true, 'computer-use-session': () => true, ...owners },
    idempotency: { once: (_asked, perform) => perform(null) },
    shape: 'plain',
  });
}
