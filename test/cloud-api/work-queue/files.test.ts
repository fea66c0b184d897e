/** Files of tasks, on both engines: stored in parts, each person's own, bounded, and removed in time. */
import { expect, test } from 'vitest';
import { engines } from '../../support/engines.ts';
import { startQueue } from './support.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
/** Of one person, in all. */
const maxPartsOfPerson = 2048;
const day = 24 * 3600 * 1000;

test.each(engines)(
  '$name: a file belongs to its person, and a part sent again takes the place of the first',
  async (engine) => {
    const q = await startQueue(engine);
    const put = (text: string, token = 'ada') =>
      q.send('PUT', '/files/a.bundle/0', { body: { data: base64(text) }, token });
    expect((await put('one')).status).toBe(200);
    expect((await put('two')).status).toBe(200);
    expect((await put('three', 'bob')).status).toBe(200);
    expect(await q.send('GET', '/files/a.bundle/0')).toMatchObject({ status: 200, data: base64('two') });
    expect(await q.send('GET', '/files/a.bundle/1')).toMatchObject({ status: 404, error: 'file_not_found' });
    expect((await q.send('DELETE', '/files/a.bundle')).status).toBe(200);
    expect((await q.send('GET', '/files/a.bundle/0')).status).toBe(404);
    expect(await q.send('GET', '/files/a.bundle/0', { token: 'bob' })).toMatchObject({ data: base64('three') });
  },
);

test.each(engines)('$name: a person’s files have a limit, and go 30 days after they were stored', async (engine) => {
  const q = await startQueue(engine);
  const rows = Array.from({ length: maxPartsOfPerson }, (_, part) => part);
  await q.store.write(function* (tx) {
    const sql = 'INSERT INTO work_file (user_id, name, part, at, bytes) VALUES (?, ?, ?, ?, ?)';
    for (const part of rows) yield* tx.run(sql, 'user_ada', 'many', part, q.clock.now(), Buffer.from('x'));
  });
  const put = (token: string) => q.send('PUT', '/files/more/0', { body: { data: base64('y') }, token });
  expect(await put('ada')).toMatchObject({ status: 409, error: 'files_full' });
  expect((await put('bob')).status).toBe(200);
  await q.work.forgetOld(q.clock.now() + 30 * day);
  expect((await q.send('GET', '/files/many/0')).status).toBe(200);
  await q.work.forgetOld(q.clock.now() + 30 * day + 1000);
  expect((await q.send('GET', '/files/many/0')).status).toBe(404);
  expect((await put('ada')).status).toBe(200);
});

test('a part that is empty, too large, no base64 or of a strange name is refused', async () => {
  const q = await startQueue(engines[0]!);
  const put = async (path: string, data: string) => (await q.send('PUT', `/files/${path}`, { body: { data } })).status;
  expect(await put('a/0', '')).toBe(400);
  expect(await put('a/0', '!!!!')).toBe(400);
  expect(await put('a/0', 'A'.repeat(1_500_000))).toBe(400);
  expect(await put('a/64', base64('x'))).toBe(404);
  expect(await put('..%2Fa/0', base64('x'))).toBe(404);
});
