/** A paired computer that is restored a second time: one identity, of which the cloud takes the one paired last. */
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { restoreBackup } from '../../../src/host/backup/restore-backup.ts';
import { writeBackup } from '../../../src/host/backup/write-backup.ts';
import { placesIn } from '../../../src/host/places.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { startPeople } from '../../cloud-api/identity/support.ts';
import { keepUntilEnd } from '../../kit/http/support.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { computersOf, pairUp, signIn, startInstallation } from '../paired-support.ts';

const stop = keepUntilEnd();
afterAll(stop);

test('a copy elsewhere is not paired; paired, it is the computer, and the first one is refused', async () => {
  const people = await startPeople();
  const ada = await signIn(people);
  const first = await startInstallation();
  const { computerId } = (await pairUp(first, people, ada)) as { computerId?: string };
  const file = join(scratchFolder(), 'b.tar.gz');
  await writeBackup({ places: first.places, file, withSecrets: true, clock: systemClock });

  const home = join(scratchFolder(), 'home');
  const restored = await restoreBackup({
    places: placesIn(home),
    file,
    salvage: false,
    dryRun: false,
    clock: systemClock,
  });
  expect(restored.pairing).toBe('dropped');
  const second = await startInstallation({ home });
  expect(await second.pairing()).toEqual({ state: 'unpaired', computerId });
  expect((await second.engine('GET', '/api/factory/ledger/verify')).json).toMatchObject({ ok: true });
  // The first one notices nothing of a copy that is not paired.
  expect((await first.pairing()).link?.linked).toBe(true);

  await pairUp(second, people, ada);
  expect(await computersOf(ada)).toMatchObject([{ id: computerId, state: 'linked' }]);
  await expect.poll(async () => (await first.pairing()).link?.linked).not.toBe(true);
  expect((await second.pairing()).link?.linked).toBe(true);
}, 90_000);
