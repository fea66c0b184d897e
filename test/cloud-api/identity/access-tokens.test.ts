import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAccessTokens } from '../../../src/cloud-api/identity/access-tokens.ts';
import { createIssuerKeys } from '../../../src/cloud-api/identity/issuer-keys.ts';
import { createResources } from '../../../src/cloud-api/identity/resource.ts';
import { placesIn } from '../../../src/host/places.ts';
import { type CallOptions, keepUntilEnd } from '../../kit/http/support.ts';
import { freePort } from '../../support/free-port.ts';
import { accessTokenOf, signInAs, startOidcProvider } from '../../support/oidc-provider.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { type People, type Person, personWith, startPeople } from './support.ts';

const minute = 60_000;
const hour = 60 * minute;

const stop = keepUntilEnd();
let people: People;
let ada: Person;
beforeAll(async () => {
  people = await startPeople();
  ada = await personWith(people, await signInAs('ada', people.origin));
});
afterAll(stop);

const ask = (token: string, path = '/api/factory/approvals', options: CallOptions = {}) =>
  people.call('GET', path, { ...options, token });
const tokenOf = (scope: string, resource = people.origin, name = 'ada') =>
  accessTokenOf(name, { issuer: people.provider.issuer, resource, scope });

interface Forged {
  readonly claims?: JWTPayload;
  readonly header?: Record<string, string>;
  readonly key?: KeyObject | Uint8Array;
  readonly ageS?: number;
}

/** As the provider signs, but for what is changed. */
function forge({
  claims = {},
  header = {},
  key = people.provider.key.private,
  ageS = 0,
}: Forged = {}): Promise<string> {
  const now = Math.floor(people.clock.now() / 1000) - ageS;
  const sound = { iss: people.provider.issuer, aud: people.origin, sub: 'ada', scope: 'agents:read', jti: 'x' };
  return new SignJWT({ ...sound, iat: now, exp: now + 600, ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: 'rsa', typ: 'at+jwt', ...header })
    .sign(key);
}

test('a token that the provider gave for this cloud acts for its person, within its scopes', async () => {
  const { accessToken } = await tokenOf('agents:read');
  const reply = await ask(accessToken);
  expect([reply.status, reply.text]).toEqual([200, '{"approvals":[]}']);
  const write = await people.call('POST', '/api/factory/send', { token: accessToken, body: {} });
  expect([write.status, write.json.error.code]).toEqual([403, 'refused']);
  expect(write.headers['www-authenticate']).toBe(
    `Bearer realm="gantry", resource_metadata="${people.origin}/.well-known/oauth-protected-resource", error="insufficient_scope", scope="bots:act"`,
  );
});

test('a token never does what takes a person: approvals, keys, sign-ins', async () => {
  const { accessToken } = await tokenOf('agents:read bots:act compute computers work admin');
  for (const [method, path] of [
    ['POST', '/api/factory/approvals/approval_1/resolve'],
    ['GET', '/api/v1/keys'],
    ['GET', '/api/v1/sessions'],
    ['GET', '/api/v1/session'],
    ['GET', '/api/v1/admin/users'],
  ] as const) {
    const reply = await people.call(method, path, { token: accessToken, ...(method === 'POST' ? { body: {} } : {}) });
    expect([path, reply.status]).toEqual([path, 403]);
  }
});

test('every token that is not for us, not of the issuer, not fresh or not signed by its key is refused', async () => {
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const publicPem = Buffer.from(people.provider.key.public.export({ type: 'spki', format: 'pem' }) as string);
  const { idToken } = await tokenOf('agents:read');
  const [head, body] = (await forge()).split('.');
  const none = `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${body}.`;
  const cases: [string, string][] = [
    ['expired', await forge({ ageS: 700 })],
    ['issued for another audience', await forge({ claims: { aud: 'https://other.example' } })],
    ['issued for one endpoint of us', await forge({ claims: { aud: `${people.origin}/mcp/server` } })],
    ['of a foreign issuer', await forge({ claims: { iss: 'https://evil.example' } })],
    ['an id token', idToken],
    ['an id token for our audience', await forge({ header: { typ: 'JWT' } })],
    ['without a type', await forge({ header: { typ: '' } })],
    ['alg none', none],
    ['alg none with a signature of nothing', `${none}AA`],
    ['HS256 with the public key as the secret', await forge({ key: publicPem, header: { alg: 'HS256' } })],
    ['signed by another key under the known id', await forge({ key: stranger.privateKey })],
    ['signed by another key under another id', await forge({ key: stranger.privateKey, header: { kid: 'theirs' } })],
    ['without an end', await forge({ claims: { exp: undefined as never } })],
    ['not yet valid', await forge({ claims: { nbf: Math.floor(people.clock.now() / 1000) + 300 } })],
    ['with a changed body', `${head}.${Buffer.from('{}').toString('base64url')}.AAAA`],
    ['three dots of nothing', 'a.b.c'],
  ];
  expect((await ask(await forge())).status).toBe(200);
  for (const [what, token] of cases) {
    const reply = await ask(token);
    // The budget for bad credentials may be spent on the way: from then on 429.
    expect([what, [401, 429].includes(reply.status)]).toEqual([what, true]);
    if (reply.status === 401) {
      expect(reply.headers['www-authenticate']).toContain(
        `resource_metadata="${people.origin}/.well-known/oauth-protected-resource"`,
      );
      expect([what, reply.json.error.fact]).toEqual([what, expect.stringMatching(/token|credential/)]);
    }
  }
});

test('a token is for one resource: the cloud as a whole, or one MCP endpoint', async () => {
  const endpoints = ['/mcp/server', '/edge/mcp', '/edge/mcp/bots/agent_1', '/edge/mcp/bots/agent_2'];
  const resources = createResources({ origin: people.origin, issuer: people.provider.issuer });
  const audiences = ['/api/factory/agents', ...endpoints].map((path) => resources.audienceOf(path));
  expect(audiences).toEqual(['', ...endpoints].map((path) => people.origin + path));
  expect(new Set(audiences).size).toBe(5);
  for (const endpoint of endpoints) {
    const metadata = await people.call('GET', `/.well-known/oauth-protected-resource${endpoint}`);
    expect(metadata.json).toMatchObject({ resource: people.origin + endpoint });
  }
  for (const audience of audiences) {
    const token = await forge({ claims: { aud: audience } });
    const reply = await people.call('POST', '/mcp/server', { token, body: {} });
    // Whoever is known hears more; whoever is not, where tokens for this endpoint come from.
    const known = reply.status !== 401 && reply.status !== 429;
    expect([audience, known]).toEqual([audience, audience === `${people.origin}/mcp/server`]);
    if (reply.status === 401) {
      const url = `${people.origin}/.well-known/oauth-protected-resource/mcp/server`;
      expect(reply.headers['www-authenticate']).toContain(`resource_metadata="${url}"`);
    }
  }
});

test('the metadata of this server names the issuer and every scope that can be granted', async () => {
  const whole = await people.call('GET', '/.well-known/oauth-protected-resource');
  expect(whole.json).toEqual({
    resource: people.origin,
    resource_name: 'Gantry',
    authorization_servers: [people.provider.issuer],
    scopes_supported: ['agents:read', 'bots:act', 'compute', 'computers', 'work'],
    bearer_methods_supported: ['header'],
  });
  const none = await people.call('GET', '/.well-known/oauth-protected-resource/nothing/here');
  expect(none.status).toBe(404);
});

test('who was never signed in here is nobody, whatever the provider says', async () => {
  const { accessToken } = await tokenOf('agents:read', people.origin, 'zoe');
  const reply = await ask(accessToken);
  expect(reply.status).toBe(403);
  expect(reply.json.error.fact).toContain('never signed in');
});

test('a person who is shut out is refused at once, with a token that was good a moment ago', async () => {
  const mia = await personWith(people, await signInAs('mia', people.origin));
  const { accessToken } = await tokenOf('agents:read', people.origin, 'mia');
  expect((await ask(accessToken)).status).toBe(200);
  const admin = (disabled: boolean) =>
    people.call('PATCH', `/api/v1/admin/users/${mia.id}`, { token: people.internalToken, body: { disabled } });
  expect((await admin(true)).status).toBe(200);
  expect((await ask(accessToken)).status).toBe(403);
  expect((await mia.call('GET', '/api/v1/session')).status).toBe(403);
  expect((await admin(false)).status).toBe(200);
  expect((await ask(accessToken)).status).toBe(200);
});

test('tokens with keys that nobody knows do not make us ask the provider without end', async () => {
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
  people.clock.move(minute);
  const asked = () => people.provider.requests.filter((line) => line === 'GET /jwks').length;
  const before = asked();
  for (let count = 0; count < 50; count += 1) {
    await ask(await forge({ key: stranger.privateKey, header: { kid: `kid-${count}` } }));
  }
  expect(asked() - before).toBeLessThanOrEqual(1);
});

test('a token does not outlive its end, though it was trusted a moment before', async () => {
  const now = Math.floor(people.clock.now() / 1000);
  const token = await forge({ claims: { exp: now + 20 } });
  expect((await ask(token)).status).toBe(200);
  people.clock.move(26_000);
  expect([401, 429]).toContain((await ask(token)).status);
});

test('a stream ends with the token that opened it', async () => {
  const users = { of: async () => ({ id: 'user_1' }) as never };
  const keys = async () => people.provider.key.public;
  const { issuer } = people.provider;
  const resources = { audienceOf: () => people.origin };
  const tokens = createAccessTokens({ issuer, origin: people.origin, keys, resources, users, clock: people.clock });
  const exp = Math.floor(people.clock.now() / 1000) + 20;
  const headers = { authorization: `Bearer ${await forge({ claims: { exp } })}` };
  const principal = await tokens.authenticate({ url: '/', headers } as IncomingMessage);
  // The clocks of two machines differ: as long as it is taken, so long it lasts.
  expect(principal?.expiresAt).toBe((exp + 5) * 1000);
});

test('while the provider is away, its last keys serve for a day, over a restart too, and not longer', async () => {
  const port = await freePort();
  const cloudPort = await freePort();
  const origin = `http://127.0.0.1:${cloudPort}`;
  const provider = await startOidcProvider({ origins: [origin], port });
  const first = await startPeople({ provider, port: cloudPort });
  await signInAs('ada', origin);
  const { accessToken } = await accessTokenOf('ada', {
    issuer: provider.issuer,
    resource: origin,
    scope: 'agents:read',
  });
  const forgeFor = (clockNow: number) => {
    const now = Math.floor(clockNow / 1000);
    return new SignJWT({
      iss: provider.issuer,
      aud: origin,
      sub: 'ada',
      scope: 'agents:read',
      iat: now,
      exp: now + 600,
    })
      .setProtectedHeader({ alg: 'RS256', kid: 'rsa', typ: 'at+jwt' })
      .sign(provider.key.private);
  };
  const status = async (at: People, token: string) =>
    (await at.call('GET', '/api/factory/approvals', { token })).status;
  expect(await status(first, accessToken)).toBe(200);
  await provider.close();

  first.clock.move(hour);
  expect(await status(first, await forgeFor(first.clock.now()))).toBe(200);
  await first.cloud.close();

  // Another program, as after a restart: all that it has is the file.
  const second = await startPeople({ provider, port: cloudPort, home: first.home, clock: first.clock });
  second.clock.move(20 * hour);
  expect(await status(second, await forgeFor(second.clock.now()))).toBe(200);
  second.clock.move(4 * hour);
  const late = await second.call('GET', '/api/factory/approvals', { token: await forgeFor(second.clock.now()) });
  expect(late.status).toBe(502);
  expect(late.json.error.fact).toContain('keys of the OpenID provider');
  await second.cloud.close();

  // A damaged file is none; keys of another issuer are none of ours.
  const file = placesIn(first.home).issuerKeys;
  const kept = JSON.parse(readFileSync(file, 'utf8'));
  for (const text of ['{', JSON.stringify({ ...kept, issuer: 'https://evil.example', fetchedAt: first.clock.now() })]) {
    rmSync(file);
    writeFileSync(file, text);
    const again = await startPeople({ provider, port: cloudPort, home: first.home, clock: first.clock });
    expect(await status(again, await forgeFor(again.clock.now()))).toBe(502);
    await again.cloud.close();
  }
});

test('a session and a token of one person see the same', async () => {
  const { accessToken } = await tokenOf('agents:read');
  expect((await ask(accessToken)).text).toBe((await ada.call('GET', '/api/factory/approvals')).text);
});

test('the keys of an https issuer are never asked for in the clear; an issuer of this machine may', async () => {
  const asked: string[] = [];
  const warned: unknown[] = [];
  const select = (issuer: string, keysUrl: string) =>
    createIssuerKeys({
      issuer,
      keysUrl: async () => keysUrl,
      fetch: async (url) => {
        asked.push(String(url));
        return Response.json({ keys: [{ ...people.provider.key.public.export({ format: 'jwk' }), kid: 'rsa' }] });
      },
      file: join(scratchFolder(), 'keys.json'),
      clock: people.clock,
      log: { warn: (_message, fields) => void warned.push(fields?.why) },
    })({ alg: 'RS256', kid: 'rsa' }, { payload: '', signature: '' });
  await expect(select('https://id.example', 'http://id.example/jwks')).rejects.toThrow('are not known');
  expect([asked, warned]).toEqual([[], [expect.stringContaining('http://id.example/jwks')]]);
  await select('https://id.example', 'https://keys.example/jwks');
  await select('http://127.0.0.1:9', 'http://127.0.0.1:9/jwks');
  expect(asked).toEqual(['https://keys.example/jwks', 'http://127.0.0.1:9/jwks']);
});
