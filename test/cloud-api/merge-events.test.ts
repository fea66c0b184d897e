/** Approval events between the engine's: never inside one, never lost, whatever the pieces the stream comes in. */
import { expect, test } from 'vitest';
import { createMergedStream } from '../../src/cloud-api/factory/merge-events.ts';
import { seededRandom } from '../support/kill-loop.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('cut anywhere, every event of both comes whole, and the engine’s keep their order', async () => {
  const random = seededRandom(3);
  for (let round = 0; round < 100; round += 1) {
    const { stream, inject } = createMergedStream();
    let out = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    const events = Array.from({ length: 20 }, (_, n) => `id: ${n}\ndata: {"text":"é${'x'.repeat(n)}"}\n\n`);
    const bytes = Buffer.from(`:\n\n${events.join('')}:\n\n`);
    const injected: string[] = [];
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + Math.floor(random() * 40);
      stream.write(bytes.subarray(at, at + size));
      at += size;
      if (random() < 0.3) {
        const id = `engine_1~apr-${injected.length}`;
        inject({ id, data: { n: injected.length } });
        injected.push(`id: ${id}\ndata: {"n":${injected.length}}\n\n`);
      }
      if (random() < 0.3) await turn();
    }
    stream.end();
    await turn();
    await turn();
    const blocks = out
      .split('\n\n')
      .slice(0, -1)
      .map((block) => `${block}\n\n`);
    expect(blocks.filter((block) => block.startsWith('id: engine_1'))).toEqual(injected);
    expect(blocks.filter((block) => !block.startsWith('id: engine_1'))).toEqual([':\n\n', ...events, ':\n\n']);
  }
});

test('an event comes at once between two of the engine’s, and waits for the end of a half one', async () => {
  const { stream, inject } = createMergedStream();
  let out = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  inject({ id: 'a', data: 1 });
  await turn();
  expect(out).toBe('id: a\ndata: 1\n\n');
  stream.write('id: 1\nda');
  inject({ id: 'b', data: 2 });
  await turn();
  expect(out).not.toContain('id: b');
  stream.write('ta: 1\n');
  stream.write('\n');
  await turn();
  expect(out).toBe('id: a\ndata: 1\n\nid: 1\ndata: 1\n\nid: b\ndata: 2\n\n');
  stream.destroy();
  inject({ id: 'c', data: 3 });
});
