import { expect, test } from 'vitest';
import type { Peer, PeerMessage } from '../../../src/contracts/factory/work-engine/peers.ts';
import { maxPeers } from '../../../src/runtime-server/work-engine/peers.ts';
import { type Bot, twoBots } from './two-bots.ts';

const bots = twoBots();
const register = (body: unknown, bot?: Bot) => bots.call<Peer>('POST', '/peers', body, bot);
const beat = (id: string, ack?: string, bot?: Bot) =>
  bots.call<{ peer: Peer; messages: PeerMessage[] }>(
    'POST',
    `/peers/${id}/heartbeat`,
    ack === undefined ? {} : { ack },
    bot,
  );
const send = (id: string, text: string, bot?: Bot) =>
  bots.call<{ id: string }>('POST', `/peers/${id}/send`, { text }, bot);

test('a program registers, gets each message until it acknowledges it, in order, and is taken off', async () => {
  const { a, b } = bots;
  const { status, body: peer } = await register({ name: 'editor', about: 'shows diffs' }, a);
  expect(status).toBe(201);
  expect(peer).toMatchObject({ name: 'editor', owner: a.address, live: true, waiting: 0 });
  const one = (await send(peer.id, 'first', b)).body;
  const two = (await send(peer.id, 'second')).body;
  const got = (await beat(peer.id, undefined, a)).body;
  expect(got.messages).toMatchObject([
    { id: one.id, from: b.address, text: 'first' },
    { id: two.id, from: 'owner', text: 'second' },
  ]);
  expect((await beat(peer.id, 'zzzz', a)).body.messages).toHaveLength(2);
  expect((await beat(peer.id, one.id, a)).body.messages.map((message) => message.id)).toEqual([two.id]);
  expect((await beat(peer.id, one.id, a)).body.messages).toHaveLength(1);
  await bots.engine.restart();
  expect((await beat(peer.id, two.id, a)).body).toMatchObject({ messages: [], peer: { waiting: 0 } });
  const removed = await bots.call<{ removed: Peer }>('DELETE', `/peers/${peer.id}`, undefined, a);
  expect(removed.body.removed.id).toBe(peer.id);
  expect((await send(peer.id, 'late')).status).toBe(404);
});

test('a bot speaks for its own programs alone; the person for all', async () => {
  const { a, b } = bots;
  const { body: peer } = await register({ name: 'builder' }, a);
  expect((await beat(peer.id, undefined, b)).status).toBe(404);
  expect((await bots.call('DELETE', `/peers/${peer.id}`, undefined, b)).status).toBe(404);
  expect((await register({ name: 'builder' }, b)).status).toBe(409);
  expect((await register({ name: 'builder', about: 'again' }, a)).body).toMatchObject({ id: peer.id, about: 'again' });
  const { peers } = (await bots.call<{ peers: Peer[] }>('GET', '/peers', undefined, b)).body;
  expect(peers.map((one) => one.name)).toContain('builder');
  expect((await beat(peer.id)).status).toBe(200);
});

test('a program that is not heard of takes nothing, and its name is free for others', async () => {
  const { a, b } = bots;
  const { body: peer } = await register({ name: 'quiet', ttlSeconds: 5 }, a);
  await bots.engine.store.write((tx) =>
    tx.run('UPDATE engine_peer SET seen_at = seen_at - 6000 WHERE id = ?', peer.id),
  );
  expect((await send(peer.id, 'hello', b)).status).toBe(409);
  const { body: next } = await register({ name: 'quiet' }, b);
  expect(next).toMatchObject({ owner: b.address, live: true });
  expect(next.id).not.toBe(peer.id);
  expect((await beat(peer.id, undefined, a)).status).toBe(404);
});

test('one caller speaks for so many programs and no more', async () => {
  const { b } = bots;
  const own = async () =>
    (await bots.call<{ peers: Peer[] }>('GET', '/peers')).body.peers.filter((one) => one.owner === b.address);
  for (let n = (await own()).length; n < maxPeers; n += 1) {
    expect((await register({ name: `many-${n}` }, b)).status).toBe(201);
  }
  expect((await register({ name: 'one-more' }, b)).status).toBe(409);
  const [known] = await own();
  expect((await register({ name: known?.name }, b)).status).toBe(201);
  expect((await register({ name: 'of-the-person' })).status).toBe(201);
});

test('dry runs change nothing; texts stay out of the ledger; bad names are refused', async () => {
  const { body: peer } = await register({ name: 'dry' });
  const plan = await bots.call('POST', `/peers/${peer.id}/send`, { text: 'x', dryRun: true });
  expect(plan.body).toEqual({ dryRun: true, plan: { to: 'dry', from: 'owner', records: ['peer.message'] } });
  expect((await beat(peer.id)).body.messages).toEqual([]);
  expect((await register({ name: 'other', dryRun: true })).body).toMatchObject({ dryRun: true });
  expect((await bots.call('DELETE', `/peers/${peer.id}?dryRun=1`)).body).toMatchObject({ dryRun: true });
  await send(peer.id, 'an unusual sentence');
  const rows = await bots.engine.ledger.read('0', 1000, ['peer.message']);
  expect(rows.length).toBeGreaterThan(0);
  expect(JSON.stringify(rows)).not.toContain('unusual');
  for (const name of ['', 'A', 'a b', '-a', 'x'.repeat(65)]) expect((await register({ name })).status).toBe(400);
  expect((await register({ name: 'a', ttlSeconds: 4 })).status).toBe(400);
});
