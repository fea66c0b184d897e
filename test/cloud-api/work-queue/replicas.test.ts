/** What replicas that share a queue do to one another, statement by statement: who finds what another is just looking at. */
import { expect, test } from 'vitest';
import { workQueueMigrations } from '../../../src/cloud-api/work-queue/index.ts';
import { createWorkStore } from '../../../src/cloud-api/work-queue/store.ts';
import { engines } from '../../support/engines.ts';

const rounds = 40;

test.each(engines)(
  'on $name, who leases while another does is not told that there is nothing',
  async ({ name, place }) => {
    const { open } = await place();
    // A file is of one process.
    const first = await open(workQueueMigrations);
    const stores = [first, name === 'postgres' ? await open(workQueueMigrations) : first];
    let now = Date.now();
    const works = stores.map((store) => createWorkStore({ store, now: () => now, leaseMs: 60_000 }));
    const [one, other] = works as [(typeof works)[0], (typeof works)[0]];
    for (let round = 0; round < rounds; round += 1) {
      const userId = `user_${round}`;
      const make = (id: string) => one.create(userId, `${userId}_${id}`, {});
      await make('old');
      await one.lease(userId, 'dead', 'lease_0');
      now += 60_001;
      await make('new');
      // One whose lease is over, one that is new: each of the two has something to do.
      const got = await Promise.all([one.lease(userId, 'w1', 'lease_1'), other.lease(userId, 'w2', 'lease_2')]);
      expect(got.map((row) => row?.id).sort()).toEqual([`${userId}_new`, `${userId}_old`]);
      expect(await other.lease(userId, 'w3', 'lease_3')).toBeNull();
    }
  },
);
