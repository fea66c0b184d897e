/** What becomes of deliveries: tried again, given up, ended, run out; and that nobody else is held up by it. */
import { describe, expect, test } from 'vitest';
import type { EdgeSubscription } from '../../../src/contracts/edge/routes.ts';
import { engines, sqliteIn } from '../../support/engines.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { startReceiver } from './receiver.ts';
import { app, moving, openWorld, retrying, until, type World } from './support.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const sqlite = () => sqliteIn(scratchFolder());
const subscriptionsOf = async ({ edge }: World): Promise<readonly EdgeSubscription[]> =>
  (await edge.subscriptionsOf(app.userId)).get(app.clientId) ?? [];
const waiting = async ({ store }: World) =>
  (await store.get<{ n: number }>("SELECT count(*) AS n FROM lane_item WHERE lanes = 'edge'"))!.n;

describe.each(engines)('on $name', ({ place }) => {
  test('a delivery that fails is tried after 1 s, 10 s, 1, 5 and 15 min, signed anew with the same id, then given up and missed', async () => {
    const clock = createTestClock();
    const [receiver, world] = [await startReceiver(), await openWorld({ place: await place(), clock })];
    const { result } = await world.subscribe(receiver);
    receiver.answer = ({ body }) => ((body.data as { runId?: string } | undefined)?.runId === 'run_1' ? 500 : null);
    await world.run('run_1');
    await world.run('run_2');
    const tries = () => receiver.received.filter(({ status }) => status === 500);
    await until(() => tries().length === 1);
    await retrying(world, clock, () => tries().length === 4);
    const renewed = await world.subscribe(receiver);
    expect(renewed.result.deliveryStatus).toMatchObject({ lastError: 'http_5xx', failedSince: expect.any(String) });
    await retrying(world, clock, () => receiver.control('gap').length === 1);
    const at = tries().map(({ timestamp }) => timestamp * second);
    expect(at).toHaveLength(6);
    for (const [index, wait] of [second, 10 * second, minute, 5 * minute, 15 * minute].entries()) {
      const waited = at[index + 1]! - at[index]!;
      // Its header says whole seconds.
      expect(waited).toBeGreaterThanOrEqual(wait - second);
      expect(waited).toBeLessThanOrEqual(wait + second);
    }
    expect(new Set(tries().map(({ id }) => id)).size).toBe(1);
    expect(new Set(tries().map(({ signatures }) => signatures.join())).size).toBe(6);
    expect(tries().every(({ signedWith }) => signedWith.length === 1)).toBe(true);
    expect(receiver.events()).toMatchObject([{ body: { data: { runId: 'run_2' } } }]);
    const [gap] = receiver.control('gap');
    expect(gap?.body).toEqual({ type: 'gap', cursor: tries()[0]?.id });
    expect(gap?.id).toMatch(/^msg_gap_\w+$/);
    expect(await subscriptionsOf(world)).toMatchObject([{ id: result.id, status: 'active' }]);
    await until(async () => (await waiting(world)) === 0);
  });

  test('an owner ends a subscription: its app is told so, and what waited is not sent', async () => {
    const clock = createTestClock();
    const [receiver, world] = [await startReceiver(), await openWorld({ place: await place(), clock })];
    const { result } = await world.subscribe(receiver);
    receiver.answer = ({ body }) => (body.type === undefined ? 503 : null);
    await world.run('run_1');
    await world.run('run_2');
    await until(() => receiver.received.some(({ status }) => status === 503));
    const path = `/api/v1/mcp/events/subscriptions/${result.id}`;
    expect(await world.rest('DELETE', path, 'somebody_else')).toMatchObject({
      status: 404,
      json: { error: 'subscription_not_found' },
    });
    expect(await world.rest('DELETE', path)).toMatchObject({ status: 204 });
    await until(() => receiver.control('terminated').length === 1);
    const [terminated] = receiver.control('terminated');
    expect(terminated?.body).toEqual({
      type: 'terminated',
      reason: 'ended_by_owner',
      error: { code: -32012, message: 'Forbidden', data: { reason: 'ended_by_owner' } },
    });
    expect(terminated).toMatchObject({ subscription: result.id, signedWith: receiver.secrets });
    await moving(clock, second, async () => (await waiting(world)) === 0);
    expect(receiver.received.filter(({ status }) => status === 503).length).toBeLessThanOrEqual(1);
    expect(await subscriptionsOf(world)).toEqual([]);
    expect(await world.rest('DELETE', path)).toMatchObject({ status: 404 });
    receiver.answer = () => null;
    // What was stored in the moment in which it begins anew, and was queued for nobody, would be its own.
    await clock.advance(1);
    expect((await world.subscribe(receiver)).result.id).toBe(result.id);
    await clock.advance(1);
    await world.run('run_3');
    await until(() => receiver.events().length === 1);
    expect(receiver.events()).toMatchObject([{ body: { data: { runId: 'run_3' } } }]);
  });
});

test('an app that lost its access is told so at the next event, which it does not get', async () => {
  const clock = createTestClock();
  const [receiver, world] = [await startReceiver(), await openWorld({ place: sqlite(), clock })];
  await world.subscribe(receiver);
  await world.subscribe(receiver, { server: '/bots/bot_1' });
  world.shutOut.add(app.clientId);
  await world.run('run_1');
  await until(() => receiver.control('terminated').length === 2);
  expect(receiver.control('terminated')[0]?.body).toMatchObject({
    error: { code: -32012, data: { reason: 'access_revoked' } },
  });
  await until(async () => (await subscriptionsOf(world)).length + (await waiting(world)) === 0);
  expect(receiver.events()).toEqual([]);
  expect(new Set(world.asked)).toEqual(new Set(['agents:read', 'bots:act']));
});

test('what the address itself does not want is not sent again, nor missed, and the subscription stays', async () => {
  const clock = createTestClock();
  const [receiver, world] = [await startReceiver(), await openWorld({ place: sqlite(), clock })];
  await world.subscribe(receiver);
  for (const status of [410, 413]) {
    receiver.answer = () => status;
    await world.run(`run_${status}`);
    await until(async () => (await waiting(world)) === 0 && receiver.received.at(-1)?.status === status);
    expect(await subscriptionsOf(world)).toMatchObject([{ status: 'failing', lastDeliveryAt: null }]);
  }
  receiver.answer = () => null;
  await world.run('run_1');
  await until(async () => (await subscriptionsOf(world))[0]?.status === 'active');
  expect(receiver.received.map(({ status }) => status)).toEqual([200, 410, 413, 204]);
});

test('a redirect is not followed, and counts as a failure', async () => {
  const clock = createTestClock();
  const [receiver, world] = [await startReceiver(), await openWorld({ place: sqlite(), clock })];
  await world.subscribe(receiver);
  receiver.answer = () => 307;
  await world.run('run_1');
  await until(() => receiver.received.length === 2);
  receiver.answer = () => null;
  await moving(clock, second, () => receiver.events().length === 1);
  expect(receiver.received.map(({ path }) => path)).toEqual(Array.from({ length: 3 }, () => '/hook?tenant=a%20b'));
});

test('who does not know a gap does not wait behind it', async () => {
  const clock = createTestClock();
  const [receiver, world] = [await startReceiver(), await openWorld({ place: sqlite(), clock })];
  await world.subscribe(receiver);
  receiver.answer = ({ body }) => (body.type === 'gap' ? 400 : 500);
  await world.run('run_1');
  await retrying(world, clock, () => receiver.control('gap').length === 1);
  receiver.answer = () => null;
  await world.run('run_2');
  await until(() => receiver.events().length === 1);
  expect(receiver.control('gap')).toHaveLength(1);
});

test('an address that fails for a day holds up nobody, keeps few rows, and hears once that it missed something', async () => {
  const clock = createTestClock();
  const [dead, well] = [await startReceiver(), await startReceiver()];
  const world = await openWorld({ place: sqlite(), clock });
  await world.subscribe(dead, { ttlMs: null });
  await world.subscribe(well, { ttlMs: null, name: 'inbox.item.created' });
  dead.answer = () => 500;
  await Promise.all(Array.from({ length: 1200 }, (_, index) => world.run(`run_${index}`)));
  await world.emit('inbox.item.created', 'item_1', { itemId: 'item_1', title: 'Mail' });
  await until(() => well.events().length === 1);
  // What is queued in one transaction is counted after it.
  expect(await waiting(world)).toBeLessThanOrEqual(1101);
  expect(await waiting(world)).toBeGreaterThan(900);
  await moving(clock, 20 * minute, async () => (await waiting(world)) === 0);
  const tries = Map.groupBy(dead.received.slice(1), ({ id }) => id);
  // Of a day each 21 minutes one, and the schedule of each is its own.
  expect(tries.size).toBeGreaterThan(60);
  expect(tries.size).toBeLessThan(80);
  const found = (await subscriptionsOf(world)).toSorted((one, other) => (one.status < other.status ? -1 : 1));
  expect(found).toMatchObject([{ status: 'active' }, { status: 'failing', lastDeliveryAt: null }]);
  dead.answer = () => null;
  await world.run('at last');
  await until(() => dead.events().length === 1);
  const taken = dead.received.slice(1).filter(({ status }) => status === 204);
  expect(taken).toMatchObject([{ body: { type: 'gap' } }, { body: { data: { runId: 'at last' } } }]);
  await until(async () => (await subscriptionsOf(world)).every(({ status }) => status === 'active'));
}, 120_000);

test('what waited when the program ended goes on with the next start', async () => {
  const folder = scratchFolder();
  const clock = createTestClock();
  const [receiver, first] = [await startReceiver(), await openWorld({ place: sqliteIn(folder), clock })];
  const { result } = await first.subscribe(receiver);
  receiver.answer = () => 503;
  await first.run('run_1');
  await until(() => receiver.received.some(({ status }) => status === 503));
  await first.edge.close();
  // Stored, and not queued by anybody.
  await first.run('run_2');
  await first.close();
  receiver.answer = () => null;
  await clock.advance(hour);
  const next = await openWorld({ place: sqliteIn(folder), clock });
  await until(() => receiver.events().length === 2);
  expect(receiver.events()).toMatchObject([
    { subscription: result.id, body: { data: { runId: 'run_1' } }, signedWith: receiver.secrets },
    { subscription: result.id, body: { data: { runId: 'run_2' } } },
  ]);
  await next.close();
});

test('an attempt that the end of the program cut off is none of the six', async () => {
  const folder = scratchFolder();
  const clock = createTestClock();
  const receiver = await startReceiver();
  const start = () => openWorld({ place: sqliteIn(folder), clock });
  let world = await start();
  await world.subscribe(receiver);
  await world.run('run_1');
  await until(() => receiver.events().length === 1);
  receiver.answer = () => 0;
  await world.run('run_2');
  for (let times = 1; times <= 7; times += 1) {
    await until(() => receiver.received.filter(({ status }) => status === 0).length === times);
    await world.close();
    world = await start();
  }
  receiver.answer = () => 503;
  await world.close();
  world = await start();
  await retrying(world, clock, () => receiver.received.filter(({ status }) => status === 503).length === 5);
  receiver.answer = () => null;
  await retrying(world, clock, () => receiver.events().length === 2);
  expect(receiver.control('gap')).toEqual([]);
  expect(new Set(receiver.received.slice(2).map(({ id }) => id)).size).toBe(1);
});

test('what an address is answering while the program ends is answered, and does not come again with the next start', async () => {
  const folder = scratchFolder();
  const [receiver, first] = [await startReceiver(), await openWorld({ place: sqliteIn(folder) })];
  await first.subscribe(receiver);
  let answer = () => {};
  receiver.answer = ({ response }) => {
    answer = () => void response.writeHead(204).end();
    return 0;
  };
  const taken = () =>
    receiver.received.flatMap(({ body }) => (body.data as { runId?: string } | undefined)?.runId ?? []);
  await first.run('run_1');
  await until(() => taken().length === 1);
  const closed = first.close();
  answer();
  await closed;
  receiver.answer = () => null;
  const next = await openWorld({ place: sqliteIn(folder) });
  await next.run('run_2');
  await until(() => taken().includes('run_2'));
  expect(taken()).toEqual(['run_1', 'run_2']);
});

test('an event that grew too old leaves to what comes after it all its six attempts', async () => {
  const folder = scratchFolder();
  const clock = createTestClock();
  const receiver = await startReceiver();
  const first = await openWorld({ place: sqliteIn(folder), clock });
  await first.subscribe(receiver, { ttlMs: null });
  receiver.answer = () => 503;
  const tries = () => receiver.received.filter(({ status }) => status === 503);
  await first.run('run_1');
  await retrying(first, clock, () => tries().length === 4);
  await first.close();
  await clock.advance(25 * hour);
  const world = await openWorld({ place: sqliteIn(folder), clock });
  // Told of the loss in vain, and given up.
  await retrying(world, clock, async () => (await waiting(world)) === 0);
  const counts = [...Map.groupBy(tries(), ({ id }) => id).values()].map((each) => each.length);
  expect(counts).toEqual([4, 6]);
  expect(tries().at(-1)?.body.type).toBe('gap');
});

test('a subscription that has run out gets nothing, is listed as such, begins anew, and is forgotten a week later', async () => {
  const clock = createTestClock();
  const [receiver, world] = [await startReceiver(), await openWorld({ place: sqlite(), clock })];
  const { result } = await world.subscribe(receiver, { ttlMs: 10 * minute });
  receiver.answer = ({ body }) => (body.type === undefined ? 503 : null);
  await world.run('run_1');
  await until(() => receiver.received.length === 2);
  await moving(clock, 5 * minute, async () => (await waiting(world)) === 0);
  await world.run('run_2');
  expect(await subscriptionsOf(world)).toMatchObject([{ id: result.id, status: 'expired' }]);
  receiver.answer = () => null;
  expect(await world.rest('DELETE', `/api/v1/mcp/events/subscriptions/${result.id}`)).toMatchObject({ status: 204 });
  expect(await subscriptionsOf(world)).toEqual([]);
  await clock.advance(1);
  expect((await world.subscribe(receiver, { ttlMs: 10 * minute })).result.id).toBe(result.id);
  await world.run('run_3');
  await until(() => receiver.events().length === 1);
  expect(receiver.events()).toMatchObject([{ body: { data: { runId: 'run_3' } } }]);
  expect(receiver.control('terminated')).toEqual([]);
  await world.edge.forgetOld(clock.now() + 24 * hour);
  expect(await subscriptionsOf(world)).toHaveLength(1);
  await world.edge.forgetOld(clock.now() + 8 * 24 * hour);
  expect(await subscriptionsOf(world)).toEqual([]);
  expect(await world.store.all('SELECT * FROM edge_verified')).toEqual([]);
});
