/** Giving a sign-in back (RFC 7009) as the provider wants it, over real HTTP. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createEgress } from '../../../src/kit/egress/egress.ts';
import { fetchThrough } from '../../../src/kit/oauth/provider-fetch.ts';
import { revokeTokens } from '../../../src/kit/oauth/revocation.ts';

let issuer = '';
/** What the provider says of itself beside what every one says. */
let more: Record<string, unknown> = {};
let status = 200;
let heard: { readonly authorization: string | null; readonly body: Record<string, string> }[] = [];
const server = createServer(async (request, response) => {
  let text = '';
  for await (const part of request) text += part;
  if (request.url === '/revoke') {
    const { authorization = null } = request.headers;
    heard.push({ authorization, body: Object.fromEntries(new URLSearchParams(text)) });
    return void response.writeHead(status).end();
  }
  if (request.url !== '/.well-known/oauth-authorization-server') return void response.writeHead(404).end();
  const known = {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ['code'],
  };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...known, ...more }));
});
const egress = createEgress({ allow: ['127.0.0.1'] });
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await egress.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  heard = [];
  status = 200;
  more = { revocation_endpoint: `${issuer}/revoke` };
});

const set = { access_token: 'at', refresh_token: 'rt', token_type: 'Bearer' };
const revoke = (
  client: { client_id: string; client_secret?: string },
  tokens: typeof set | { access_token: string; token_type: string } = set,
) => revokeTokens({ issuer, set: tokens, client }, fetchThrough(egress));
const both = (fields: object) => [
  { token: 'rt', token_type_hint: 'refresh_token', ...fields },
  { token: 'at', token_type_hint: 'access_token', ...fields },
];

test('the refresh token goes first, then the access token, by whoever the client is', async () => {
  expect(await revoke({ client_id: 'me' })).toBeNull();
  expect(heard.map(({ body }) => body)).toEqual(both({ client_id: 'me' }));
  heard = [];
  expect(await revoke({ client_id: 'me' }, { access_token: 'at', token_type: 'Bearer' })).toBeNull();
  expect(heard.map(({ body }) => body.token)).toEqual(['at']);
});

test('a secret is shown as the provider wants it: for this endpoint, else as at its token endpoint', async () => {
  const client = { client_id: 'me:', client_secret: 'a secret/+' };
  more = {
    ...more,
    revocation_endpoint_auth_methods_supported: ['client_secret_post'],
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
  };
  expect(await revoke(client)).toBeNull();
  expect(heard).toEqual(both(client).map((body) => ({ authorization: null, body })));
  heard = [];
  more = { revocation_endpoint: `${issuer}/revoke`, token_endpoint_auth_methods_supported: ['client_secret_basic'] };
  expect(await revoke(client)).toBeNull();
  const pair = Buffer.from('me%3A:a%20secret%2F%2B').toString('base64');
  expect(heard).toEqual(both({}).map((body) => ({ authorization: `Basic ${pair}`, body })));
});

test('a provider that will not, or has no way for it, is told in a sentence', async () => {
  status = 503;
  expect(await revoke({ client_id: 'me' })).toBe(`${issuer} answered the revocation with 503.`);
  more = {};
  heard = [];
  expect(await revoke({ client_id: 'me' })).toBe(`${issuer} offers no way to revoke a sign-in.`);
  expect(heard).toEqual([]);
});

test('there is nothing to give back without a token, or for a client that nobody is', async () => {
  const fetch = () => Promise.reject(new Error('nobody is asked'));
  expect(await revokeTokens({ issuer, set: undefined, client: { client_id: 'me' } }, fetch)).toBeNull();
  expect(await revokeTokens({ issuer: null, set, client: { client_id: 'me' } }, fetch)).toBeNull();
  expect(await revokeTokens({ issuer, set, client: undefined }, fetch)).toBeNull();
});

test('a token never travels openly to where a document of an encrypted provider leads', async () => {
  const document = {
    issuer: 'https://id.example',
    authorization_endpoint: 'https://id.example/a',
    token_endpoint: 'https://id.example/t',
    response_types_supported: ['code'],
    revocation_endpoint: `${issuer}/revoke`,
  };
  const fetch = async (url: string | URL) =>
    String(url).includes('well-known') ? Response.json(document) : Promise.reject(new Error('it was asked'));
  const why = await revokeTokens({ issuer: 'https://id.example', set, client: { client_id: 'me' } }, fetch);
  expect(why).toBe('https://id.example would receive it unencrypted.');
});
