/** What is counted together by all processes on one database, and what each counts for itself. */
import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { createLimits } from '../../../src/kit/http/limits.ts';
import { createSharedCount, sharedCountMigrations } from '../../../src/kit/http/shared-count.ts';
import { engines, type Place } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';

const refusal = new AppError('refused', 'bad', 'no', { status: 401 });
const from = (address: string) => ({ socket: { remoteAddress: address }, headers: {} }) as IncomingMessage;

async function replica(place: Place) {
  const clock = createTestClock();
  const store = await place.open(sharedCountMigrations);
  const failures = createSharedCount({ store, clock, windowMs: 60_000 });
  const limits = createLimits({ failedCredentials: 4, publicPages: 2 }, { failures });
  const fail = async (address = '192.0.2.1') => (await limits.failed(from(address), refusal)).status;
  return { clock, store, limits, fail };
}

describe.each(engines)('on $name', ({ place }) => {
  test('bad credentials of an address count at every process, for a minute', async () => {
    const there = await place();
    const [one, other] = [await replica(there), await replica(there)];
    expect([await one.fail(), await other.fail(), await one.fail(), await other.fail()]).toEqual([401, 401, 401, 401]);
    const over = await other.limits.failed(from('192.0.2.1'), refusal);
    expect([over.status, over.options.wireCode]).toEqual([429, 'rate_limited']);
    expect(over.options.retryAfter).toBeGreaterThan(50);
    expect(await one.fail()).toBe(429);
    expect(await one.fail('192.0.2.2')).toBe(401);
    await one.clock.advance(61_000);
    expect(await one.fail()).toBe(401);
  });

  test('who goes on guessing costs the database nothing more', async () => {
    const { fail, store } = await replica(await place());
    for (let n = 0; n < 50; n += 1) await fail();
    const hits = async () => (await store.get<{ hits: number }>('SELECT hits FROM shared_count'))?.hits;
    expect(await hits()).toBe(4);
  });

  test('while the database is away each process counts for itself', async () => {
    const { fail, store } = await replica(await place());
    await store.close();
    for (let n = 0; n < 4; n += 1) expect(await fail()).toBe(401);
    expect(await fail()).toBe(429);
  });
});
