/** The wire of ACP: messages come whole however they are cut, and what is no message is left out. */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { messageStream } from '../../../src/kit/acp/stream.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';

function open(limits = { maxLineBytes: 1000, maxPerSecond: 1000 }) {
  const input = new PassThrough();
  const output = new PassThrough();
  const leftOut: string[] = [];
  const onLeftOut = (what: string) => void leftOut.push(what);
  const ends = { input, output, timers: systemTimers, signal: new AbortController().signal, onLeftOut };
  return { input, output, leftOut, stream: messageStream(ends, limits) };
}

async function all(stream: ReturnType<typeof open>['stream']): Promise<unknown[]> {
  const got: unknown[] = [];
  for await (const message of stream.readable) got.push(message);
  return got;
}

const note = (text: string) => ({ jsonrpc: '2.0', method: 'note', params: { text } });

test('a message arrives whole when its bytes come one by one, also within a character', async () => {
  const { input, stream } = open();
  const sent = [note('äöü 漢字 👩‍👩‍👧'), note('two')];
  for (const byte of Buffer.from(sent.map((one) => `${JSON.stringify(one)}\n`).join(''))) input.write(Buffer.of(byte));
  input.end();
  expect(await all(stream)).toEqual(sent);
});

test('lines that are no message, are too long or answer nothing are left out, and the rest arrives', async () => {
  const { input, stream, leftOut } = open();
  const bad = ['log', '[1]', '{"jsonrpc":"2.0","id":7,"result":1}', `"${'x'.repeat(2000)}"`, '{"id":1}', ''];
  input.end(`${bad.join('\n')}\n${JSON.stringify(note('good'))}`);
  expect(await all(stream)).toEqual([note('good')]);
  expect(leftOut).toHaveLength(5);
  expect(leftOut[3]).toBe('a line of more than 1000 bytes');
});

test('an answer counts once, and only where it was asked for', async () => {
  const { input, output, stream, leftOut } = open();
  const writer = stream.writable.getWriter();
  await writer.write({ jsonrpc: '2.0', id: 1, method: 'ask' });
  expect(JSON.parse(String(output.read()))).toMatchObject({ id: 1, method: 'ask' });
  const answer = { jsonrpc: '2.0', id: 1, result: {} };
  input.end(`${JSON.stringify(answer)}\n${JSON.stringify(answer)}\n`);
  expect(await all(stream)).toEqual([answer]);
  expect(leftOut).toHaveLength(1);
});

test('a flood waits in the pipe and loses nothing', async () => {
  const { input, stream } = open({ maxLineBytes: 1000, maxPerSecond: 100 });
  const sent = Array.from({ length: 250 }, (_, n) => note(String(n)));
  input.end(sent.map((one) => `${JSON.stringify(one)}\n`).join(''));
  expect(await all(stream)).toEqual(sent);
});
