/** What became of each event: the computer's answer, and what never came there, in one list. */
import { expect, test } from 'vitest';
import { mergeTrail, readPlace, trailStart, writePlace } from '../../../src/cloud-api/connector-events/trail.ts';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { connectorMounts, twinOf } from '../../../src/contracts/connectors/mount.ts';
import { listTrail, type TrailEvent } from '../../../src/contracts/connectors/subscription.ts';
import { iso } from '../../../src/kit/clock/clock.ts';
import { type BoundRoute, bind } from '../../../src/kit/http/types.ts';
import { movableClock } from '../../host/support.ts';
import { waitFor } from '../../runtime-server/engine.ts';
import { newSecret, startConnectorPair, sub } from './support.ts';

const taken = (eventId: string, at: number | null): TrailEvent => ({
  eventId,
  about: 'Boom',
  name: 'issue.opened',
  status: 'ticket',
  reason: null,
  ticketId: 'ticket_1',
  runs: [],
  receivedAt: at === null ? null : iso(at),
  relayedAt: iso(at ?? 0),
});

test('page after page, each event of either list shows once, newest first', () => {
  // Even ones are at the computer, odd ones never came there; 7 is at both.
  const computer = Array.from({ length: 40 }, (_, index) => 2 * (40 - index)).map((at) => taken(`evt_${at}`, at));
  computer.splice(37, 0, taken('evt_7', 7));
  const left = Array.from({ length: 40 }, (_, index) => 2 * (40 - index) - 1).map((at) => ({
    id: `id_${at}`,
    eventId: `evt_${at}`,
    name: 'issue.opened',
    status: 'waiting' as const,
    reason: null,
    receivedAt: at,
  }));
  const page = (cursor: string | null, limit: number) => {
    const from = Number(cursor ?? 0);
    const next = from + limit < computer.length ? `${from + limit}` : null;
    return { events: computer.slice(from, from + limit), nextCursor: next };
  };
  for (const limit of [1, 2, 3, 7, 50, 200]) {
    const seen: string[] = [];
    let place = trailStart;
    for (let pages = 0; pages < 300; pages += 1) {
      const older = left
        .filter(({ receivedAt }) => place.before === null || receivedAt < place.before.at)
        .slice(0, limit);
      const { events, next } = mergeTrail(place, limit, page(place.cursor, limit), older);
      expect(events.length).toBeLessThanOrEqual(limit);
      seen.push(...events.map(({ eventId }) => eventId));
      if (next === null) break;
      place = readPlace(writePlace(next))!;
    }
    expect([limit, seen]).toEqual([limit, Array.from({ length: 80 }, (_, index) => `evt_${80 - index}`)]);
  }
  for (const junk of ['', 'x', writePlace(trailStart).slice(1), Buffer.from('[7,0,null,null]').toString('base64url')]) {
    expect(readPlace(junk)).toBeNull();
  }
});

test('the trail at both mounts has what waits, was given up or refused, and when each event was durable at the cloud', async () => {
  const clock = movableClock();
  const here: TrailEvent[] = [];
  const trail = ({ params, query }: { params: { sid: string }; query: { limit?: number; cursor?: string } }) => {
    if (params.sid !== sub) throw new AppError('not_found', 'none', '', { wireCode: 'subscription_not_found' });
    const from = Number(query.cursor ?? 0);
    const limit = query.limit ?? 50;
    const nextCursor = from + limit < here.length ? `${from + limit}` : null;
    return { body: { events: here.slice(from, from + limit), nextCursor } };
  };
  let refuse: AppError | null = null;
  const pair = await startConnectorPair({
    clock,
    routes: [bind(listTrail, trail as never), bind(twinOf(listTrail) as never, trail as never) as BoundRoute],
    answer(delivery) {
      if (refuse !== null) throw refuse;
      if ('event' in delivery) here.unshift(taken(delivery.event.eventId, null));
    },
  });
  const secret = newSecret();
  const path = await pair.register(secret);
  await pair.send(path, secret, 'taken');
  await waitFor(
    () => here,
    (events) => events.length === 1,
  );
  refuse = new AppError('usage', 'data.n must be a text.', '', { wireCode: 'invalid_event' });
  clock.move(1000);
  await pair.send(path, secret, 'wrong');
  const read = async (mount: string, search = '', id = sub) =>
    pair.callWeb('GET', `${mount}/connector_1/events/subscriptions/${id}/events${search}`);
  const eventsOf = async (mount: string, search = '') =>
    ((await read(mount, search)).json as never as { events: TrailEvent[] }).events;
  await waitFor(
    () => eventsOf(connectorMounts[0]),
    ([newest]) => newest?.status === 'dead',
  );
  refuse = new AppError('internal', 'not now', '');
  clock.move(1000);
  await pair.send(path, secret, 'waits');
  for (const mount of connectorMounts) {
    const events = await eventsOf(mount);
    expect(events).toMatchObject([
      {
        eventId: 'waits',
        about: null,
        name: 'issue.opened',
        status: 'waiting',
        reason: null,
        ticketId: null,
        relayedAt: null,
      },
      { eventId: 'wrong', status: 'dead', reason: 'invalid_event: data.n must be a text.' },
      { eventId: 'taken', about: 'Boom', status: 'ticket', ticketId: 'ticket_1' },
    ]);
    expect(events.every(({ receivedAt }) => receivedAt !== null)).toBe(true);
    expect(JSON.stringify(events)).not.toContain('"data"');
    const first = (await read(mount, '?limit=2')).json as never as { events: TrailEvent[]; nextCursor: string };
    expect(first.events.map(({ eventId }) => eventId)).toEqual(['waits', 'wrong']);
    expect(await eventsOf(mount, `?limit=2&cursor=${first.nextCursor}`)).toMatchObject([{ eventId: 'taken' }]);
    expect((await read(mount, '?cursor=junk')).status).toBe(400);
    expect((await read(mount, '?limit=201')).status).toBe(400);
    expect((await read(mount, '', 'sub_other')).json.error).toBe('subscription_not_found');
  }
  await pair.stopEngine();
  const away = await read(connectorMounts[0]);
  expect([away.status, away.json.error]).toEqual([503, 'computer_unavailable']);
});
