/** Whoever sends requests to a cloud hears whether its database is there, and nothing about where. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { createHealthRoute } from '../../../src/cloud-api/identity/index.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { openPostgres } from '../../../src/kit/store/open-postgres.ts';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';
import { serve } from '../../kit/http/support.ts';
import { engines } from '../../support/engines.ts';
import { postgres } from '../../support/postgres.ts';
import { openWay } from '../../support/postgres-way.ts';

async function over(store: Pick<SharedStore, 'get' | 'trouble'>) {
  const { call } = await serve({ routes: [createHealthRoute(store)] });
  return async () => {
    const { status, json } = await call('GET', '/api/v1/health', { token: null });
    return [status, json];
  };
}
const away = [
  503,
  { error: 'unavailable', message: expect.stringContaining('database of this cloud does not answer') },
];

describe.each(engines)('on $name', ({ place }) => {
  test('a cloud whose database answers is well; one whose database has gone is not', async () => {
    const store = await (await place()).open([]);
    const ask = await over(store);
    expect(await ask()).toEqual([200, { ok: true }]);
    await store.close();
    expect(await ask()).toEqual(away);
  });

  test('a database that takes nothing, or is silent, is said as that', async () => {
    const store = await (await place()).open([]);
    const full = await over({
      get: (sql) => store.get(sql),
      trouble: () => 'The disk that holds /var/cloud.db is full.',
    });
    expect(await full()).toEqual([
      503,
      { error: 'unavailable', message: expect.stringContaining('cannot be written') },
    ]);
    const silent = await over({ get: () => new Promise<never>(() => {}), trouble: () => null });
    expect(await silent()).toEqual(away);
  });
});

test.skipIf(postgres === null)('while PostgreSQL is away it is 503, and 200 again once it is back', async () => {
  const way = await openWay(await postgres!.schema());
  const store = await openPostgres({ url: way.url, migrations: [], clock: systemClock, connections: 2 });
  onTestFinished(() => store.close());
  const ask = await over(store);
  expect(await ask()).toEqual([200, { ok: true }]);
  way.close();
  expect(await ask()).toEqual(away);
  await way.reopen();
  await expect.poll(ask).toEqual([200, { ok: true }]);
});
