/** A computer shows a code, a person approves it, the computer gets what signs for it: over HTTP, from both sides. */

import { describe, expect, test } from 'vitest';
import type { Computer } from '../../../src/contracts/link/computers.ts';
import type { Reply } from '../../kit/http/support.ts';
import { engines } from '../../support/engines.ts';
import { idOf, startLinkArea } from './support.ts';

const codeOf = (reply: Reply) => [reply.status, reply.json.error] as unknown;
const minutes = (n: number) => n * 60_000;

describe.each(engines)('on $name', (engine) => {
  test('a computer that a person approves gets its token once, and is theirs', async () => {
    const { ada, as, begin, poll, signed, homes } = await startLinkArea({ engine });
    const begun = await begin('A', 'study');
    expect(begun.userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect((await poll(begun.deviceCode)).json).toEqual({ status: 'pending' });
    const shown = await ada('GET', `/api/v1/pairings/${begun.userCode.toLowerCase().replace('-', '')}`);
    expect(shown.json).toMatchObject({
      code: begun.userCode,
      computerId: idOf('A'),
      name: 'study',
      from: '192.0.2.7',
      status: 'pending',
      known: false,
    });
    const approved = await ada('POST', `/api/v1/pairings/${begun.userCode}/approve`);
    expect(approved.json).toMatchObject({ status: 'approved' });
    const granted = await poll(begun.deviceCode);
    expect(granted.json).toMatchObject({
      status: 'approved',
      computerId: idOf('A'),
      cloudId: expect.stringMatching(/^cc_/),
      user: { id: 'user_ada', name: 'Ada' },
      homeCredential: `home-of-${idOf('A')}`,
      ticketKeys: [{ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA' }],
    });
    expect(codeOf(await poll(begun.deviceCode))).toEqual([410, 'pairing_taken']);
    expect(homes.get(idOf('A'))).toBe('user_ada');
    const { deviceToken } = granted.json as never as { deviceToken: string };
    expect((await signed(idOf('A'), deviceToken)('POST', '/api/v1/runtime/tokens', {})).status).toBe(200);
    const list = (await ada('GET', '/api/v1/computers')).json as never as { computers: Computer[] };
    expect(list.computers).toMatchObject([
      { id: idOf('A'), name: 'study', state: 'away', default: true, embedded: false },
    ]);
    expect((await as('bob')('GET', '/api/v1/computers')).json).toEqual({ computers: [] });
  });

  test('a person hears whether the computer asks from another address than theirs, and from which', async () => {
    const { ada, begin } = await startLinkArea({ engine });
    const { userCode } = await begin('A');
    const seenFrom = async (address: string) =>
      (await ada('GET', `/api/v1/pairings/${userCode}`, { headers: { 'x-test-address': address } })).json;
    expect(await seenFrom('192.0.2.7')).toMatchObject({ from: '192.0.2.7', here: '192.0.2.7', differs: false });
    expect(await seenFrom('198.51.100.4')).toMatchObject({ from: '192.0.2.7', here: '198.51.100.4', differs: true });
  });

  test('of many questions at once one gets the token', async () => {
    const { ada, begin, poll } = await startLinkArea({ engine });
    const { deviceCode, userCode } = await begin('A');
    await ada('POST', `/api/v1/pairings/${userCode}/approve`);
    const replies = await Promise.all(Array.from({ length: 8 }, () => poll(deviceCode)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 410, 410, 410, 410, 410, 410, 410]);
  });

  test('a computer that is turned away, or whose code ran out, hears why and gets nothing', async () => {
    const { clock, ada, begin, poll } = await startLinkArea({ engine });
    const denied = await begin('A');
    expect((await ada('POST', `/api/v1/pairings/${denied.userCode}/deny`)).json).toMatchObject({ status: 'denied' });
    expect(codeOf(await poll(denied.deviceCode))).toEqual([410, 'pairing_denied']);
    expect(codeOf(await ada('POST', `/api/v1/pairings/${denied.userCode}/approve`))).toEqual([409, 'already_answered']);
    const late = await begin('B');
    await clock.advance(minutes(10));
    expect(codeOf(await poll(late.deviceCode))).toEqual([410, 'pairing_expired']);
    expect((await ada('POST', `/api/v1/pairings/${late.userCode}/approve`)).status).toBe(404);
    expect(codeOf(await poll('x'.repeat(43)))).toEqual([410, 'pairing_expired']);
    expect((await ada('GET', '/api/v1/computers')).json).toEqual({ computers: [] });
  });

  test('one that was approved in time but did not ask before the code ran out gets nothing', async () => {
    const { clock, ada, begin, poll } = await startLinkArea({ engine });
    const { deviceCode, userCode } = await begin('A');
    await ada('POST', `/api/v1/pairings/${userCode}/approve`);
    await clock.advance(minutes(11));
    expect(codeOf(await poll(deviceCode))).toEqual([410, 'pairing_expired']);
  });

  test('after five wrong codes in ten minutes even the right one is refused, for that person alone and for that time', async () => {
    const { clock, ada, as, begin } = await startLinkArea({ engine });
    for (const wrong of ['BBBB-BBBB', 'CCCC-CCCC', 'DDDD-DDDD', 'FFFF-FFFF', 'x']) {
      expect((await ada('GET', `/api/v1/pairings/${wrong}`)).status).toBe(404);
    }
    await clock.advance(minutes(5));
    const { userCode } = await begin('A');
    const refused = await ada('POST', `/api/v1/pairings/${userCode}/approve`);
    expect(codeOf(refused)).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBe(300);
    expect((await as('bob')('GET', `/api/v1/pairings/${userCode}`)).status).toBe(200);
    await clock.advance(minutes(5));
    expect((await ada('GET', `/api/v1/pairings/${(await begin('A')).userCode}`)).status).toBe(200);
  });

  test('a computer of another account is left to it, until that one ends the pairing', async () => {
    const { ada, as, begin, pair, poll } = await startLinkArea({ engine });
    await pair('A', 'bob');
    const again = await begin('A');
    const approved = await ada('POST', `/api/v1/pairings/${again.userCode}/approve`);
    expect(codeOf(approved)).toEqual([409, 'computer_taken']);
    expect((await poll(again.deviceCode)).json).toEqual({ status: 'pending' });
    expect((await as('bob')('DELETE', `/api/v1/computers/${idOf('A')}`)).status).toBe(204);
    expect((await ada('POST', `/api/v1/pairings/${again.userCode}/approve`)).status).toBe(200);
    expect((await poll(again.deviceCode)).status).toBe(200);
  });

  test('of two accounts that approve two codes of one computer, the one that it asks for first has it', async () => {
    const { ada, as, begin, poll, store } = await startLinkArea({ engine });
    const first = await begin('A');
    expect((await ada('POST', `/api/v1/pairings/${first.userCode}/approve`)).status).toBe(200);
    const second = await begin('A');
    expect((await as('bob')('POST', `/api/v1/pairings/${second.userCode}/approve`)).status).toBe(200);
    expect((await poll(first.deviceCode)).status).toBe(200);
    expect(codeOf(await poll(second.deviceCode))).toEqual([409, 'computer_taken']);
    const rows = await store.all('SELECT user_id FROM computer');
    expect(rows).toEqual([{ user_id: 'user_ada' }]);
  });

  test('paired anew by its person a computer keeps its place and gets new keys; the old ones are dead at once', async () => {
    const { ada, pair, signed, ended, setLink } = await startLinkArea({ engine });
    const before = await pair('A');
    setLink(idOf('A'), true);
    const after = await pair('A');
    expect(after.cloudId).toBe(before.cloudId);
    expect(ended).toContainEqual(expect.stringContaining('paired again'));
    expect((await signed(idOf('A'), before.deviceToken)('POST', '/api/v1/runtime/tokens', {})).status).toBe(401);
    expect((await signed(idOf('A'), after.deviceToken)('POST', '/api/v1/runtime/tokens', {})).status).toBe(200);
    const list = (await ada('GET', '/api/v1/computers')).json as never as { computers: Computer[] };
    expect(list.computers).toHaveLength(1);
  });

  test('only who signed in here lets computers in: no bearer of the provider, no other computer, nobody', async () => {
    const { as, call, begin } = await startLinkArea({ engine });
    const { userCode } = await begin('A');
    const path = `/api/v1/pairings/${userCode}/approve`;
    expect(codeOf(await as('oidc-ada')('POST', path))).toEqual([403, 'insufficient_scope']);
    expect(codeOf(await as('home-ada')('POST', path))).toEqual([403, 'session_required']);
    expect((await call('POST', path, { token: null })).status).toBe(401);
  });

  test('two codes are never alike: one in use is not handed out again', async () => {
    const { begin } = await startLinkArea({ engine, codes: ['BBBBBBBB', 'BBBBBBBB', 'CCCCCCCC'] });
    expect([(await begin('A')).userCode, (await begin('B')).userCode]).toEqual(['BBBB-BBBB', 'CCCC-CCCC']);
  });

  test('a computer that asks again ends its own earlier code', async () => {
    const { ada, begin } = await startLinkArea({ engine });
    const first = await begin('A');
    await begin('A');
    expect((await ada('POST', `/api/v1/pairings/${first.userCode}/approve`)).status).toBe(409);
  });

  test('strangers cannot fill the table of codes', async () => {
    const { store, clock, call } = await startLinkArea({ engine });
    await store.write(function* (tx) {
      for (let n = 0; n < 1000; n += 1) {
        yield* tx.run(
          `INSERT INTO pairing (device_hash, user_code, computer_id, name, version, address, requested_at, expires_at, state)
          VALUES (?, ?, ?, 'x', '1', 'x', 0, ?, 'pending')`,
          `hash${n}`,
          `code${n}`,
          `computer${n}`,
          clock.now() + minutes(10),
        );
      }
    });
    const body = { computerId: idOf('A'), name: 'one more', version: '1' };
    expect(codeOf(await call('POST', '/api/v1/pairings', { token: null, body }))).toEqual([429, 'rate_limited']);
    await clock.advance(minutes(11));
    expect((await call('POST', '/api/v1/pairings', { token: null, body })).status).toBe(201);
  });

  test('the server of one computer takes no others and says where they can go', async () => {
    const { call } = await startLinkArea({ engine, open: false });
    const body = { computerId: idOf('A'), name: 'x', version: '1' };
    const reply = await call('POST', '/api/v1/pairings', { token: null, body });
    expect(codeOf(reply)).toEqual([403, 'no_pairing_here']);
    expect(reply.json.message).toContain('gantry cloud');
  });
});

test('a name that hides or turns around what is written is refused', async () => {
  const { call } = await startLinkArea();
  for (const name of ['a\u001b[2Jb', 'desk\u202egpj.exe', '', ' '.repeat(10), 'x'.repeat(121)]) {
    const body = { computerId: idOf('A'), name, version: '1' };
    expect((await call('POST', '/api/v1/pairings', { token: null, body })).status).toBe(400);
  }
});
