import { expect, test } from 'vitest';
import { type Delivery, isUnanswered, lastWords, type Thread } from '../../../src/contracts/factory/delivery.ts';
import { type Engine, sharedEngine } from '../engine.ts';
import { startShells } from '../shells.ts';

const shared = sharedEngine();

const send = (engine: Engine, body: Record<string, unknown>, options = {}) =>
  engine.call<Delivery>('POST', '/send', body, options);

test('a message of a thread is recorded, carries the way to answer, and the answer stays in the thread', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web', 'api');
  const thread = await engine.call<{ id: string }>('POST', '/threads', { title: 'Plans', bot: `web@${team}` });
  expect(thread.status).toBe(201);
  const { id } = thread.body;
  const asked = await send(engine, { to: `web@${team}`, text: 'echo asked', threadId: id });
  expect(asked.body).toMatchObject({ state: 'verified', threadId: id });
  const screen = await engine.call<{ text: string }>('GET', `/agents/web@${team}/capture`);
  expect(screen.body.text).toContain(`gantry orchestration reply ${id}`);
  const token = await engine.botToken(`web@${team}`);
  const answered = await send(engine, { to: `channel:${id}`, text: 'done' }, { token });
  expect(answered.body).toMatchObject({ via: 'channel', state: 'best_effort', threadId: id, to: `channel:${id}` });
  const messages = await engine.call('GET', `/threads/${id}/messages`);
  expect(messages.body).toMatchObject({
    messages: [
      {
        id: answered.body.messageId,
        from: `web@${team}`,
        direction: 'out',
        text: 'done',
        deliveryId: answered.body.id,
      },
      { id: asked.body.messageId, from: 'owner', to: `web@${team}`, direction: 'in', text: 'echo asked' },
    ],
    nextCursor: null,
  });
  const sent = await engine.call<{ deliveries: Delivery[] }>('GET', `/deliveries?thread=${id}`);
  expect(sent.body.deliveries).toHaveLength(2);
  const stranger = await engine.botToken(`api@${team}`);
  expect(await send(engine, { to: `channel:${id}`, text: 'x' }, { token: stranger })).toMatchObject({ status: 404 });
  expect(await engine.call('GET', `/threads/${id}/messages`, undefined, { token: stranger })).toMatchObject({
    status: 404,
  });
  expect(await engine.call('GET', `/threads/${id}/messages`, undefined, { token })).toMatchObject({ status: 200 });
});

test('a listed thread says who wrote to whom last and how it begins, and whether the bot still owes an answer', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const web = `web@${team}`;
  const { id } = (await engine.call<{ id: string }>('POST', '/threads', { title: 'Release', bot: web })).body;
  const listed = async () => {
    const { threads } = (await engine.call<{ threads: Thread[] }>('GET', '/threads')).body;
    const thread = threads.find((one) => one.id === id)!;
    return [thread.last, lastWords(thread), isUnanswered(thread)];
  };
  expect(await listed()).toEqual([undefined, null, false]);
  await send(engine, { to: web, text: 'echo build it\necho and ship it', threadId: id });
  const asked = { from: 'owner', to: web, firstWords: 'echo build it', direction: 'in' };
  expect(await listed()).toEqual([asked, `You → ${web}: echo build it`, true]);
  const token = await engine.botToken(web);
  await send(engine, { to: `channel:${id}`, text: 'shipped' }, { token });
  expect(await listed()).toEqual([
    expect.objectContaining({ from: web, firstWords: 'shipped', direction: 'out' }),
    expect.stringMatching(new RegExp(`^${web} → .+: shipped$`)),
    false,
  ]);
});

test('a bot sees the threads that concern it alone, and opens threads of its own alone', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web', 'api');
  const open = async (body: object, token?: string) =>
    (await engine.call<{ id: string; botId: string }>('POST', '/threads', body, token === undefined ? {} : { token }))
      .body;
  const [web, api] = [await engine.botToken(`web@${team}`), await engine.botToken(`api@${team}`)];
  const seen = async (token: string) => {
    const { body } = await engine.call<{ threads: { id: string }[] }>('GET', '/threads', undefined, { token });
    return body.threads.map(({ id }) => id);
  };
  const ofNobody = await open({ title: 'of nobody' });
  const ofWeb = await open({ title: 'of web', bot: `web@${team}` });
  const own = await open({ title: 'its own' }, web);
  expect(own.botId).toBe((await engine.agent(`web@${team}`)).id);
  expect(await send(engine, { to: `channel:${own.id}`, text: 'x' }, { token: web })).toMatchObject({ status: 200 });
  expect(await seen(web)).toEqual([own.id, ofWeb.id]);
  expect(await seen(api)).toEqual([]);
  await send(engine, { to: `api@${team}`, text: 'echo joined', threadId: ofNobody.id });
  expect(await seen(api)).toEqual([ofNobody.id]);
  const other = { title: 'x', bot: `api@${team}` };
  expect(await engine.call('POST', '/threads', other, { token: web })).toMatchObject({
    status: 403,
    body: { error: { code: 'refused' } },
  });
});

test('threads come newest message first, by bot, in pages', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web', 'api');
  const ids: string[] = [];
  for (const [title, bot] of [
    ['a', `web@${team}`],
    ['b', `api@${team}`],
    ['c', `web@${team}`],
  ]) {
    ids.push((await engine.call<{ id: string }>('POST', '/threads', { title, bot })).body.id);
  }
  await send(engine, { to: `channel:${ids[0]}`, text: 'newest' });
  const first = await engine.call<{ threads: { id: string }[]; nextCursor: string }>('GET', '/threads?limit=2');
  const second = await engine.call<{ threads: { id: string }[] }>(
    'GET',
    `/threads?limit=2&cursor=${first.body.nextCursor}`,
  );
  expect([...first.body.threads, ...second.body.threads].slice(0, 3).map(({ id }) => id)).toEqual([
    ids[0],
    ids[2],
    ids[1],
  ]);
  const ofWeb = await engine.call<{ threads: { id: string }[] }>('GET', `/threads?bot=web@${team}`);
  expect(ofWeb.body.threads.map(({ id }) => id)).toEqual([ids[0], ids[2]]);
  expect(await engine.call('POST', '/threads', { title: 'x', bot: `ghost@${team}` })).toMatchObject({ status: 404 });
  const plan = await engine.call('POST', '/threads', { title: 'x', bot: `web@${team}`, dryRun: true });
  expect(plan).toMatchObject({ status: 200, body: { dryRun: true, plan: { title: 'x' } } });
});
