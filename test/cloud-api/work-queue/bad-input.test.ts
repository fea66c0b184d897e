/** What goes wrong between a queue and its callers: a payload of 10 MB on a connection that is used again, and fifty at three replicas. */
import { Agent, request } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { engines, type Place } from '../../support/engines.ts';
import { startQueue, type TestQueue } from './support.ts';

/** One after another, each on the connection of the one before where the server leaves it open. */
function onOneConnection({ server: { port } }: TestQueue) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const sockets = new Set<unknown>();
  const post = (body: string, chunked: boolean) =>
    new Promise<{ status: number; message: string }>((resolve, reject) => {
      const length = { 'content-length': Buffer.byteLength(body) };
      const headers = { 'content-type': 'application/json', authorization: 'Bearer ada', ...(chunked ? {} : length) };
      const asked = request({ host: '127.0.0.1', port, agent, method: 'POST', path: '/beta/work', headers });
      asked.on('socket', (socket) => sockets.add(socket));
      asked.on('error', reject);
      asked.on('response', (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => (text += part));
        answer.on('end', () => {
          const { message = '' } = JSON.parse(text) as { message?: string };
          resolve({ status: answer.statusCode ?? 0, message });
        });
        answer.on('error', reject);
      });
      asked.end(body);
    });
  return { post, sockets };
}

describe.each(engines)('on $name', (engine) => {
  test('a payload of 10 MB is refused in a sentence, and its connection goes on', async () => {
    const q = await startQueue(engine);
    const { post, sockets } = onOneConnection(q);
    const large = JSON.stringify({ payload: { text: 'x'.repeat(10_000_000) } });
    for (const chunked of [false, true, false]) {
      expect(await post(large, chunked)).toMatchObject({
        status: 413,
        message: expect.stringMatching(/^The body is larger than 1048576 bytes\. /),
      });
      expect((await post('{}', chunked)).status).toBe(201);
    }
    expect(sockets.size).toBe(1);
    expect((await q.send('GET', '')).tasks).toHaveLength(3);
  });

  // A file of SQLite has one process.
  if (engine.name === 'postgres')
    test('of fifty that lease at three replicas at once each gets a task of their own, or nothing', async () => {
      const place = await engine.place();
      const shared = { ...engine, place: async (): Promise<Place> => place };
      const replicas = [await startQueue(shared), await startQueue(shared), await startQueue(shared)] as const;
      const made = new Set<string>();
      for (let count = 0; count < 30; count += 1) made.add((await replicas[0].create()).id);
      const asked = Array.from({ length: 50 }, (_, n) => replicas[n % 3]!.lease(`w${n}`));
      const got = (await Promise.all(asked)).flatMap(({ task, lease }) => (task === null ? [] : [{ task, lease }]));
      expect(new Set(got.map(({ task }) => task.id))).toEqual(made);
      expect(got).toHaveLength(30);
      expect(new Set(got.map(({ lease }) => lease.id)).size).toBe(30);
      // Whoever has one ends it at another replica than the one that gave it.
      const ends = got.map(({ task }, n) => {
        const holder = { worker_id: task.lease_worker_id, result: n };
        return replicas[(n + 1) % 3]!.post(`/${task.id}/ack`, holder);
      });
      expect(new Set((await Promise.all(ends)).map(({ status }) => status))).toEqual(new Set([200]));
    });
});
