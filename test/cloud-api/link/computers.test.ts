/** Computers of one person and of others: names, the default, keys that change, and the end of a pairing. */
import { decodeJwt } from 'jose';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createDevices } from '../../../src/cloud-api/link/devices.ts';
import { linkMigrations } from '../../../src/cloud-api/link/migrations.ts';
import { listApprovals } from '../../../src/contracts/approvals/routes.ts';
import { defineRoute } from '../../../src/contracts/common/route.ts';
import type { Computer } from '../../../src/contracts/link/computers.ts';
import { bind } from '../../../src/kit/http/types.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { newToken } from '../../../src/kit/secrets/token-file.ts';
import { signingMigrations } from '../../../src/kit/signing/authenticator.ts';
import { signature, signatureHeaders, signedHeaders, signingKey } from '../../../src/kit/signing/signature.ts';
import { engines } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { idOf, startLinkArea } from './support.ts';

type Area = Awaited<ReturnType<typeof startLinkArea>>;
const hour = 60 * 60_000;

async function list(area: Area, name = 'ada'): Promise<Computer[]> {
  const reply = await area.as(name)('GET', '/api/v1/computers');
  return (reply.json as never as { computers: Computer[] }).computers;
}
const tokens = '/api/v1/runtime/tokens';

describe.each(engines)('on $name', (engine) => {
  test('the first computer is the default until another is made it, and again once that one is gone', async () => {
    const area = await startLinkArea({ engine });
    await area.pair('B');
    await area.clock.advance(1000);
    const { cloudId } = await area.pair('A');
    const { computers } = area.area;
    expect(await computers.resolve('user_ada', null)).toBe(idOf('B'));
    const changed = await area.ada('PATCH', `/api/v1/computers/${cloudId}`, {
      body: { default: true, name: ' attic ' },
    });
    expect(changed.json).toMatchObject({ id: idOf('A'), name: 'attic', default: true });
    expect(await computers.resolve('user_ada', null)).toBe(idOf('A'));
    expect((await list(area)).map((each) => [each.name, each.default])).toEqual([
      ['attic', true],
      ['computer B', false],
    ]);
    await area.ada('DELETE', `/api/v1/computers/${idOf('A')}`);
    expect(await computers.resolve('user_ada', null)).toBe(idOf('B'));
    expect(await computers.resolve('user_bob', null)).toBeNull();
  });

  test('a computer whose host name another one has gets a number, and one that is paired again keeps its name', async () => {
    const area = await startLinkArea({ engine });
    for (const key of ['A', 'B', 'C'] as const) {
      await area.pair(key, 'ada', 'vm');
      await area.clock.advance(1000);
    }
    await area.pair('D', 'bob', 'vm');
    const names = async (person: string) => (await list(area, person)).map((each) => each.name);
    expect(await names('ada')).toEqual(['vm', 'vm 2', 'vm 3']);
    expect(await names('bob')).toEqual(['vm']);
    await area.ada('PATCH', `/api/v1/computers/${idOf('B')}`, { body: { name: 'attic' } });
    await area.pair('B', 'ada', 'vm');
    await area.pair('C', 'ada', 'vm');
    expect(await names('ada')).toEqual(['vm', 'attic', 'vm 3']);
  });

  test('computers stand in the order in which a person counts, after the default', async () => {
    const area = await startLinkArea({ engine });
    for (const [key, name] of [
      ['C', 'desk'],
      ['A', 'pc 10'],
      ['B', 'pc 2'],
    ] as const) {
      const { cloudId } = await area.pair(key);
      await area.ada('PATCH', `/api/v1/computers/${cloudId}`, { body: { name } });
      await area.clock.advance(1000);
    }
    expect((await list(area)).map((each) => each.name)).toEqual(['desk', 'pc 2', 'pc 10']);
  });

  test('a computer is found by its own id and by the cloud’s, and by nobody else', async () => {
    const area = await startLinkArea({ engine });
    const { cloudId } = await area.pair('A');
    const { computers } = area.area;
    expect(await computers.resolve('user_ada', cloudId)).toBe(idOf('A'));
    expect(await computers.resolve('user_ada', idOf('A'))).toBe(idOf('A'));
    for (const id of [cloudId, idOf('A')]) {
      expect(await computers.resolve('user_bob', id)).toBeNull();
      for (const [method, body] of [
        ['PATCH', { name: 'mine' }],
        ['DELETE', undefined],
      ] as const) {
        const reply = await area.as('bob')(method, `/api/v1/computers/${id}`, { body });
        expect(reply.status).toBe(404);
        expect(reply.json.error.code).toBe('computer_not_found');
      }
    }
    expect((await list(area))[0]?.name).toBe('computer A');
  });

  test('the list says since when a computer is linked or away, also after the cloud began anew', async () => {
    const area = await startLinkArea({ engine });
    await area.pair('A');
    const paired = new Date(area.clock.now()).toISOString();
    expect(await list(area)).toMatchObject([{ state: 'away', since: paired }]);
    await area.clock.advance(60_000);
    area.setLink(idOf('A'), true);
    expect(await list(area)).toMatchObject([{ state: 'linked', since: new Date(area.clock.now()).toISOString() }]);
    await area.clock.advance(60_000);
    area.setLink(idOf('A'), false);
    const left = new Date(area.clock.now()).toISOString();
    await expect.poll(async () => (await list(area))[0]?.since).toBe(left);
  });

  test('a revoked computer is out at once: keys, link, home credential, bearer, place in the list', async () => {
    const area = await startLinkArea({ engine });
    const { deviceToken } = await area.pair('A');
    const device = area.signed(idOf('A'), deviceToken);
    const bearer = ((await device('POST', tokens, {})).json as never as { token: string }).token;
    area.setLink(idOf('A'), true);
    expect((await area.ada('DELETE', `/api/v1/computers/${idOf('A')}`)).status).toBe(204);
    expect(area.ended).toContainEqual(expect.stringContaining('was ended'));
    expect(area.homes.size).toBe(0);
    expect((await device('POST', tokens, {})).status).toBe(401);
    const patch = await area.call('PATCH', `/api/v1/computers/${idOf('A')}`, { token: bearer, body: { name: 'x' } });
    expect(patch.status).toBe(401);
    expect(await list(area)).toEqual([]);
    const kept = await area.store.all('SELECT token, next_token, previous_token FROM computer');
    expect(kept).toEqual([{ token: null, next_token: null, previous_token: null }]);
    expect((await area.ada('DELETE', `/api/v1/computers/${idOf('A')}`)).status).toBe(404);
  });

  test('a computer ends its own pairing', async () => {
    const area = await startLinkArea({ engine });
    const { deviceToken } = await area.pair('A');
    const device = area.signed(idOf('A'), deviceToken);
    expect((await device('DELETE', '/api/v1/runtime/pairing')).status).toBe(204);
    expect(await list(area)).toEqual([]);
    expect((await device('DELETE', '/api/v1/runtime/pairing')).status).toBe(401);
  });

  test('a new token counts from its first use; the one before is good for an hour more and then for nothing', async () => {
    const area = await startLinkArea({ engine });
    const { deviceToken } = await area.pair('A');
    const old = area.signed(idOf('A'), deviceToken);
    const lost = await old('POST', '/api/v1/runtime/rotate', {});
    expect(lost.status).toBe(200);
    // The answer was lost: the computer knows nothing of it, for as long as it takes.
    await area.clock.advance(30 * hour);
    const { deviceToken: next } = (await old('POST', '/api/v1/runtime/rotate', {})).json as never as {
      deviceToken: string;
    };
    const lostToken = (lost.json as never as { deviceToken: string }).deviceToken;
    expect(next).not.toBe(lostToken);
    expect((await area.signed(idOf('A'), lostToken)('POST', tokens, {})).status).toBe(401);
    // What the cloud signs with is what the computer is known to have.
    expect((await area.devices.find(idOf('A')))?.keys[0]).toBe(signingKey(deviceToken));
    expect((await area.signed(idOf('A'), next)('PUT', '/api/v1/runtime/computer', { version: '2.0.0' })).status).toBe(
      204,
    );
    expect((await area.devices.find(idOf('A')))?.keys[0]).toBe(signingKey(next));
    expect(await list(area)).toMatchObject([{ version: '2.0.0' }]);
    expect((await old('POST', tokens, {})).status).toBe(200);
    await area.clock.advance(hour);
    expect((await old('POST', tokens, {})).status).toBe(401);
    expect((await area.signed(idOf('A'), next)('POST', tokens, {})).status).toBe(200);
  });

  test('a signature that is replayed, old, of another key, another computer or another path is refused', async () => {
    const area = await startLinkArea({ engine });
    const a = await area.pair('A');
    await area.pair('B');
    const key = signingKey(a.deviceToken);
    const now = () => area.clock.now();
    const send = (headers: Record<string, string>, path = tokens, raw = '{}') =>
      area.call('POST', path, { token: null, headers, raw });
    const request = { method: 'POST', path: tokens, body: '{}' };
    const good = signedHeaders({ runtimeId: idOf('A'), key, now }, request);
    expect((await send(good)).status).toBe(200);
    expect((await send(good)).status).toBe(401);
    const skewed = await send(signedHeaders({ runtimeId: idOf('A'), key, now: () => now() - 301_000 }, request));
    expect([skewed.status, skewed.json.error]).toEqual([401, 'clock_skew']);
    expect((skewed.json as never as { serverTime: number }).serverTime).toBe(Math.floor(now() / 1000));
    expect((await send(signedHeaders({ runtimeId: idOf('B'), key, now }, request))).status).toBe(401);
    expect(
      (await send(signedHeaders({ runtimeId: idOf('A'), key: signingKey(newToken()), now }, request))).status,
    ).toBe(401);
    expect(
      (await send(signedHeaders({ runtimeId: idOf('A'), key, now }, request), '/api/v1/runtime/rotate')).status,
    ).toBe(401);
    const ts = String(Math.floor(now() / 1000));
    const raw = Buffer.from(key, 'hex').toString('latin1');
    const wrongKey = {
      [signatureHeaders.id]: idOf('A'),
      [signatureHeaders.ts]: ts,
      [signatureHeaders.sig]: signature(raw, { ts, ...request }),
    };
    expect((await send(wrongKey)).status).toBe(401);
  });

  test('a device token opens the routes of computers alone, for five minutes, and is no signature', async () => {
    const peer = defineRoute({
      op: 'reachPeer',
      area: 'link',
      errors: 'computers',
      summary: 'x',
      method: 'GET',
      path: '/api/v1/computers/:id/reached',
      auth: ['device'],
      scope: null,
      params: z.strictObject({ id: z.string() }),
      owner: { param: 'id', noun: 'computer', list: 'GET /api/v1/computers' },
      query: z.strictObject({ q: z.string().optional() }),
      answers: { 200: z.unknown() },
    });
    const area = await startLinkArea({
      routes: [
        bind(peer, ({ principal: { kind, userId, computerId } }) => ({ body: { kind, userId, computerId } })),
        bind(listApprovals, () => ({ body: { approvals: [] } })),
      ],
    });
    const { deviceToken } = await area.pair('A');
    await area.pair('B');
    await area.pair('C', 'bob');
    const device = area.signed(idOf('A'), deviceToken);
    const minted = (await device('POST', tokens, {})).json as never as { token: string; expiresAt: string };
    expect(Date.parse(minted.expiresAt) - area.clock.now()).toBeLessThanOrEqual(5 * 60_000);
    const reach = (letter: string, token = minted.token) =>
      area.call('GET', `/api/v1/computers/${idOf(letter)}/reached?q=1`, { token });
    expect((await reach('B')).json).toEqual({ kind: 'device', userId: 'user_ada', computerId: idOf('A') });
    expect((await reach('C')).status).toBe(404);
    expect((await area.call('GET', '/api/factory/approvals', { token: minted.token })).status).toBe(401);
    expect((await area.call('POST', '/api/v1/runtime/rotate', { token: minted.token, body: {} })).status).toBe(401);
    // A ticket for a computer is no device token, though the same key signs it.
    expect((await reach('B', await area.tickets.mintTicket(idOf('A'), 'user_ada'))).status).toBe(401);
    const [head, , sig] = minted.token.split('.');
    const body = Buffer.from(JSON.stringify({ ...decodeJwt(minted.token), computer: idOf('C') })).toString('base64url');
    expect((await reach('B', `${head}.${body}.${sig}`)).status).toBe(401);
    await area.clock.advance(6 * 60_000);
    expect((await reach('B')).status).toBe(401);
  });

  test('the computer of the same process is known at each start, and cannot be revoked', async () => {
    const area = await startLinkArea({ engine });
    const { computers } = area.area;
    const own = { id: idOf('E'), userId: 'user_ada', name: 'desk', version: '1', token: newToken() };
    await computers.know(own);
    await area.ada('PATCH', `/api/v1/computers/${idOf('E')}`, { body: { name: 'my desk' } });
    await computers.know({ ...own, version: '2', token: newToken() });
    expect(await list(area)).toMatchObject([{ name: 'my desk', version: '2', embedded: true, default: true }]);
    expect((await area.devices.find(idOf('E')))?.keys).toHaveLength(2);
    const reply = await area.ada('DELETE', `/api/v1/computers/${idOf('E')}`);
    expect(reply.status).toBe(409);
  });

  test('the computer of an earlier version is still known by its key after the upgrade', async () => {
    const clock = createTestClock();
    const sealer = createSealer({ masterKey: newToken(), purpose: 'device' });
    const token = newToken();
    const place = await engine.place();
    const before = await place.open([...signingMigrations, linkMigrations[0]!], clock);
    await before.write((tx) =>
      tx.run(
        'INSERT INTO runtime_device (computer_id, user_id, token, known_since) VALUES (?, ?, ?, ?)',
        idOf('A'),
        'user_local',
        sealer.seal(`runtime_device|token|${idOf('A')}`, token),
        clock.now(),
      ),
    );
    await before.close();
    const store = await place.open([...signingMigrations, ...linkMigrations], clock);
    const known = await createDevices({ store, sealer, clock }).find(idOf('A'));
    expect(known).toEqual({ userId: 'user_local', keys: [signingKey(token)] });
    const rows = await store.all('SELECT id, cloud_id, embedded FROM computer');
    expect(rows).toEqual([{ id: idOf('A'), cloud_id: `cc_${'A'.repeat(26)}`, embedded: 1 }]);
  });
});
