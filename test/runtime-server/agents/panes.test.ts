import { expect, test } from 'vitest';
import type { Screen } from '../../../src/contracts/factory/agent.ts';
import { type Engine, sharedEngine, waitFor } from '../engine.ts';
import { makeSleep, newTeam, startShells } from '../shells.ts';
import { openStream } from '../sse.ts';

const shared = sharedEngine();

const type = (engine: Engine, address: string, body: Record<string, unknown>) =>
  engine.call('POST', `/agents/${address}/input`, body);
const capture = async (engine: Engine, address: string, query = '') =>
  (await engine.call<{ text: string; at: string }>('GET', `/agents/${address}/capture${query}`)).body;
interface Page {
  chunks: { at: string; text: string }[];
  next: string | null;
}
const transcript = (engine: Engine, address: string, cursor?: string) =>
  engine.call<Page>('GET', `/agents/${address}/transcript${cursor === undefined ? '' : `?cursor=${cursor}`}`);

/** Reads to the end, or until `enough`. */
async function readAll(engine: Engine, address: string, enough: (text: string) => boolean) {
  let text = '';
  let cursor: string | undefined;
  const pages = await waitFor(
    async () => {
      const { body } = await transcript(engine, address, cursor);
      text += body.chunks.map((chunk) => chunk.text).join('');
      cursor = body.next ?? cursor;
      return body;
    },
    (page) => page.next === null || enough(text),
  );
  return { text, next: pages.next };
}

test('typing reaches the program, text first and then keys, and leaves no trace in the ledger', async () => {
  const engine = shared.current;
  const bot = `web@${await startShells(engine, 'web')}`;
  const head = await engine.ledger.head();
  expect(await type(engine, bot, { text: 'echo typed-$((1+1))', keys: ['Enter'] })).toMatchObject({
    body: { ok: true },
  });
  await waitFor(
    () => capture(engine, bot),
    ({ text }) => text.includes('typed-2'),
  );
  await makeSleep(engine, bot);
  await type(engine, bot, { keys: ['C-c'] });
  await engine.until(bot, 'idle');
  expect(await engine.ledger.head()).toBe(head);
});

test('keys with a wrong name, and nothing at all, are refused and nothing is typed', async () => {
  const engine = shared.current;
  const bot = `web@${await startShells(engine, 'web')}`;
  for (const body of [{}, { text: '', keys: [] }, { text: 'echo never', keys: ['Enterr'] }]) {
    expect(await type(engine, bot, body)).toMatchObject({ status: 400, body: { error: { code: 'usage' } } });
  }
  await type(engine, bot, { text: 'echo marker', keys: ['Enter'] });
  expect(
    (
      await waitFor(
        () => capture(engine, bot),
        ({ text }) => text.includes('marker'),
      )
    ).text,
  ).not.toContain('never');
});

test('capture gives 80 lines unless told, at most 2000', async () => {
  const engine = shared.current;
  const bot = `web@${await startShells(engine, 'web')}`;
  await type(engine, bot, { text: 'seq 1 200', keys: ['Enter'] });
  await waitFor(
    () => capture(engine, bot),
    ({ text }) => /^200$/m.test(text),
  );
  expect((await capture(engine, bot)).text.trimEnd().split('\n').length).toBeLessThanOrEqual(80);
  expect((await capture(engine, bot, '?lines=2000')).text).toMatch(/^1$/m);
  expect((await capture(engine, bot, '?lines=3')).text).not.toMatch(/^150$/m);
  for (const lines of ['0', '2001', 'x']) {
    expect(await engine.call('GET', `/agents/${bot}/capture?lines=${lines}`)).toMatchObject({ status: 400 });
  }
});

test('the transcript is what was printed, as plain text, page by page, and ends with the pane', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const bot = `web@${team}`;
  await type(engine, bot, { text: "printf '\\033[31mred\\033[0m\\007\\tend\\n'; seq 1 30000", keys: ['Enter'] });
  const live = await readAll(engine, bot, (text) => text.includes('\n30000\n'));
  expect(live.text).toContain('red\tend\n');
  const numbers = live.text.split('\n').filter((line) => /^\d+$/.test(line));
  expect(numbers).toEqual(Array.from({ length: 30_000 }, (_, n) => String(n + 1)));
  expect(live.text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
  expect(live.next).not.toBeNull();
  await engine.call('POST', `/teams/${team}/down`);
  const closed = await readAll(engine, bot, () => false);
  expect(closed).toEqual({ text: expect.stringContaining(live.text), next: null });
  expect((await capture(engine, bot)).text).toContain('30000');
});

test('a transcript cursor of another agent, or none of ours, is refused', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web', 'api');
  const { body } = await transcript(engine, `web@${team}`);
  for (const cursor of ['nonsense', 'pane_x.0', String(body.next), `${String(body.next)}99999999`]) {
    const answer = await transcript(engine, `api@${team}`, cursor);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'usage' } } });
  }
});

test('a bot that never had a pane has no screen, capture or transcript, and takes no input', async () => {
  const engine = shared.current;
  const team = newTeam(engine, 'web');
  await engine.call('GET', '/teams');
  for (const path of ['screen', 'capture', 'transcript', 'scrollback', 'stream']) {
    expect(await engine.call('GET', `/agents/web@${team}/${path}`)).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    });
  }
  expect(await type(engine, `web@${team}`, { text: 'x' })).toMatchObject({ status: 404 });
  expect(await engine.call('GET', `/agents/web@${team}/explain`)).toMatchObject({ status: 200, body: { steps: [] } });
});

test('a stream gives the screen at once and on change, and gone when the pane closes, without ids', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const bot = `web@${team}`;
  const stream = await openStream(engine, `/agents/${bot}/stream`);
  const first = await stream.next(({ event }) => event === 'screen');
  const screen = (await engine.call<Screen>('GET', `/agents/${bot}/screen`)).body;
  expect(first.data).toMatchObject({ cols: screen.cols, rows: screen.rows, revision: expect.any(Number) });
  await type(engine, bot, { text: 'echo streamed', keys: ['Enter'] });
  await stream.next(({ event, data }) => event === 'screen' && String(data.ansi).includes('streamed'));
  await engine.call('POST', `/teams/${team}/down`);
  await stream.ended;
  expect(stream.events.filter(({ event }) => event === 'gone')).toHaveLength(1);
  expect(stream.events.at(-1)).toMatchObject({ event: 'gone', data: { reason: expect.any(String) } });
  expect(stream.events.every(({ id }) => id === null)).toBe(true);
  const revisions = stream.events.filter(({ event }) => event === 'screen').map(({ data }) => data.revision);
  expect(revisions).toEqual([...revisions].sort((a, b) => Number(a) - Number(b)));
  expect(await engine.call('GET', `/agents/${bot}/screen`)).toMatchObject({ status: 404 });
});

test('the size is set until somebody else has typed', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web', 'api');
  const bot = `web@${team}`;
  const size = (cols: number) => engine.call('POST', `/agents/${bot}/size`, { cols, rows: 30 });
  expect((await size(90)).body).toMatchObject({ ok: true, cols: 90, rows: 30 });
  await type(engine, bot, { text: 'x' });
  expect((await size(100)).body).toMatchObject({ cols: 100 });
  expect((await engine.call<Screen>('GET', `/agents/${bot}/screen`)).body).toMatchObject({ cols: 100, rows: 30 });
  expect(await engine.call('POST', `/agents/${bot}/size`, { cols: 1, rows: 0 })).toMatchObject({ status: 400 });
});

test('scrollback gives the lines above the screen by absolute number', async () => {
  const engine = shared.current;
  const bot = `web@${await startShells(engine, 'web')}`;
  await type(engine, bot, { text: 'seq 1 300', keys: ['Enter'] });
  await waitFor(
    () => capture(engine, bot),
    ({ text }) => /^300$/m.test(text),
  );
  interface Lines {
    ansi: string;
    first: number;
    lines: number;
    total: number;
  }
  const above = await engine.call<Lines>('GET', `/agents/${bot}/scrollback?lines=10`);
  expect(above.body.lines).toBe(10);
  const before = await engine.call<Lines>('GET', `/agents/${bot}/scrollback?lines=10&before=${above.body.first}`);
  expect(before.body.first).toBe(above.body.first - 10);
});

test('explain names the rules and the evidence of a live bot', async () => {
  const engine = shared.current;
  const bot = `web@${await startShells(engine, 'web')}`;
  const { body } = await engine.call('GET', `/agents/${bot}/explain`);
  expect(body).toMatchObject({ agent: bot, harness: 'shell', state: 'idle', ruleset: expect.any(String) });
  expect((body as unknown as { steps: unknown[] }).steps.length).toBeGreaterThan(0);
});

test('bots and strangers cannot type: a bot’s token is no key to a pane', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web', 'api');
  const token = await engine.botToken(`api@${team}`);
  const answer = await engine.call('POST', `/agents/web@${team}/input`, { text: 'x' }, { token });
  expect(answer).toMatchObject({ status: 403, body: { error: { code: 'refused' } } });
});

test('a bot reports through its hook door with its own token; nobody else may', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const token = await engine.botToken(`web@${team}`);
  expect(await engine.call('POST', '/hooks/Unheard', { a: 1 }, { token })).toMatchObject({ status: 200 });
  expect(await engine.agent(`web@${team}`)).toMatchObject({ state: 'idle' });
  expect(await engine.call('POST', '/hooks/Stop', {})).toMatchObject({ status: 403 });
});
