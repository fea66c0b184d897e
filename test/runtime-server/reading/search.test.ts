/** Finding runs, steps, messages and events again by their words. */
import { expect, test } from 'vitest';
import type { Found } from '../../../src/contracts/factory/search-routes.ts';
import { around, lookedThrough } from '../../../src/runtime-server/reading/search.ts';
import { sharedEngine } from '../engine.ts';
import { startShells } from '../shells.ts';

const shared = sharedEngine();
interface Answer {
  found: Found[];
  complete: boolean;
}
const find = (q: string, more = '') =>
  shared.current.call<Answer>('GET', `/search?q=${encodeURIComponent(q)}${more}`).then(({ body }) => body);

test('a run, its step, a message and an event are found by words in any order and case, each with its page', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  engine.write(
    '.gantry/templates/lighthouse.json',
    JSON.stringify({ name: 'Mend the Lighthouse', steps: [{ id: 'lamp', title: 'Change the lamp', command: 'true' }] }),
  );
  const run = await engine.call<{ dagId: string }>('POST', '/runs', { template: 'lighthouse', projectId: 'coast' });
  const { dagId } = run.body;
  const thread = await engine.call<{ id: string }>('POST', '/threads', { title: 'Coast', bot: `web@${team}` });
  await engine.call('POST', '/send', { to: `web@${team}`, text: 'echo the foghorn is loud', threadId: thread.body.id });

  expect((await find('LIGHTHOUSE mend')).found).toContainEqual(
    expect.objectContaining({ kind: 'run', id: dagId, url: `/work?dag=${dagId}&view=graph` }),
  );
  expect((await find('lamp change')).found).toContainEqual(
    expect.objectContaining({ kind: 'step', title: 'Change the lamp', text: expect.stringContaining('Lighthouse') }),
  );
  expect((await find('foghorn')).found).toContainEqual(
    expect.objectContaining({
      kind: 'message',
      title: `You → web@${team}`,
      text: expect.stringContaining('foghorn is loud'),
      url: `/?allternit_thread=${thread.body.id}`,
    }),
  );
  expect((await find('thread.created')).found).toContainEqual(
    expect.objectContaining({
      kind: 'event',
      title: 'Thread “Coast” was opened',
      text: 'thread.created',
      url: expect.stringMatching(/^\/ledger\?row=\d+$/),
    }),
  );
  expect((await find('delivery.accepted')).found).toContainEqual(
    expect.objectContaining({ title: `You → web@${team}: echo the foghorn is loud · accepted` }),
  );
});

test('signs that mean something to the database are looked for as they are', async () => {
  expect(await find('%')).toEqual({ found: [], complete: true });
  expect((await find('no_such_word_anywhere')).found).toEqual([]);
});

test('of each kind at most as many as asked for, newest first; a blank question finds nothing, a longer one is refused', async () => {
  const { found } = await find('e', '&limit=2');
  for (const kind of ['message', 'event']) expect(found.filter((one) => one.kind === kind).length).toBeLessThan(3);
  const events = found.filter(({ kind }) => kind === 'event').map(({ id }) => Number(id));
  expect(events).toEqual(events.toSorted((a, b) => b - a));
  expect(await find('   ')).toEqual({ found: [], complete: true });
  for (const bad of ['', 'x'.repeat(201)]) {
    expect(await shared.current.call('GET', `/search?q=${bad}`)).toMatchObject({ status: 400 });
  }
});

test('what is older than what is looked through is not found, and the answer says that there is more', async () => {
  const { store } = shared.current;
  await store.write((tx) => {
    tx.run(`INSERT INTO factory_thread VALUES ('thread_old', 'Old', NULL, NULL, 1, 1)`);
    for (let n = 0; n <= lookedThrough; n++) {
      tx.run(
        `INSERT INTO factory_message VALUES (?, 'thread_old', 'owner', 'nobody', ?, 1, 'in', NULL, NULL)`,
        `msg_${String(n).padStart(6, '0')}`,
        n === 0 ? 'the oldest anchor' : n === lookedThrough ? 'the newest anchor' : 'a wave',
      );
    }
  });
  const { found, complete } = await find('anchor');
  expect(found.map(({ text }) => text)).toEqual(['the newest anchor']);
  expect(complete).toBe(false);
});

test('a bot does not search: it reads the threads that concern it', async () => {
  const team = await startShells(shared.current, 'web');
  const token = await shared.current.botToken(`web@${team}`);
  expect(await shared.current.call('GET', '/search?q=a', undefined, { token })).toMatchObject({ status: 403 });
});

test('what is shown of a text has its first word in it, on one line', () => {
  expect(around('short\ntext', ['text'])).toBe('short text');
  const long = around(`${'a '.repeat(100)}needle ${'b '.repeat(100)}`, ['needle']);
  expect(long).toMatch(/^….*needle.*…$/);
  expect(long.length).toBeLessThan(160);
});
