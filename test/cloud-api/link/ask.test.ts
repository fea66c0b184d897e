import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { type Asking, askUpstream } from '../../../src/cloud-api/link/ask.ts';
import { readAnswer } from '../../../src/cloud-api/link/read-answer.ts';
import { endAtOnce } from '../../../src/kit/http/end-at-once.ts';
import { onEnd } from '../../support/at-end.ts';

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

async function listen(listener: Listener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** A server in front of one that says what reached it: what each hears of a request. */
async function startWay(how: () => Partial<Asking> = () => ({})) {
  const agent = new Agent({ keepAlive: true });
  onEnd(() => agent.destroy());
  const behind = await listen(async (got, response) => {
    const body = await text(got);
    const said = JSON.stringify({ method: got.method, headers: got.headers, raw: got.rawHeaders, body });
    response.end(said);
  });
  const front = await listen(async (got, response) => {
    const asking = how();
    const headers = { host: 'engine', accept: 'own/accept' };
    const upstream = () => ({ agent, host: '127.0.0.1', port: String(behind), path: '/there', headers });
    const answer = await askUpstream({ context: { request: got, response }, upstream, ...asking });
    endAtOnce(response, await readAnswer(answer, 1 << 24));
  });
  return ({ method = 'POST', headers = {}, body }: Sent) =>
    new Promise<{ method: string; headers: Record<string, string>; raw: string[]; body: string }>((resolve, reject) => {
      const outgoing = request({ port: front, host: '127.0.0.1', method, headers }, (answer) => {
        text(answer).then((said) => resolve(JSON.parse(said)), reject);
      });
      outgoing.once('error', reject);
      outgoing.end(body);
    });
}

const countOf = (raw: readonly string[], name: string) =>
  raw.filter((each, index) => index % 2 === 0 && each.toLowerCase() === name).length;

test('what is said of the way replaces what the caller said, once, and nothing else of the caller travels on', async () => {
  const send = await startWay();
  const { headers, raw } = await send({
    headers: { accept: 'their/accept', cookie: 'secret', 'idempotency-key': 'k' },
  });
  expect(headers).toMatchObject({ host: 'engine', accept: 'own/accept', 'idempotency-key': 'k' });
  expect(headers).not.toHaveProperty('cookie');
  for (const name of ['host', 'accept', 'connection']) expect(countOf(raw, name)).toBe(1);
});

test('a request without a body says so, and is not sent in chunks', async () => {
  const send = await startWay();
  const posted = await send({ headers: { 'content-length': '0' } });
  expect(posted.headers).toMatchObject({ 'content-length': '0' });
  expect(posted.headers).not.toHaveProperty('transfer-encoding');
  const got = await send({ method: 'GET' });
  expect(got.headers).not.toHaveProperty('content-length');
  expect(got.headers).not.toHaveProperty('transfer-encoding');
});

test('a method of our own without a body has none, whatever length the caller’s had', async () => {
  const send = await startWay(() => ({ method: 'POST' }));
  const { method, headers, body } = await send({ method: 'PUT', body: 'four' });
  expect({ method, body, length: headers['content-length'] }).toEqual({ method: 'POST', body: '', length: '0' });
});

test('a body in place of the caller’s arrives byte for byte, short and long, with its own length', async () => {
  for (const times of [1, 5_000]) {
    const given = '“Größe” 漢字 🙂\u0000'.repeat(times);
    const send = await startWay(() => ({ body: Buffer.from(given) }));
    const { headers, raw, body } = await send({ headers: { 'transfer-encoding': 'chunked' }, body: 'other' });
    expect(body === given).toBe(true);
    expect(headers['content-length']).toBe(String(Buffer.byteLength(given)));
    expect(countOf(raw, 'content-length') + countOf(raw, 'transfer-encoding')).toBe(1);
  }
});

test('a body that is passed on unread arrives, in chunks or with its length', async () => {
  const send = await startWay();
  const ways: Record<string, string>[] = [{ 'content-length': '7' }, { 'transfer-encoding': 'chunked' }];
  for (const headers of ways) {
    expect(await send({ headers, body: 'Größe' })).toMatchObject({ body: 'Größe', headers });
  }
});

test('a caller for whom many servers were asked waits for none of them any more', async () => {
  const agent = new Agent({ keepAlive: true });
  onEnd(() => agent.destroy());
  const behind = await listen((_got, response) => response.end('{}'));
  const front = await listen(async (got, response) => {
    const before = response.listenerCount('close');
    const upstream = () => ({ agent, host: '127.0.0.1', port: String(behind), path: '/', headers: {} });
    for (let n = 0; n < 20; n += 1) {
      const answer = await askUpstream({ context: { request: got, response }, upstream, method: 'GET' });
      const ended = new Promise<void>((resolve) => answer.once('close', resolve));
      await readAnswer(answer, 1000);
      await ended;
    }
    endAtOnce(response, Buffer.from(JSON.stringify({ more: response.listenerCount('close') - before })));
  });
  // The request of the last one may be about to end.
  const { more } = (await (await fetch(`http://127.0.0.1:${front}/`)).json()) as { more: number };
  expect(more).toBeLessThanOrEqual(1);
});
