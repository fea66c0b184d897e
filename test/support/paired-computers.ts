/** Three computers of two people, paired with one cloud, each an engine with routes behind a real link. */
import type { RequestListener } from 'node:http';
import { createEngines } from '../../src/cloud-api/link/engines.ts';
import { createDispatcher, type DispatcherOptions } from '../../src/kit/http/dispatcher.ts';
import { createLinkTokens, createPairedLinkAuthenticator } from '../../src/kit/http/paired-link.ts';
import { countingIds, onEnd } from '../kit/http/support.ts';
import { quiet, startTestCloud, startTestComputer, type TestCloud } from './link.ts';

export const computers: { readonly id: string; readonly cloudId: string; readonly user: string }[] = [
  { id: 'computer_a', cloudId: 'cc_a', user: 'ada' },
  { id: 'computer_b', cloudId: 'cc_b', user: 'ada' },
  { id: 'computer_c', cloudId: 'cc_c', user: 'bob' },
];

/** A computer of this person: the named one, or their first. */
export const resolve = async (userId: string, named: string | null): Promise<string | null> =>
  computers.find(({ id, cloudId, user }) => user === userId && (named === null || named === id || named === cloudId))
    ?.id ?? null;

export async function startPairedCloud() {
  const cloud = await startTestCloud();
  onEnd(() => cloud.close());
  const engines = createEngines({ link: cloud.dialIns, computers: { resolve } });
  onEnd(async () => engines.close());
  return { cloud, engines };
}

/** Its person is the one of {@link computers}. `first` sees each request before it. */
export async function startPairedComputer(
  cloud: TestCloud,
  at: number,
  options: Pick<DispatcherOptions, 'routes' | 'owners' | 'shape' | 'idempotency'>,
  first?: RequestListener,
) {
  const { id, user } = computers[at]!;
  const tokens = createLinkTokens();
  const dispatcher = createDispatcher({
    listener: { kind: 'socket' },
    authenticators: [createPairedLinkAuthenticator({ tokens, user: () => user })],
    ids: countingIds(),
    log: { ...quiet, error: () => {} },
    answers: 'throw',
    ...options,
  });
  const computer = await startTestComputer(cloud, {
    id,
    linkToken: tokens.next,
    random: () => 0.1,
    engine: (incoming, response) => {
      first?.(incoming, response);
      if (!response.headersSent && !response.destroyed) void dispatcher.handle(incoming, response);
    },
  });
  onEnd(() => computer.close());
  await computer.linked();
  return computer;
}
