import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSseParser } from '../../src/contracts/common/sse-parser.ts';

const stream = ': hello\n\nid: 7\nevent: x\ndata: {"a":1}\n\ndata: one\r\ndata: two\r\n\r\nid\ndata:three\rdata:\r\r';
const whole = [
  { event: 'x', id: '7', data: '{"a":1}' },
  { event: 'message', id: null, data: 'one\ntwo' },
  { event: 'message', id: null, data: 'three\n' },
];

test('events come out whole with their name and id, comments and empty ids count for nothing', () => {
  expect(createSseParser().push(`${stream}\n`)).toEqual(whole);
});

test('a stream cut at any places gives the same events', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(stream.length), { maxLength: 12 }), (cuts) => {
      const parser = createSseParser();
      const places = [0, ...cuts.sort((a, b) => a - b), stream.length];
      const events = places.slice(1).flatMap((end, index) => parser.push(stream.slice(places[index], end)));
      expect([...events, ...parser.push('\n')]).toEqual(whole);
    }),
  );
});

test('an event without data is not given', () => {
  expect(createSseParser().push('event: ping\n\nid: 3\n\n')).toEqual([]);
});

test('an event of many megabytes is read in time that grows with its size alone', () => {
  const piece = 'x'.repeat(16 * 1024);
  const pieces = 1024;
  const parser = createSseParser();
  const began = performance.now();
  parser.push('data: ');
  for (let n = 0; n < pieces; n += 1) parser.push(piece);
  const [event] = parser.push('\n\n');
  // Looking at all of it with each piece takes a minute for these 16 MB.
  expect(performance.now() - began).toBeLessThan(5000);
  expect(event?.data.length).toBe(pieces * piece.length);
});
