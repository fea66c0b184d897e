/** The address that `gantry worker` is given, and where it asks. */
import { expect, test } from 'vitest';
import { addressOf } from '../../../src/cli/worker/worker.ts';
import { startWorker } from '../../../src/programs/worker/worker.ts';

test('a queue behind a path is asked at that path', async () => {
  const asked: string[] = [];
  const worker = startWorker({
    url: addressOf('https://host/gantry/'),
    key: 'k',
    workerId: 'w',
    run: async () => null,
    untilEmpty: true,
    random: () => 0,
    beats: { hold: () => () => {}, close: async () => {} },
    async fetch(url) {
      asked.push(url);
      return Response.json({ task: null, lease: null });
    },
  });
  await worker.ended;
  expect(asked[0]).toBe('https://host/gantry/beta/work/queue?worker_id=w&wait=0');
});

test('nothing of an address is dropped without a word', () => {
  expect(addressOf('https://host:8443')).toBe('https://host:8443');
  expect(addressOf('http://127.0.0.1:3010/')).toBe('http://127.0.0.1:3010');
  for (const given of [
    'https://host/?a=b',
    'https://host/#a',
    'https://ada:secret@host/',
    'ftp://host',
    'host',
    undefined,
  ]) {
    expect(() => addressOf(given), given).toThrow(expect.objectContaining({ code: 'usage' }));
  }
});

test('a password in the address is not repeated', () => {
  expect(() => addressOf('https://ada:secret@host/')).toThrow(
    expect.objectContaining({ fact: expect.not.stringContaining('secret') }),
  );
});
