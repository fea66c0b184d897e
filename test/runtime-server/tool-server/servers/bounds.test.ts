/** What is kept of a server's words: lines, lists and results, each within its bounds. */
import { PassThrough } from 'node:stream';
import { parseJSONRPCMessage } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { listHash } from '../../../../src/runtime-server/tool-server/servers/catalogue.ts';
import { createLineReader, type LongLine } from '../../../../src/runtime-server/tool-server/servers/line-reader.ts';
import { readListing } from '../../../../src/runtime-server/tool-server/servers/listing.ts';
import { largestBlob, maxTextLength, readResult } from '../../../../src/runtime-server/tool-server/servers/results.ts';
import { withoutSecrets } from '../../../../src/runtime-server/tool-server/servers/secrets.ts';
import { createStdioTransport } from '../../../../src/runtime-server/tool-server/servers/stdio-transport.ts';
import { createTestClock } from '../../../support/test-clock.ts';
import { textOf } from './support.ts';

function read(maxLength: number, chunks: readonly string[]) {
  const lines: string[] = [];
  const long: LongLine[] = [];
  const add = createLineReader({ maxLength, onLine: (line) => lines.push(line), onLong: (line) => long.push(line) });
  for (const chunk of chunks) add(Buffer.from(chunk));
  return { lines, long };
}

test('lines are whole however they are cut, also in the middle of a character', () => {
  const text = '{"a":"grüße"}\r\n\n{"b":1}\n{"rest"';
  expect(read(100, [text]).lines).toEqual(['{"a":"grüße"}\r', '{"b":1}']);
  const lines: string[] = [];
  const add = createLineReader({ maxLength: 100, onLine: (line) => lines.push(line), onLong: () => {} });
  for (const byte of Buffer.from(text)) add(Buffer.from([byte]));
  expect(lines).toEqual(['{"a":"grüße"}\r', '{"b":1}']);
});

test('of a line that is too long only both ends are kept, and the next one is read', () => {
  const long = `begin${'x'.repeat(5000)}end`;
  for (const chunks of [[`${long}\nnext\n`], [...`${long}\nnext\n`]]) {
    const { lines, long: found } = read(1000, chunks);
    expect(lines).toEqual(['next']);
    expect(found).toEqual([
      { length: 5008, head: expect.stringMatching(/^beginx+$/), tail: expect.stringMatching(/^x+end$/) },
    ]);
    expect([found[0]?.head.length, found[0]?.tail.length]).toEqual([256, 256]);
  }
  expect(read(4, ['abcd\nabcde\n'])).toMatchObject({ lines: ['abcd'], long: [{ length: 5 }] });
});

/** A child of which only the streams are there. */
function transportOn(largestMessage = 1000) {
  const clock = createTestClock();
  const stdout = new PassThrough({ highWaterMark: 1 << 24 });
  const stdin = new PassThrough({ highWaterMark: 1 });
  const child = {
    pid: 1,
    stdin,
    stdout,
    exited: new Promise<never>(() => {}),
    complaint: () => '',
    end: async () => {},
  };
  const transport = createStdioTransport({ child, largestMessage, parse: parseJSONRPCMessage, clock, timers: clock });
  const heard: unknown[] = [];
  transport.onmessage = (message) => heard.push(message);
  return { clock, stdout, stdin, transport, heard };
}

test('a flood is read slowly: so many messages a second, and all that came before them in their order', async () => {
  const { clock, stdout, transport, heard } = transportOn();
  await transport.start();
  const line = (id: number) => `${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n`;
  for (let count = 0; count < 50; count += 1) {
    stdout.write(Array.from({ length: 100 }, (_, index) => line(count * 100 + index)).join(''));
  }
  await clock.advance(0);
  expect(heard.length).toBe(1000);
  for (let second = 2; second <= 5; second += 1) {
    await clock.advance(1000);
    expect(heard.length).toBe(second * 1000);
  }
  expect(heard.map((message) => (message as { id: number }).id)).toEqual(Array.from({ length: 5000 }, (_, id) => id));
});

test('an answer that is too long fails the request that it answers, wherever its id stands; a notice is dropped', async () => {
  const { clock, stdout, transport, heard } = transportOn();
  await transport.start();
  const text = 'x'.repeat(2000);
  const misleading = { content: [{ id: 9, text }] };
  stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { text, id: 9 } })}\n`);
  stdout.write(`${JSON.stringify({ result: { text, id: 9 }, jsonrpc: '2.0', id: 2 })}\n`);
  stdout.write(`{ "id" : 3 , "result": ${JSON.stringify(misleading)} , "jsonrpc": "2.0" }\r\n`);
  stdout.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: misleading })}\n`);
  await clock.advance(0);
  expect(heard).toEqual(
    [1, 2, 3].map((id) => ({
      jsonrpc: '2.0',
      id,
      error: { code: -32603, message: expect.stringMatching(/^The server’s answer has 2\d{3} bytes, more than 1000$/) },
    })),
  );
});

test('for a server that does not read, no backlog without end is kept', async () => {
  const { transport } = transportOn();
  await transport.start();
  const params = { text: 'x'.repeat(4 * 1024 * 1024) };
  const sent = Array.from({ length: 5 }, (_, id) => transport.send({ jsonrpc: '2.0', id, method: 'x', params }));
  await expect(sent.at(-1)).rejects.toThrow('The server does not read its input.');
});

const tool = (more: object) => ({ name: 'x', inputSchema: { type: 'object' }, ...more });

test('texts of a tool are bounded and show what they say; hints are true or false; nothing else is taken over', () => {
  const hidden = '\u202eevil\u200b\u0007 \u{e0041}text';
  const { tools } = readListing([
    tool({
      title: 'T'.repeat(500),
      description: hidden,
      annotations: { readOnlyHint: true, destructiveHint: 'yes', title: 'ignored', other: 1 },
      icons: [{ src: 'https://evil.example/track.png' }],
      _meta: { a: 1 },
      outputSchema: { $ref: 'https://evil.example/' },
    }),
  ]);
  expect(tools).toEqual([
    {
      tool: 'x',
      title: `${'T'.repeat(199)}…`,
      description: 'evil text',
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
    },
  ]);
  const long = readListing([tool({ description: 'd'.repeat(100_000) })]).tools[0]?.description;
  expect([long?.length, long?.at(-1)]).toEqual([8192, '…']);
  expect(readListing([tool({ annotations: { title: 'From hints' } })]).tools[0]?.title).toBe('From hints');
});

test('a number that JavaScript reads as infinite is nothing that a list or a row could not hold', () => {
  const inputSchema = JSON.parse('{"type":"object","properties":{"a":{"type":"number","maximum":1e999}}}') as object;
  const { tools } = readListing([tool({ inputSchema })]);
  expect(listHash(tools)).toBe(listHash(JSON.parse(JSON.stringify(tools)) as typeof tools));
});

test('a list beyond all measure is taken as far as it goes, and says so', () => {
  const many = readListing(Array.from({ length: 2500 }, (_, index) => tool({ name: `t${index}` })));
  expect([many.tools.length, many.problems]).toEqual([
    2000,
    ['The server lists 2500 tools; only the first 2000 are used.'],
  ]);
  const large = readListing(
    Array.from({ length: 100 }, (_, index) =>
      tool({ name: `t${index}`, inputSchema: { type: 'object', description: 'd'.repeat(100_000) } }),
    ),
  );
  expect(large.tools.length).toBe(41);
  expect(large.problems).toEqual(['The list is longer than 4194304 characters; "t41" and all after it are left out.']);
  const wrong = readListing(Array.from({ length: 200 }, () => null));
  expect([wrong.problems.length, wrong.problems.at(-1)]).toEqual([51, 'And 150 more.']);
});

test('what is refused counts as well, so that a server cannot send the same trouble without end', () => {
  const inputSchema = { type: 'object', properties: { a: { $ref: '#no' } }, description: 'd'.repeat(100_000) };
  const same = Array.from({ length: 100 }, () => tool({ inputSchema }));
  const good = tool({ name: 'good' });
  for (const sent of [
    same,
    same.map((one) => ({ ...one, inputSchema: {}, outputSchema: inputSchema, name: 'again' })),
  ]) {
    const { tools, problems } = readListing([...sent, good]);
    expect(tools.map((one) => one.tool)).not.toContain('good');
    expect(problems.at(-1)).toMatch(/^The list is longer than 4194304 characters; .* and all after it are left out\.$/);
    expect(problems.length).toBeLessThan(43);
  }
  // One that is refused for its length is not read: it costs the others nothing.
  const giant = tool({ inputSchema: { type: 'object', description: 'd'.repeat(6_000_000) } });
  expect(readListing([giant, good]).tools.map((one) => one.tool)).toEqual(['good']);
});

test('a result fits: text is cut with a notice, blobs and structure that are too large are left out in words', () => {
  const text = { type: 'text', text: 'x'.repeat(maxTextLength + 10) };
  const cut = readResult({ content: [text, { type: 'text', text: 'more' }] });
  expect(textOf(cut).slice(-30)).toBe('xxxxxxxx\n[cut: 10 characters more]'.slice(-30));
  expect(cut.content[1]).toEqual({ type: 'text', text: '\n[cut: 4 characters more]' });
  const half = readResult({ content: [{ type: 'text', text: `${'x'.repeat(maxTextLength - 1)}😀` }] });
  expect(textOf(half).isWellFormed()).toBe(true);

  const image = (length: number) => ({ type: 'image', mimeType: 'image/png', data: 'A'.repeat(length) });
  expect(readResult({ content: [image(100)] }).content).toEqual([image(100)]);
  const blob = {
    type: 'resource',
    resource: { uri: 'x:y', mimeType: 'application/pdf', blob: 'A'.repeat(largestBlob + 1) },
  };
  expect(readResult({ content: [blob] }).content).toEqual([
    { type: 'text', text: expect.stringMatching(/^\[application\/pdf of 3\.8 MB was left out/) },
  ]);
  // Together they have a bound as well.
  const three = readResult({ content: [image(4e6), image(4e6), image(100)] }).content.map(({ type }) => type);
  expect(three).toEqual(['image', 'text', 'image']);

  const structured = readResult({ content: [], structuredContent: { a: 'x'.repeat(maxTextLength) } });
  expect(structured).toEqual({
    content: [{ type: 'text', text: expect.stringContaining('the structured result of') }],
    isError: true,
  });
  expect(readResult({ content: [], structuredContent: { a: 1 } })).toEqual({
    content: [],
    structuredContent: { a: 1 },
    isError: false,
  });
});

test('what is no result, or cannot be read on, is an error in words', () => {
  const deep = JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`) as unknown;
  for (const sent of [
    null,
    'x',
    [],
    { content: [], structuredContent: deep },
    { content: [{ type: 'text', _meta: deep }] },
  ]) {
    expect(readResult(sent)).toMatchObject({ isError: true, content: [{ type: 'text' }] });
  }
  expect(readResult({ content: [7, { type: 'text', text: 'a' }, {}, null] }).content).toEqual([
    { type: 'text', text: 'a' },
  ]);
  expect(readResult({ content: Array.from({ length: 600 }, () => ({ type: 'text', text: '' })) }).content).toHaveLength(
    501,
  );
});

test('texts of a server come without the secrets that it was given, whole or as it took them apart', () => {
  const secrets = { 'headers.authorization': 'Bearer abc-def-ghi', 'env.KEY': 'sk-12345678', 'env.FLAG': '1' };
  expect(withoutSecrets('401 for Bearer abc-def-ghi; token abc-def-ghi; sk-12345678; 1', secrets)).toBe(
    '401 for •••; token •••; •••; 1',
  );
});
