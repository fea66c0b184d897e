/** What servers may post and what becomes of it, on each engine. */
import { describe, expect, test } from 'vitest';
import { relayBackoffMs } from '../../../src/cloud-api/connector-events/relay.ts';
import { type EventDelivery, largestEvent } from '../../../src/contracts/connectors/relay.ts';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';
import { waitFor } from '../../runtime-server/engine.ts';
import { engines } from '../../support/engines.ts';
import { computerId, openFloor, refusal } from './receiver-support.ts';
import { eventText, newSecret, signed, sub } from './support.ts';

const hour = 3600_000;
const day = 24 * hour;
const other = `sub_${'cd'.repeat(12)}`;

describe.each(engines)('events of connectors on $name', ({ name, place }) => {
  const floor = async () => openFloor(await place());
  const rows = (store: SharedStore, table: string) => store.all<Record<string, unknown>>(`SELECT * FROM ${table}`);
  /** The cloud has heard all answers. */
  const settled = (store: SharedStore) =>
    waitFor(
      () => rows(store, 'lane_item'),
      (left) => left.length === 0,
    );

  test('a subscription has one callback that cannot be guessed, and neither it nor a secret is kept in the open', async () => {
    const { open } = await floor();
    const cloud = await open();
    const secret = newSecret();
    const path = await cloud.register(secret);
    expect(path).toMatch(/^\/mcp\/events\/callback\/[0-9a-f]{64}$/);
    expect(await cloud.register(newSecret())).toBe(path);
    expect(await cloud.register(secret, other)).not.toBe(path);
    const kept = JSON.stringify(await rows(cloud.store, 'connector_registration'));
    expect(kept).not.toContain(path.split('/').at(-1));
    expect(kept).not.toContain(secret.slice('whsec_'.length, -4));
    for (const bad of ['', 'x', 'whsec_', `whsec_${Buffer.alloc(8).toString('base64')}`, secret.slice(6)]) {
      expect((await cloud.put(bad)).status).toBe(400);
    }
    expect((await cloud.web.call('PUT', `/api/v1/runtime/mcp-event-subscriptions/${sub}`, { body: {} })).status).toBe(
      401,
    );
  });

  test('what is forged, stale, changed, too large or no event is refused and leaves nothing', async () => {
    const { open, clock } = await floor();
    const cloud = await open();
    const secret = newSecret();
    const path = await cloud.register(secret);
    const text = eventText('evt_1');
    const good = signed(secret, 'evt_1', text, clock.now());
    const without = (name: string) => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name));
    const at = (ms: number) => signed(secret, 'evt_1', text, clock.now() + ms);
    const refused = [
      await cloud.post(path, text, {}),
      await cloud.post(path, text, signed(newSecret(), 'evt_1', text, clock.now())),
      await cloud.post(path, text, { ...good, 'webhook-id': 'evt_2' }),
      await cloud.post(path, text, at(-301_000)),
      await cloud.post(path, text, at(302_000)),
      await cloud.post(path, text, { ...good, 'webhook-signature': good['webhook-signature']!.replace('v1,', 'v1a,') }),
      await cloud.post(path, JSON.stringify(JSON.parse(text), null, 1), good),
      await cloud.post(path, text.replace('"n":1', '"n":2'), good),
      ...(await Promise.all(Object.keys(good).map((name) => cloud.post(path, text, without(name))))),
    ];
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 401));

    const malformed = [
      ['evt_1', eventText('evt_2')],
      ['evt_1', 'no JSON'],
      ['evt_1', '[1]'],
      ['evt_1', '"text"'],
      ['evt_1', eventText('evt_1', { name: 7 })],
      ['evt_1', eventText('evt_1', { timestamp: undefined })],
      ['evt_1', eventText('evt_1', { cursor: 7 })],
      ['msg_1', JSON.stringify({ type: 'unheard', challenge: 'x' })],
      ['msg_1', JSON.stringify({ type: 'verification' })],
      ['e'.repeat(501), eventText('e'.repeat(501))],
      ['evt_1', eventText('evt_1', { data: 'DEEP' }).replace('"DEEP"', `${'['.repeat(1e5)}${']'.repeat(1e5)}`)],
    ] as const;
    for (const [id, body] of malformed) {
      const reply = await cloud.postSigned(path, secret, id, body);
      expect([body, reply.status, reply.json.error]).toEqual([body, 400, 'bad_request']);
    }
    const empty = eventText('evt_big', { data: '' });
    const large = (bytes: number) => eventText('evt_big', { data: 'x'.repeat(bytes - empty.length) });
    expect((await cloud.postSigned(path, secret, 'evt_big', large(largestEvent + 1))).status).toBe(413);
    expect(await rows(cloud.store, 'connector_receipt')).toEqual([]);
    expect(await rows(cloud.store, 'lane_item')).toEqual([]);

    expect((await cloud.postSigned(path, secret, 'evt_big', large(largestEvent))).status).toBe(202);
    const unknown = await cloud.post(
      path.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      text,
      good,
    );
    expect([unknown.status, unknown.json.error]).toEqual([410, 'subscription_gone']);
  });

  test('whoever forges is held up after a while, whoever signs never is', async () => {
    const { open } = await floor();
    const cloud = await open();
    const secret = newSecret();
    const path = await cloud.register(secret);
    const forged = await Promise.all(Array.from({ length: 25 }, () => cloud.send(path, newSecret(), 'evt_1')));
    expect(forged.filter(({ status }) => status === 429).length).toBe(5);
    const good = await Promise.all(Array.from({ length: 70 }, (_, index) => cloud.send(path, secret, `evt_${index}`)));
    expect(good.filter(({ status }) => status !== 202)).toEqual([]);
  });

  test('a verification is echoed to who signs it', async () => {
    const { open } = await floor();
    const cloud = await open();
    const secret = newSecret();
    const path = await cloud.register(secret);
    const text = JSON.stringify({ type: 'verification', challenge: 'abc' });
    const reply = await cloud.postSigned(path, secret, 'msg_verification_1', text);
    expect([reply.status, reply.json]).toEqual([200, { challenge: 'abc' }]);
    expect((await cloud.postSigned(path, newSecret(), 'msg_verification_1', text)).status).toBe(401);
    expect(await rows(cloud.store, 'connector_receipt')).toEqual([]);
  });

  test('an event posted by many at once is taken once, and known for seven days after it was last seen', async () => {
    const { open, link, clock, taken } = await floor();
    const cloud = await open();
    const secret = newSecret();
    const path = await cloud.register(secret);
    await link();
    const replies = await Promise.all(Array.from({ length: 12 }, () => cloud.send(path, secret, 'evt_1')));
    const said = replies.map(({ json }) => (json as never as { status: string }).status).toSorted();
    expect(said).toEqual(['accepted', ...Array.from({ length: 11 }, () => 'duplicate')]);
    await waitFor(taken, (ids) => ids.length === 1);
    await settled(cloud.store);

    const changed = await cloud.send(path, secret, 'evt_1', { data: { n: 2 } });
    expect([changed.status, changed.json.error]).toEqual([409, 'event_id_reused']);
    expect(cloud.warnings).toEqual(['A server sent another event under an id that it had used.']);

    // The same event as its server tells it a second time, at another moment.
    const later = await cloud.send(path, secret, 'evt_1', { timestamp: '2026-01-02T03:04:06Z' });
    expect([later.status, later.json]).toEqual([202, { status: 'duplicate' }]);

    const again = async () => (await cloud.send(path, secret, 'evt_1', { cursor: `${clock.now()}` })).json;
    for (let count = 0; count < 2; count += 1) {
      clock.move(6 * day);
      await cloud.events.forgetOld(clock.now());
      expect(await again()).toEqual({ status: 'duplicate' });
    }
    clock.move(7 * day + 1000);
    await cloud.events.forgetOld(clock.now());
    expect(await rows(cloud.store, 'connector_receipt')).toEqual([]);
    expect(await again()).toEqual({ status: 'accepted' });
  });

  test('what is on its way to the computer is not forgotten however much time passes: sent again it is a duplicate', async () => {
    const { open, link, clock } = await floor();
    const cloud = await open();
    const secret = newSecret();
    const path = await cloud.register(secret);
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await link(() => {
      asked.resolve();
      return answered.promise;
    });
    expect((await cloud.send(path, secret, 'evt_1')).json).toEqual({ status: 'accepted' });
    await asked.promise;
    const waiting = await rows(cloud.store, 'connector_receipt');
    expect(waiting).toMatchObject([{ event_id: 'evt_1', status: 'waiting' }]);
    clock.move(8 * day);
    await cloud.events.forgetOld(clock.now());
    expect(await rows(cloud.store, 'connector_receipt')).toEqual(waiting);
    expect((await cloud.send(path, secret, 'evt_1')).json).toEqual({ status: 'duplicate' });
    answered.resolve();
  });

  test('a new secret is good at once, each one before it for an hour more', async () => {
    const { open, clock } = await floor();
    const cloud = await open();
    const [first, second, third] = [newSecret(), newSecret(), newSecret()];
    const path = await cloud.register(first);
    await cloud.register(second);
    await cloud.register(second);
    clock.move(hour / 2);
    await cloud.register(third);
    const statuses = async (id: string) =>
      (await Promise.all([first, second, third].map((secret, at) => cloud.send(path, secret, `${id}_${at}`)))).map(
        ({ status }) => status,
      );
    expect(await statuses('now')).toEqual([202, 202, 202]);
    clock.move(hour / 2 + 1);
    expect(await statuses('an hour after the first')).toEqual([401, 202, 202]);
    clock.move(hour / 2);
    expect(await statuses('an hour after the second')).toEqual([401, 401, 202]);
  });

  test('what comes while the computer is away waits, and is brought in order once it is back', async () => {
    const { open, link, delivered, taken } = await floor();
    const cloud = await open();
    const secret = newSecret();
    const path = await cloud.register(secret);
    const names = Array.from({ length: 20 }, (_, index) => `evt_${index}`);
    for (const name of names) expect((await cloud.send(path, secret, name)).status).toBe(202);
    const gap = JSON.stringify({ type: 'gap', cursor: 'c9' });
    expect((await cloud.postSigned(path, secret, 'msg_gap_1', gap)).status).toBe(202);
    const error = { code: -32012, message: 'Forbidden' };
    const terminated = JSON.stringify({ type: 'terminated', error });
    expect((await cloud.postSigned(path, secret, 'msg_terminated_1', terminated)).status).toBe(202);
    expect((await cloud.postSigned(path, secret, 'msg_terminated_1', terminated)).json).toEqual({
      status: 'duplicate',
    });
    await link();
    await waitFor(taken, (ids) => ids.length === 22);
    await settled(cloud.store);
    expect(taken()).toEqual([...names, 'gap', 'terminated']);
    expect(delivered.slice(-2)).toEqual([
      { subscriptionKey: sub, type: 'gap', cursor: 'c9' },
      { subscriptionKey: sub, type: 'terminated', error },
    ]);
    const kept = await rows(cloud.store, 'connector_receipt');
    expect(kept.map(({ status }) => status)).toEqual(kept.map(() => 'taken'));
  });

  test('after its server has ended it nothing more is taken, at any replica, until it is subscribed to again', async () => {
    const { open, link, taken } = await floor();
    const cloud = await open();
    // SQLite has one process: a second one would not know which head the first has out.
    const other = name === 'sqlite' ? cloud : await open();
    const secret = newSecret();
    const path = await cloud.register(secret);
    await link();
    expect((await other.send(path, secret, 'evt_1')).status).toBe(202);
    const terminated = JSON.stringify({ type: 'terminated', error: { code: -32012, message: 'Forbidden' } });
    expect((await cloud.postSigned(path, secret, 'msg_terminated_1', terminated)).status).toBe(202);
    const gap = JSON.stringify({ type: 'gap', cursor: 'c9' });
    for (const replica of [cloud, other]) {
      expect((await replica.send(path, secret, 'evt_2')).status).toBe(410);
      expect((await replica.postSigned(path, secret, 'msg_gap_1', gap)).status).toBe(410);
      expect((await replica.postSigned(path, secret, 'msg_terminated_1', terminated)).status).toBe(202);
    }
    await waitFor(taken, (ids) => ids.length === 2);
    expect(await cloud.register(newSecret())).toBe(path);
    expect((await other.send(path, secret, 'evt_2')).status).toBe(202);
    await waitFor(taken, (ids) => ids.length === 3);
    expect(taken()).toEqual(['evt_1', 'terminated', 'evt_2']);
  });

  test('a computer that fails is asked again, one that refuses is not, and neither holds up another subscription', async () => {
    const { open, link, taken } = await floor();
    const cloud = await open();
    const secret = newSecret();
    const path = await cloud.register(secret);
    const beside = await cloud.register(secret, other);
    const failures = new Map([
      ['later', [refusal(429, 'rate_limited')]],
      ['invalid', [refusal(400, 'invalid_event', 'data.n must be a text.')]],
      ['gone', [refusal(410, 'subscription_gone')]],
    ]);
    let stuck = true;
    await link((delivery) => {
      if (delivery.subscriptionKey === other) return;
      if (!('event' in delivery)) return;
      if (delivery.event.eventId === 'later' && stuck) throw refusal(502, 'transport');
      const failure = failures.get(delivery.event.eventId)?.shift();
      if (failure !== undefined) throw failure;
    });
    for (const id of ['later', 'invalid', 'gone', 'last']) await cloud.send(path, secret, id);
    await cloud.send(beside, secret, 'beside');
    await waitFor(taken, (ids) => ids.includes('beside'));
    stuck = false;
    await waitFor(taken, (ids) => ids.length === 3);
    expect(taken()).toEqual(['beside', 'later', 'last']);
    const dead = async () =>
      cloud.store.all('SELECT event_id, reason FROM connector_receipt WHERE status = ? ORDER BY received_at', 'dead');
    expect(await dead()).toEqual([
      { event_id: 'invalid', reason: 'invalid_event: data.n must be a text.' },
      { event_id: 'gone', reason: 'The subscription has ended on the computer.' },
    ]);
    // Why it does not fit may quote what was in it: that is for its person alone.
    expect(cloud.logged).toEqual([{ computerId, subscriptionId: sub, status: 400 }]);
    // It never came there, so that its server may send it again.
    expect((await cloud.send(path, secret, 'invalid')).json).toEqual({ status: 'accepted' });
    await waitFor(taken, (ids) => ids.length === 4);
    expect(await dead()).toHaveLength(1);
  });

  test('an event that is cut off with its link counts as not tried, and is brought once the link is back', async () => {
    const { open, link, taken } = await floor();
    const cloud = await open();
    const secret = newSecret();
    const path = await cloud.register(secret);
    const attempts: unknown[] = [];
    const hang = Promise.withResolvers<void>();
    const computer = await link(async () => {
      attempts.push(...(await rows(cloud.store, 'lane_item')).map((row) => row.attempts));
      if (attempts.length === 1) await hang.promise.then(() => Promise.reject(refusal(500, 'internal')));
    });
    await cloud.send(path, secret, 'evt_1');
    await waitFor(
      async () => attempts,
      (all) => all.length === 1,
    );
    computer.cut();
    await waitFor(taken, (ids) => ids.length === 1);
    hang.resolve();
    expect(attempts).toEqual([1, 1]);
  });

  test('what waited for 24 hours is given up: the computer is told how many, and takes what is sent again', async () => {
    const { open, link, clock, delivered, taken } = await floor();
    const cloud = await open();
    const secret = newSecret();
    const path = await cloud.register(secret);
    for (const id of ['old_1', 'old_2']) await cloud.send(path, secret, id);
    clock.move(hour);
    await cloud.send(path, secret, 'young');
    clock.move(day - hour + 1000);
    const told: EventDelivery[] = [];
    const computer = await link((delivery) => {
      if ('event' in delivery) return;
      told.push(delivery);
      // As if its answer were lost: it is told again, and must not count twice.
      clock.move(1000);
      if (told.length === 1) throw refusal(500, 'internal');
    });
    await waitFor(taken, (ids) => ids.length === 2);
    expect(told).toEqual([told[0], told[0]]);
    expect(delivered.map((one) => ('event' in one ? one.event.eventId : one))).toEqual([
      'young',
      { subscriptionKey: sub, type: 'expired', count: 2, notice: expect.any(String) },
    ]);
    await settled(cloud.store);
    await computer.away();
    expect((await cloud.send(path, secret, 'old_1')).json).toEqual({ status: 'accepted' });
    expect((await cloud.send(path, secret, 'young')).json).toEqual({ status: 'duplicate' });
    await link();
    await waitFor(taken, (ids) => ids.length === 3);
    expect(taken().at(-1)).toBe('old_1');
    const expired = 'SELECT event_id FROM connector_receipt WHERE status = ?';
    expect(await cloud.store.all(expired, 'expired')).toEqual([{ event_id: 'old_2' }]);
  });

  test('a subscription that ends takes what waits with it; the next one of its name begins anew', async () => {
    const {
      open,
      link,
      taken,
      cloud: { keys },
    } = await floor();
    const cloud = await open();
    const secret = newSecret();
    const path = await cloud.register(secret);
    const beside = await cloud.register(secret, other);
    await cloud.send(path, secret, 'evt_1');
    await cloud.send(beside, secret, 'beside');
    expect((await cloud.unregister()).status).toBe(204);
    expect((await cloud.unregister()).status).toBe(204);
    expect((await cloud.send(path, secret, 'evt_2')).status).toBe(410);
    expect((await rows(cloud.store, 'connector_receipt')).map((row) => row.event_id)).toEqual(['beside']);
    const next = await cloud.register(secret);
    expect(next).not.toBe(path);
    expect((await cloud.send(path, secret, 'evt_2')).status).toBe(410);
    expect((await cloud.send(next, secret, 'evt_1')).json).toEqual({ status: 'accepted' });
    await link();
    await waitFor(taken, (ids) => ids.length === 2);
    expect(taken().toSorted()).toEqual(['beside', 'evt_1']);

    await cloud.events.pairingEnded(computerId);
    expect((await cloud.send(next, secret, 'evt_3')).status).toBe(202);
    keys.delete(computerId);
    await cloud.events.pairingEnded(computerId);
    expect((await cloud.send(next, secret, 'evt_4')).status).toBe(410);
    expect(await rows(cloud.store, 'connector_registration')).toEqual([]);
  });

  test('what a computer listened for ends with its pairing, also where the cloud was killed at that moment', async () => {
    const {
      open,
      clock,
      cloud: { keys },
    } = await floor();
    const cloud = await open();
    const secret = newSecret();
    const path = await cloud.register(secret);
    await cloud.send(path, secret, 'evt_1');
    await cloud.events.forgetOld(clock.now());
    expect((await cloud.send(path, secret, 'evt_2')).status).toBe(202);
    // Nobody lived to say that the pairing had ended.
    keys.delete(computerId);
    await cloud.events.forgetOld(clock.now());
    expect((await cloud.send(path, secret, 'evt_3')).status).toBe(410);
    expect(await rows(cloud.store, 'connector_registration')).toEqual([]);
    await settled(cloud.store);
  });

  test('what is being brought while its subscription ends is not kept when it does not arrive', async () => {
    const { open, link } = await floor();
    const cloud = await open();
    const secret = newSecret();
    const begun = Promise.withResolvers<void>();
    const hang = Promise.withResolvers<void>();
    await link(async () => {
      begun.resolve();
      await hang.promise;
      throw refusal(500, 'internal');
    });
    await cloud.send(await cloud.register(secret), secret, 'evt_1');
    await begun.promise;
    expect((await cloud.unregister()).status).toBe(204);
    expect(await rows(cloud.store, 'lane_item')).toHaveLength(1);
    hang.resolve();
    await settled(cloud.store);
  });

  test('no more than 10,000 events of a subscription wait, which holds up no other', async () => {
    const { open } = await floor();
    const first = await open();
    const secret = newSecret();
    const path = await first.register(secret);
    const beside = await first.register(secret, other);
    const insert = (numbers: string) => `WITH RECURSIVE c (n) AS (${numbers})
      INSERT INTO lane_item (lanes, lane, id, body, at) SELECT 'connector-events', ?, 'x' || n, '{}', 0 FROM c`;
    const series = {
      sqlite: 'SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10000',
      postgres: 'SELECT generate_series(1, 10000)',
    };
    const sql = { sqlite: insert(series.sqlite), postgres: insert(series.postgres) };
    await first.store.write((tx) => tx.run(sql, `${computerId}/${sub}`));
    await first.events.close();
    const second = await open();
    const full = await second.send(path, secret, 'evt_1');
    expect([full.status, full.headers['retry-after']]).toEqual([429, '60']);
    expect((await second.send(beside, secret, 'evt_1')).status).toBe(202);
    expect((await second.unregister()).status).toBe(204);
    expect((await second.send(await second.register(secret), secret, 'evt_1')).status).toBe(202);
  });

  test('a cloud that starts again brings what it had taken', async () => {
    const { open, link, taken } = await floor();
    const first = await open();
    const secret = newSecret();
    const path = await first.register(secret);
    for (const id of ['evt_1', 'evt_2']) await first.send(path, secret, id);
    await first.events.close();
    const second = await open();
    expect((await second.send(path, secret, 'evt_2')).json).toEqual({ status: 'duplicate' });
    await second.send(path, secret, 'evt_3');
    await link();
    await waitFor(taken, (ids) => ids.length === 3);
    expect(taken()).toEqual(['evt_1', 'evt_2', 'evt_3']);
  });
});

describe.each(engines.filter(({ name }) => name === 'postgres'))('replicas on $name', ({ place }) => {
  test('what one is told holds at the other, and an event goes through either', async () => {
    const { open, link, taken } = await openFloor(await place());
    const [one, two] = [await open(), await open()];
    const [secret, newer] = [newSecret(), newSecret()];
    const path = await one.register(secret);
    expect((await two.send(path, secret, 'evt_1')).json).toEqual({ status: 'accepted' });
    expect((await one.send(path, secret, 'evt_1')).json).toEqual({ status: 'duplicate' });
    await one.register(newer);
    expect((await two.send(path, newer, 'evt_2')).json).toEqual({ status: 'accepted' });
    await link();
    await waitFor(taken, (ids) => ids.length === 2);
    expect(taken()).toEqual(['evt_1', 'evt_2']);
    await one.unregister();
    expect((await two.send(path, newer, 'evt_3')).status).toBe(410);
    expect(await two.store.all("SELECT id FROM connector_receipt WHERE event_id = 'evt_3'")).toEqual([]);
  });

  test('a secret that one replaced is good for an hour more at the other, and no longer', async () => {
    const { open, clock } = await openFloor(await place());
    const [one, two] = [await open(), await open()];
    const [first, second] = [newSecret(), newSecret()];
    const path = await one.register(first);
    expect((await two.send(path, first, 'evt_1')).status).toBe(202);
    await one.register(second);
    expect((await two.send(path, first, 'evt_2')).status).toBe(202);
    clock.move(hour + 1000);
    expect((await two.send(path, first, 'evt_3')).status).toBe(401);
    expect((await two.send(path, second, 'evt_4')).status).toBe(202);
  });
});

test('waits between attempts are those of the contract', () => {
  expect(relayBackoffMs).toEqual([5, 15, 30, 60, 120, 300].map((seconds) => seconds * 1000));
});
