import { expect, test } from 'vitest';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import type { LedgerRow } from '../../../src/kit/ledger/ledger.ts';
import { type Engine, ownerToken, sharedEngine, waitFor } from '../engine.ts';
import { makeBusy, newTeam, startShells } from '../shells.ts';

const shared = sharedEngine();

const send = (engine: Engine, body: Record<string, unknown>, options = {}) =>
  engine.call<Delivery>('POST', '/send', body, options);
const deliveries = async (engine: Engine, query = '') =>
  (await engine.call<{ deliveries: Delivery[] }>('GET', `/deliveries${query}`)).body.deliveries;
const settled = (engine: Engine, id: string) =>
  waitFor(
    async () => (await deliveries(engine)).find((delivery) => delivery.id === id),
    (delivery) => delivery !== undefined && delivery.state !== 'queued' && delivery.state !== 'accepted',
  );
const ledgerOf = async (engine: Engine, id: string): Promise<LedgerRow[]> =>
  (await engine.ledger.read('0', 1000)).filter((row) => row.subject === `delivery:${id}`);
const screenOf = async (engine: Engine, address: string) =>
  (await engine.call<{ text: string }>('GET', `/agents/${address}/capture`)).body.text;

test('a send that names a step or a run that is not there is refused before anything is written', async () => {
  const engine = shared.current;
  for (const names of [{ nodeId: 'node_none' }, { dagId: 'dag_none' }, { dagId: 'dag_none', nodeId: 'node_none' }]) {
    const sent = await engine.call('POST', '/send', { to: 'channel:thread_none', text: 'hello', ...names });
    expect(sent).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found', fact: expect.stringContaining('_none') } },
    });
    expect(JSON.stringify(sent.body)).not.toContain('thread');
  }
});

test('a send that names nobody is not found and writes nothing', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const head = await engine.ledger.head();
  for (const to of [`ghost@${team}`, 'web@other', 'agent_nobody', 'channel:thread_nobody', '__proto__']) {
    expect(await send(engine, { to, text: 'x' })).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    });
  }
  expect(await send(engine, { to: `web@${team}`, text: 'x', threadId: 'thread_nobody' })).toMatchObject({
    status: 404,
  });
  expect(await engine.ledger.head()).toBe(head);
  expect(await deliveries(engine, `?agent=web@${team}`)).toEqual([]);
});

test('a delivery says who sent it and how it begins, to its person and to the bots of the message, and to no other bot', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web', 'other');
  const { body } = await send(engine, { to: `web@${team}`, text: 'echo one\necho two' });
  expect(body).toMatchObject({ from: 'owner', firstWords: 'echo one' });
  const seenBy = async (token: string) =>
    (
      await engine.call<{ deliveries: Record<string, unknown>[] }>('GET', `/deliveries?agent=web@${team}`, undefined, {
        token,
      })
    ).body.deliveries[0];
  const words = { id: body.id, from: 'owner', firstWords: 'echo one' };
  expect(await seenBy(ownerToken)).toMatchObject(words);
  expect(await seenBy(await engine.botToken(`web@${team}`))).toMatchObject(words);
  const other = await seenBy(await engine.botToken(`other@${team}`));
  expect(other).toMatchObject({ id: body.id });
  expect(Object.keys(other ?? {})).not.toContain('firstWords');
  expect(Object.keys(other ?? {})).not.toContain('from');
});

test('what was promised is in the ledger before the text is typed, and its witness after', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const run = { template: 'command', projectId: 'p', params: { command: 'true' } };
  const flow = await engine.call<{ dagId: string; nodes: { nodeId: string }[] }>('POST', '/runs', run);
  const [dagId, nodeId] = [flow.body.dagId, flow.body.nodes[0]!.nodeId];
  const { body } = await send(engine, { to: `web@${team}`, text: 'echo one', nodeId, dagId });
  expect(body).toMatchObject({ to: `web@${team}`, via: 'pane', state: 'verified', nodeId, dagId });
  const rows = await ledgerOf(engine, body.id);
  expect(rows.map((row) => row.type)).toEqual(['delivery.accepted', 'delivery']);
  expect(rows[0]?.body).toMatchObject({ delivery: { state: 'accepted', evidence: null } });
  expect(rows[1]?.body).toMatchObject({ delivery: { state: 'verified', evidence: body.evidence } });
  expect(JSON.stringify(rows)).not.toContain('echo one');
  expect(await engine.ledger.verify()).toMatchObject({ ok: true });
  expect(await deliveries(engine, `?node=${nodeId}`)).toMatchObject([{ id: body.id }]);
  expect(await deliveries(engine, '?node=n2')).toEqual([]);
});

test('agent id and address name the same bot, and the recipient reads who sends', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const { id } = await engine.agent(`web@${team}`);
  expect((await send(engine, { to: id, text: '!echo not-a-command' })).body).toMatchObject({ to: `web@${team}` });
  expect(await screenOf(engine, `web@${team}`)).toMatch(/# From owner/);
});

test('a repeated key answers the first delivery, whatever the body, by body or header, and over a restart', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const first = await send(engine, { to: `web@${team}`, text: 'echo once', idempotencyKey: 'k1' });
  const again = await send(engine, { to: `web@${team}`, text: 'echo twice', idempotencyKey: 'k1' });
  const byHeader = await send(engine, { to: `nobody@${team}`, text: 'x' }, { headers: { 'idempotency-key': 'k1' } });
  expect([again.body, byHeader.body]).toEqual([first.body, first.body]);
  await engine.restart();
  expect((await send(engine, { to: `web@${team}`, text: 'y', idempotencyKey: 'k1' })).body).toEqual(first.body);
  expect(await deliveries(engine, `?agent=web@${team}`)).toHaveLength(1);
  const bad = await send(engine, { to: `web@${team}`, text: 'x' }, { headers: { 'idempotency-key': 'a'.repeat(256) } });
  expect(bad).toMatchObject({ status: 400, body: { error: { code: 'usage' } } });
});

test('duplicates that come at once wait for the first and type once', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => send(engine, { to: `web@${team}`, text: 'echo x', idempotencyKey: 'k8' })),
  );
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  expect(new Set(answers.map(({ body }) => body.state))).toEqual(new Set(['verified']));
});

test('keys belong to their sender: a bot’s key is not its owner’s', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web', 'api');
  const token = await engine.botToken(`api@${team}`);
  const mine = await send(engine, { to: `web@${team}`, text: 'echo a', idempotencyKey: 'k' });
  const theirs = await send(engine, { to: `web@${team}`, text: 'echo b', idempotencyKey: 'k' }, { token });
  expect(theirs.body.id).not.toBe(mine.body.id);
  await expect.poll(() => screenOf(engine, `web@${team}`)).toContain(`# From api@${team}`);
});

test('a busy bot: a send waits with the reason in words, queue false is refused, and idleness drains in order', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const free = await makeBusy(engine, `web@${team}`);
  const refused = await send(engine, { to: `web@${team}`, text: 'echo refused', queue: false });
  expect(refused).toMatchObject({ status: 409, body: { error: { code: 'refused' } } });
  expect(await deliveries(engine, `?agent=web@${team}`)).toEqual([]);
  const one = await send(engine, { to: `web@${team}`, text: `echo 1 >> ${team}.log` });
  expect(one.body).toMatchObject({ state: 'queued', via: 'pane_queue', evidence: null });
  expect(one.body.detail).toBeTruthy();
  const two = await send(engine, { to: `web@${team}`, text: `echo 2 >> ${team}.log`, queue: true });
  const three = await send(engine, { to: `web@${team}`, text: `echo 3 >> ${team}.log` });
  expect([two.body.state, three.body.state]).toEqual(['queued', 'queued']);
  expect((await engine.agent(`web@${team}`)).queueDepth).toBe(3);
  free();
  for (const { body } of [one, two, three]) expect(await settled(engine, body.id)).toMatchObject({ state: 'verified' });
  expect((await engine.agent(`web@${team}`)).queueDepth).toBe(0);
  await send(engine, { to: `web@${team}`, text: `tr '\\n' ' ' < ${team}.log` });
  await waitFor(
    () => screenOf(engine, `web@${team}`),
    (text) => text.includes('1 2 3'),
  );
});

test('a send waits while somebody types in the pane, says so, and is typed once they are done', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const input = (body: Record<string, unknown>) => engine.call('POST', `/agents/web@${team}/input`, body);
  await input({ text: 'echo half' });
  await waitFor(
    () => screenOf(engine, `web@${team}`),
    (text) => text.includes('echo half'),
  );
  const { body } = await send(engine, { to: `web@${team}`, text: 'echo x' });
  expect(body).toMatchObject({ state: 'queued', detail: 'a person is typing' });
  await waitFor(
    async () => (await deliveries(engine, `?agent=web@${team}`))[0],
    (delivery) => delivery?.detail === 'somebody has typed there and not pressed Enter',
  );
  await input({ keys: ['Enter'] });
  expect(await settled(engine, body.id)).toMatchObject({ state: 'verified' });
});

test('queue true only queues, and an idle bot then takes it by itself', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const { body } = await send(engine, { to: `web@${team}`, text: 'echo x', queue: true });
  expect(body).toMatchObject({ state: 'queued', via: 'pane_queue' });
  expect(await settled(engine, body.id)).toMatchObject({ state: 'verified', via: 'pane_queue' });
});

test('sends at once to one bot arrive whole and one after the other', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const texts = Array.from({ length: 5 }, (_, n) => `echo line-${n} >> ${team}.log`);
  const answers = await Promise.all(texts.map((text) => send(engine, { to: `web@${team}`, text })));
  for (const { body } of answers) await settled(engine, body.id);
  await send(engine, { to: `web@${team}`, text: `sort ${team}.log | tr '\\n' ' '` });
  await waitFor(
    () => screenOf(engine, `web@${team}`),
    (text) => text.includes('line-0 line-1 line-2 line-3 line-4'),
  );
});

test('sends to a bot that is not running are kept, shown, and typed once its team is up', async () => {
  const engine = shared.current;
  const team = newTeam(engine, 'web');
  await engine.call('GET', '/teams');
  const { body } = await send(engine, { to: `web@${team}`, text: 'echo late' });
  expect(body).toMatchObject({ state: 'queued', detail: `web@${team} is not running` });
  expect(await send(engine, { to: `web@${team}`, text: 'x', queue: false })).toMatchObject({ status: 409 });
  await engine.restart();
  expect((await engine.agent(`web@${team}`)).queueDepth).toBe(1);
  await engine.call('POST', `/teams/${team}/up`, {});
  expect(await settled(engine, body.id)).toMatchObject({ state: 'verified' });
});

test('stopping a team keeps what waits for its bots', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  await makeBusy(engine, `web@${team}`);
  const { body } = await send(engine, { to: `web@${team}`, text: 'echo kept' });
  await engine.call('POST', `/teams/${team}/down`);
  expect(await engine.agent(`web@${team}`)).toMatchObject({ state: 'offline', queueDepth: 1 });
  const kept = await waitFor(
    async () => (await deliveries(engine)).find(({ id }) => id === body.id),
    (delivery) => delivery?.detail === `web@${team} is not running: stopped`,
  );
  expect(kept).toMatchObject({ state: 'queued' });
});

test('at most 100 sends wait for a bot', async () => {
  const engine = shared.current;
  const team = newTeam(engine, 'web');
  await engine.call('GET', '/teams');
  await Promise.all(Array.from({ length: 100 }, () => send(engine, { to: `web@${team}`, text: 'x' })));
  expect(await send(engine, { to: `web@${team}`, text: 'x' })).toMatchObject({
    status: 409,
    body: { error: { code: 'refused' } },
  });
  const page = await engine.call<{ deliveries: Delivery[]; nextCursor: string }>(
    'GET',
    `/deliveries?limit=60&agent=web@${team}`,
  );
  const rest = await engine.call<{ deliveries: Delivery[]; nextCursor: string | null }>(
    'GET',
    `/deliveries?limit=60&agent=web@${team}&cursor=${page.body.nextCursor}`,
  );
  const ids = [...page.body.deliveries, ...rest.body.deliveries].map(({ id }) => id);
  expect(ids).toEqual([...ids].sort().reverse());
  expect([ids.length, new Set(ids).size, rest.body.nextCursor]).toEqual([100, 100, null]);
  expect(await engine.call('GET', '/deliveries?cursor=nonsense')).toMatchObject({ status: 400 });
});

test('a dry run says what would be written, and writes nothing', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const thread = await engine.call<{ id: string }>('POST', '/threads', { title: 'T', bot: `web@${team}` });
  const head = await engine.ledger.head();
  expect((await send(engine, { to: `web@${team}`, text: 'x', dryRun: true })).body).toEqual({
    dryRun: true,
    plan: {
      to: `web@${team}`,
      via: 'pane',
      threadId: null,
      records: ['delivery.accepted', 'delivery'],
      ifQueued: ['delivery'],
    },
  });
  const inThread = { to: `web@${team}`, text: 'x', threadId: thread.body.id, queue: true, dryRun: true };
  expect((await send(engine, inThread)).body).toMatchObject({
    plan: {
      via: 'pane_queue',
      threadId: thread.body.id,
      records: ['delivery.accepted', 'message.recorded', 'delivery'],
    },
  });
  expect(await send(engine, { to: `ghost@${team}`, text: 'x', dryRun: true })).toMatchObject({ status: 404 });
  expect(await engine.ledger.head()).toBe(head);
  expect(await deliveries(engine, `?agent=web@${team}`)).toEqual([]);
});

test('only the owner in person may send a bare command', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web', 'api');
  const token = await engine.botToken(`api@${team}`);
  expect(await send(engine, { to: `web@${team}`, text: 'x', raw: true }, { token })).toMatchObject({ status: 403 });
  expect((await send(engine, { to: `web@${team}`, text: 'echo $((6*7))', raw: true })).body.state).toBe('verified');
  expect(await screenOf(engine, `web@${team}`)).not.toContain('# From owner');
});

test('a send that was being typed when the runtime ended is unconfirmed after the restart, and not typed again', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const { id: agentId } = await engine.agent(`web@${team}`);
  await engine.factory.close();
  // What a runtime that was killed between typing and its witness leaves behind.
  const deliveryId = 'delivery_01ZZ';
  await engine.store.write((tx) => {
    tx.run(
      `INSERT INTO factory_delivery (id, agent_id, recipient, via, state, at, caller, surface)
       VALUES (?, ?, 'web@x', 'pane', 'accepted', 0, 'user_local', 'cli')`,
      deliveryId,
      agentId,
    );
    const body = {
      deliveryId,
      agentId,
      senderLine: 'From owner',
      text: 'echo never',
      replyLine: null,
      raw: false,
      mayQueue: true,
    };
    tx.run(
      `INSERT INTO lane_item (lanes, lane, id, body, at, attempts, sending) VALUES ('sends', ?, ?, ?, 0, 1, 1)`,
      `send:${agentId}`,
      deliveryId,
      JSON.stringify(body),
    );
  });
  await engine.restart();
  expect(await settled(engine, deliveryId)).toMatchObject({ state: 'unconfirmed', evidence: null });
  expect((await settled(engine, deliveryId))?.detail).toBeTruthy();
  expect(await screenOf(engine, `web@${team}`)).not.toContain('never');
});

test('draining tries what waits and says what is left', async () => {
  const engine = shared.current;
  const team = newTeam(engine, 'web', 'api');
  await engine.call('GET', '/teams');
  const { body } = await send(engine, { to: `web@${team}`, text: 'x' });
  await send(engine, { to: `api@${team}`, text: 'x' });
  expect((await engine.call('POST', '/drain', { agent: `web@${team}` })).body).toEqual({ tried: [body.id], left: 1 });
  const all = await engine.call<{ tried: string[] }>('POST', '/drain', { dryRun: true });
  expect(all.body).toMatchObject({ tried: expect.arrayContaining([body.id]), dryRun: true });
  expect(await engine.call('POST', '/drain', { agent: `ghost@${team}` })).toMatchObject({ status: 404 });
});

test('a send body with an unknown field is refused by its name', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const answer = await engine.call('POST', '/send', { to: `web@${team}`, text: 'x', colour: 'red' });
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'usage' } } });
  expect(JSON.stringify(answer.body)).toContain('colour');
});

test('what waits longer than its time ends as failed, with the reason, and can be seen', async () => {
  const engine = shared.current;
  const team = newTeam(engine, 'web');
  await engine.call('GET', '/teams');
  const { body } = await send(engine, { to: `web@${team}`, text: 'x' });
  await engine.store.write((tx) => tx.run('UPDATE lane_item SET deadline = at WHERE id = ?', body.id));
  expect(await settled(engine, body.id)).toMatchObject({ state: 'failed', detail: expect.stringContaining('waited') });
  expect((await engine.agent(`web@${team}`)).queueDepth).toBe(0);
});
