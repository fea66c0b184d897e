import { expect, test } from 'vitest';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import { type Engine, sharedEngine, waitFor } from '../engine.ts';
import { newTeam, startShells } from '../shells.ts';
import { openStream, type RawEvent } from '../sse.ts';

const shared = sharedEngine();

const toThread = async (engine: Engine, thread: string, text: string) =>
  (await engine.call<Delivery>('POST', '/send', { to: `channel:${thread}`, text })).body;
const newThread = async (engine: Engine) =>
  (await engine.call<{ id: string }>('POST', '/threads', { title: 'T' })).body.id;
const ledgerBacked = (events: readonly RawEvent[]) => events.filter(({ id }) => id !== null);

test('a stream without a cursor starts now, and every event has type, time and data under its ledger id', async () => {
  const engine = shared.current;
  const thread = await newThread(engine);
  await toThread(engine, thread, 'before');
  const stream = await openStream(engine, '/events');
  const sent = await toThread(engine, thread, 'after');
  const last = await stream.next(({ data }) => data.data?.state === 'best_effort');
  // The words and who wrote them are read with the delivery, not recorded in the ledger.
  const { from: _from, firstWords: _firstWords, ...recorded } = sent;
  expect(ledgerBacked(stream.events).map(({ data }) => [data.type, data.data?.id, data.data?.state])).toEqual([
    ['delivery', sent.id, 'accepted'],
    ['delivery', sent.id, 'best_effort'],
  ]);
  expect(last).toMatchObject({
    event: 'message',
    id: await engine.ledger.head(),
    data: { type: 'delivery', data: recorded },
  });
  expect(Object.keys(last.data).sort()).toEqual(['at', 'data', 'type']);
  stream.close();
});

test('Last-Event-ID and after replay from there, and the larger of the two holds', async () => {
  const engine = shared.current;
  const thread = await newThread(engine);
  const all = await openStream(engine, '/events');
  for (const text of ['1', '2', '3']) await toThread(engine, thread, text);
  await waitFor(
    () => all.events.length,
    (count) => count === 6,
  );
  const ids = all.events.map(({ id }) => String(id));
  const from = async (path: string, headers: Record<string, string>) => {
    const stream = await openStream(engine, path, headers);
    await stream.next(({ id }) => id === ids.at(-1));
    stream.close();
    return stream.events.map(({ id }) => id);
  };
  expect(await from(`/events?after=${ids[1]}`, {})).toEqual(ids.slice(2));
  expect(await from('/events', { 'last-event-id': String(ids[3]) })).toEqual(ids.slice(4));
  expect(await from(`/events?after=${ids[1]}`, { 'last-event-id': String(ids[3]) })).toEqual(ids.slice(4));
  expect(await from(`/events?after=${ids[3]}`, { 'last-event-id': String(ids[1]) })).toEqual(ids.slice(4));
  expect((await from('/events?after=0', {})).slice(-6)).toEqual(ids);
  all.close();
});

test('a cursor that is no event id is refused before the stream begins', async () => {
  for (const cursor of ['abc', '-1', '1.5', '99999999999999999999999', 'engine_x']) {
    expect((await openStream(shared.current, `/events?after=${cursor}`)).status).toBe(400);
    expect((await openStream(shared.current, '/events', { 'last-event-id': cursor })).status).toBe(400);
  }
});

test('a cursor that is not known here answers one reset, and the stream goes on from now', async () => {
  const engine = shared.current;
  const thread = await newThread(engine);
  const head = await engine.ledger.head();
  for (const cursor of ['999999999', 'engine_01ABC~apr-approval_1']) {
    const stream = await openStream(engine, `/events?after=${cursor}`);
    const reset = await stream.next(({ event }) => event === 'reset');
    expect(reset.data).toMatchObject({ type: 'reset', data: { reason: expect.stringContaining(cursor) } });
    expect(BigInt(String(reset.id))).toBeGreaterThanOrEqual(BigInt(head));
    const sent = await toThread(engine, thread, 'x');
    await stream.next(({ data }) => data.data?.id === sent.id);
    expect(stream.events.filter(({ event }) => event === 'reset')).toHaveLength(1);
    stream.close();
  }
});

test('no event is skipped or doubled at the seam of replay and tail, wherever a reader comes in', async () => {
  const engine = shared.current;
  const thread = await newThread(engine);
  const start = await engine.ledger.head();
  let writing = true;
  const writer = (async () => {
    for (let n = 0; n < 40; n += 1) await toThread(engine, thread, String(n));
    writing = false;
  })();
  const streams: Awaited<ReturnType<typeof openStream>>[] = [];
  while (writing) streams.push(await openStream(engine, `/events?after=${start}`));
  await writer;
  const head = await engine.ledger.head();
  for (const stream of streams) {
    await stream.next(({ id }) => id === head);
    stream.close();
    const ids = stream.events.map(({ id }) => id);
    expect(ids).toHaveLength(80);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => Number(a) - Number(b)));
  }
  expect(streams.length).toBeGreaterThan(3);
});

test('states of agents are live only: without an id, and never replayed', async () => {
  const engine = shared.current;
  const head = await engine.ledger.head();
  const stream = await openStream(engine, '/events');
  const team = await startShells(engine, 'web');
  const { id, pane } = await engine.agent(`web@${team}`);
  const idle = await stream.next(({ data }) => data.type === 'agent.state' && data.data?.state === 'idle');
  expect(idle).toMatchObject({ id: null, data: { data: { agentId: id, state: 'idle', pane } } });
  await engine.call('POST', `/teams/${team}/down`);
  await stream.next(({ data }) => data.type === 'team.changed' && data.data?.change === 'down');
  stream.close();
  const replayed = await openStream(engine, `/events?after=${head}`);
  await replayed.next(({ data }) => data.type === 'team.changed' && data.data?.change === 'down');
  replayed.close();
  expect(replayed.events.filter(({ data }) => data.type === 'agent.state')).toEqual([]);
  // Teams of earlier tests may still be telling of theirs.
  const own = replayed.events.filter(({ data }) => data.data?.team === team);
  expect(own.map(({ data }) => [data.data?.team, data.data?.change, data.data?.agents])).toEqual([
    [team, 'file', [`web@${team}`]],
    [team, 'up', [`web@${team}`]],
    [team, 'down', [`web@${team}`]],
  ]);
});

test('a file that changes, breaks, is mended and goes is told each time', async () => {
  const engine = shared.current;
  const stream = await openStream(engine, '/events');
  const team = newTeam(engine, 'web');
  await engine.agree();
  const next = (change: string, count: number) =>
    waitFor(
      () => stream.events.filter(({ data }) => data.data?.team === team && data.data?.change === change).length,
      (seen) => seen === count,
    );
  await next('file', 1);
  engine.team(team, 'bots: [');
  await engine.agree();
  await next('invalid', 1);
  expect((await engine.call('GET', '/teams')).body).toMatchObject({
    invalid: [{ name: team, problems: [{ line: 1, message: expect.any(String) }] }],
  });
  engine.team(team, 'bots:\n  - {bot: api, harness: shell}\n');
  await engine.agree();
  await next('file', 2);
  expect(await engine.agent(`api@${team}`)).toMatchObject({ state: 'offline', pane: null });
  expect(await engine.call('GET', `/agents/web@${team}`)).toMatchObject({ status: 404 });
  stream.close();
});

test('the server’s end is the last thing a reader hears', async () => {
  const engine = shared.current;
  const stream = await openStream(engine, '/events');
  await engine.restart();
  await stream.ended;
  expect(stream.events.at(-1)).toMatchObject({ event: 'closing' });
});
