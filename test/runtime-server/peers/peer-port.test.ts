/** Who may use the peer port, and while which pairing and ticket hold. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FactoryError } from '../../../src/contracts/common/errors.ts';
import { peerRoutes } from '../../../src/contracts/factory/peer-routes.ts';
import { rawRequest } from '../../kit/http/support.ts';
import { ownerToken, sharedEngine, waitFor } from '../engine.ts';
import { issuer, openTicketOffice, peerCaller, peerComputer } from './support.ts';

const office = await openTicketOffice();
const shared = sharedEngine({ pairing: office.pairing, computerId: peerComputer });
const ada = peerCaller(() => shared.current, office, 'user_ada');
const pathOf = (path: string) => path.replace('/api/factory/peer', '').replace(':name', 'dev');

test('every peer route refuses whoever has no ticket for this computer now', async () => {
  const now = Math.floor(Date.now() / 1000);
  const bad = {
    junk: 'junk',
    owner: ownerToken,
    otherComputer: await office.mint('user_ada', { audience: 'computer:computer_01OTHER' }),
    accessToken: await office.mint('user_ada', { typ: 'at+jwt' }),
    otherCloud: await office.mint('user_ada', { issuer: 'https://other.example' }),
    otherKey: await (await openTicketOffice()).mint('user_ada'),
    expired: await office.mint('user_ada', { iat: now - 400, exp: now - 100 }),
    fromTheFuture: await office.mint('user_ada', { iat: now + 3600, exp: now + 3700 }),
    forYears: await office.mint('user_ada', { iat: now - 86_400, exp: now + 10 * 365 * 86_400 }),
  };
  expect((await ada.call('GET', '/hello')).status).toBe(200);
  for (const ticket of Object.values(bad)) {
    const reply = await ada.call('GET', '/hello', undefined, { ticket });
    expect([401, 429]).toContain(reply.status);
  }
  for (const route of peerRoutes) {
    const reply = await ada.call(route.method, pathOf(route.path), undefined, { ticket: bad.accessToken });
    expect([route.op, [401, 429].includes(reply.status)]).toEqual([route.op, true]);
  }
});

test('a ticket opens the peer port alone, and a wrong Host opens nothing', async () => {
  const ticket = await office.mint('user_ada');
  expect((await shared.current.call('GET', '/agents', undefined, { token: ticket })).status).toBe(401);
  const { port } = shared.current.peers as { port: number };
  const head = `GET /api/factory/peer/hello HTTP/1.1\r\nAuthorization: Bearer ${ticket}\r\nConnection: close\r\n`;
  expect(await rawRequest(port, `${head}Host: evil.example:${port}\r\n\r\n`)).toContain(' 421 ');
  expect(await rawRequest(port, `${head}Host: 127.0.0.1:${port}\r\nHost: evil.example\r\n\r\n`)).toMatch(/ 4(00|21) /);
});

test('the peer port serves nothing but peer routes, and no web page', async () => {
  const { port } = shared.current.peers as { port: number };
  const headers = { authorization: `Bearer ${await office.mint('user_ada')}` };
  for (const path of ['/api/factory/agents', '/api/factory/teams', '/api/v1/session', '/']) {
    expect((await fetch(`http://127.0.0.1:${port}${path}`, { headers })).status).toBe(404);
  }
  const page = await fetch(`http://127.0.0.1:${port}/api/factory/peer/hello`, {
    headers: { ...headers, origin: 'http://evil.example' },
  });
  expect(page.status).toBe(403);
});

test('whatever comes in with a ticket, a peer route answers in its shape and never with a fault', async () => {
  const word = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom('__proto__', 'constructor', '..', 'web@dev', 'a'.repeat(300), '\u202e', ''),
  );
  const names = fc.constantFrom('to', 'text', 'keys', 'cols', 'rows', 'files', 'bots', 'repo', 'preset', 'dryRun', 'x');
  const body = fc.oneof(fc.jsonValue(), fc.dictionary(names, fc.oneof(fc.jsonValue(), word)));
  const ticket = await office.mint('user_fuzz');
  const open = new Set(['peerHello', 'peerAgents', 'peerEvents']);
  for (const route of peerRoutes.filter(({ op }) => !open.has(op))) {
    await fc.assert(
      fc.asyncProperty(word, fc.dictionary(word, word, { maxKeys: 3 }), body, async (name, query, sent) => {
        const path = route.path
          .replace('/api/factory/peer', '')
          .replace(':name', encodeURIComponent(name.toWellFormed()));
        const search = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, value])).toString();
        const reply = await ada.call(
          route.method,
          search === '' ? path : `${path}?${search}`,
          route.method === 'GET' ? undefined : sent,
          { ticket },
        );
        expect([400, 404, 409]).toContain(reply.status);
        expect(FactoryError.safeParse(reply.body).success).toBe(true);
      }),
      { numRuns: 12 },
    );
  }
});

test('without a pairing the port is closed and streams end; with one it opens again', async () => {
  const events = await ada.stream('/events');
  office.pairing.set(null);
  await events.ended;
  await waitFor(
    () => shared.current.peers?.port ?? null,
    (port) => port === null,
  );
  office.pairing.set({ ...office.facts, issuer });
  expect((await ada.call('GET', '/hello')).status).toBe(200);
});

test('what the pairing before let in ends when somebody else of the same cloud pairs', async () => {
  const events = await ada.stream('/events');
  office.pairing.set({ ...office.facts, user: 'user_bob' });
  await events.ended;
  expect(events.events.at(-1)).toEqual({
    event: 'closing',
    data: { reason: expect.stringContaining('no longer paired') },
  });
  office.pairing.set(office.facts);
});
