/** Signing in at a server of somebody else: a real OpenID provider, a resource that names it, and a person in a browser. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { oauthCallback } from '../../../src/contracts/tool-server/mcp.ts';
import { createEgress } from '../../../src/kit/egress/egress.ts';
import { createGrants, noGrant, oauthMigrations } from '../../../src/kit/oauth/grants.ts';
import { createOAuthClient, type OAuthTarget } from '../../../src/kit/oauth/oauth-client.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { createPerson, type OidcProvider, startOidcProvider } from '../../support/oidc-provider.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

const home = 'http://127.0.0.1:3010';
const masterKey = 'a master key of more than thirty-two bytes for tests';

let provider: OidcProvider;
let resource: Server;
let origin = '';
/** What the resource publishes about itself. */
let metadata: unknown = null;
const egress = createEgress({ allow: ['127.0.0.1'] });

beforeAll(async () => {
  resource = createServer((request, response) => {
    const found = request.url === '/.well-known/oauth-protected-resource/mcp' && metadata !== null;
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ? metadata : { error: 'not_found' }));
  });
  await new Promise<void>((resolve) => resource.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(resource.address() as AddressInfo).port}`;
  provider = await startOidcProvider({ origins: [origin], openToClients: true });
});
afterAll(async () => {
  await provider.close();
  await egress.close();
  resource.closeAllConnections();
  await new Promise((resolve) => resource.close(resolve));
});
beforeEach(() => {
  metadata = { resource: `${origin}/mcp`, authorization_servers: [provider.issuer], scopes_supported: ['agents:read'] };
});

async function open(options: { origin?: string; file?: string; key?: string } = {}) {
  // The provider's clock is the real one: ours begins there.
  const clock = createTestClock(Date.now());
  const file = options.file ?? join(scratchFolder(), 'oauth.db');
  const store = await openStore({ file, migrations: oauthMigrations, clock, onFault: () => {} });
  const sealer = createSealer({ masterKey: options.key ?? masterKey, purpose: 'oauth' });
  const grants = createGrants({ store, sealer, clock });
  const client = createOAuthClient({
    grants,
    egress: () => egress,
    clock,
    origin: () => options.origin ?? home,
    computerId: 'computer_1',
  });
  const target: OAuthTarget = { id: 'srv_1', name: 'tracker', url: `${origin}/mcp`, oauth: null };
  const refused = (token: string | null = null) =>
    client.challenge(target, {
      status: 401,
      token,
      wwwAuthenticate: token === null ? null : 'Bearer error="invalid_token"',
    });
  const find = (id: string) => (id === target.id ? target : null);
  const finish = (back: string) => client.finish(Object.fromEntries(new URL(back).searchParams) as never, find);
  return { client, grants, clock, store, file, target, refused, find, finish };
}

/** Begins, signs in as this person, and answers where the browser was sent back to. */
async function cameBack(one: Awaited<ReturnType<typeof open>>, name = 'ann'): Promise<string> {
  const answer = await one.refused();
  if (answer.is !== 'sign_in') throw new Error(JSON.stringify(answer));
  return createPerson(name).follow(answer.authorizeUrl, `${home}${oauthCallback.path}`);
}

const requestsOf = async (path: string, work: () => Promise<unknown>): Promise<number> => {
  const count = () => provider.requests.filter((line) => line.endsWith(path)).length;
  const before = count();
  await work();
  return count() - before;
};

describe('a sign-in', () => {
  test('finds the provider by the resource, registers once, proves itself with PKCE, and gives a token for that resource alone', async () => {
    const one = await open();
    const told: [string, boolean][] = [];
    one.client.onAnswered((...answer) => told.push(answer));
    expect(await one.client.tokenFor(one.target)).toBeNull();
    const back = await cameBack(one);
    const asked = new URL(((await one.refused()) as { authorizeUrl: string }).authorizeUrl).searchParams;
    expect(asked.get('resource')).toBe(`${origin}/mcp`);
    expect(asked.get('code_challenge_method')).toBe('S256');
    expect(await one.finish(back)).toEqual({ id: 'srv_1', name: 'tracker' });
    const token = await one.client.tokenFor(one.target);
    const claims = JSON.parse(Buffer.from(token!.split('.')[1]!, 'base64url').toString());
    expect(claims).toMatchObject({ aud: `${origin}/mcp`, iss: provider.issuer, sub: 'ann' });
    expect(told).toEqual([['srv_1', true]]);
    // The token is kept sealed: nothing of it is in the file.
    const again = await open({ file: one.file });
    expect(await again.client.tokenFor(one.target)).toBe(token);
    const rows = await one.store.read((tx) => tx.all<{ sealed: string }>('SELECT sealed FROM oauth_grant'));
    expect(JSON.stringify(rows)).not.toContain(token!.slice(0, 20));
    await one.store.close();
    await again.store.close();
  });

  test('that is under way is answered again with the same address, and begins anew after ten minutes', async () => {
    const one = await open();
    const first = await one.refused();
    expect(await one.refused()).toEqual(first);
    await one.clock.advance(10 * 60_000);
    const later = await one.refused();
    expect(later).not.toEqual(first);
    await one.store.close();
  });

  test('is refused by a state that nobody was given, twice with one code, after its time, and for another computer', async () => {
    const one = await open();
    const back = await cameBack(one);
    const wrong = new URL(back);
    wrong.searchParams.set('state', `computer_1.srv_1.${'A'.repeat(32)}`);
    await expect(one.finish(wrong.href)).rejects.toThrow('This sign-in was not started here');
    wrong.searchParams.set('state', new URL(back).searchParams.get('state')!.replace('computer_1', 'computer_2'));
    await expect(one.finish(wrong.href)).rejects.toThrow('This sign-in was not started here');
    await one.finish(back);
    await expect(one.finish(back)).rejects.toThrow('This sign-in was not started here');
    await one.store.close();
    const late = await open();
    const address = await cameBack(late);
    await late.clock.advance(10 * 60_000);
    await expect(late.finish(address)).rejects.toThrow('took too long');
    expect(await late.client.tokenFor(late.target)).toBeNull();
    await late.store.close();
  });

  test('whose answer comes from another issuer is refused before the code is redeemed', async () => {
    const one = await open();
    const back = new URL(await cameBack(one));
    back.searchParams.set('iss', 'https://evil.example');
    const redeemed = await requestsOf('/token', () =>
      expect(one.finish(back.href)).rejects.toThrow('did not sign you in'),
    );
    expect(redeemed).toBe(0);
    await one.store.close();
  });

  test('that the person declines says so in the words of the provider, as one line, and can be begun anew', async () => {
    const one = await open();
    const told: [string, boolean][] = [];
    one.client.onAnswered((...said) => told.push(said));
    const answer = await one.refused();
    const state = new URL((answer as { authorizeUrl: string }).authorizeUrl).searchParams.get('state')!;
    const no = { state, error: 'access_denied', error_description: 'not\ntoday' };
    await expect(one.client.finish(no, one.find)).rejects.toThrow('"access_denied: not today"');
    expect(told).toEqual([['srv_1', false]]);
    const anew = await one.refused();
    expect(anew).toMatchObject({ is: 'sign_in' });
    expect(anew).not.toEqual(answer);
    await one.store.close();
  });

  test('names the client by its document where the internet reaches us and the provider reads such', async () => {
    const one = await open({ origin: 'https://gantry.example' });
    const registered = await requestsOf('/reg', async () => {
      const { authorizeUrl } = (await one.refused()) as { authorizeUrl: string };
      const asked = new URL(authorizeUrl).searchParams;
      expect(asked.get('client_id')).toBe('https://gantry.example/mcp/oauth/client.json');
      expect(asked.get('redirect_uri')).toBe('https://gantry.example/mcp/oauth/callback');
    });
    expect(registered).toBe(0);
    await one.store.close();
  });

  test('at a server that names no provider, or one that cannot be reached, says so and begins nothing', async () => {
    metadata = { resource: `${origin}/mcp`, authorization_servers: ['http://10.255.255.1'] };
    const one = await open();
    const answer = await one.refused();
    expect(answer).toMatchObject({ is: 'none' });
    expect((answer as { why: string }).why).toMatch(/^Signing in at tracker is not possible: /);
    metadata = { resource: 'https://other.example/mcp', authorization_servers: [provider.issuer] };
    expect(await one.refused()).toMatchObject({ is: 'none' });
    await one.store.close();
  });
});

describe('what one provider gave', () => {
  /** A provider that takes whatever comes, and notes it. */
  async function startEvil() {
    const heard: string[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (part) => {
        body += part;
      });
      request.on('end', () => {
        heard.push(`${request.url} ${request.headers.authorization ?? ''} ${body}`);
        const known = {
          issuer: own,
          authorization_endpoint: `${own}/auth`,
          token_endpoint: `${own}/token`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          registration_endpoint: `${own}/reg`,
        };
        const token = { access_token: 'of evil', token_type: 'Bearer', expires_in: 100 };
        const client = { client_id: 'any', redirect_uris: [`${home}${oauthCallback.path}`] };
        const said = request.url?.includes('well-known') ? known : request.url === '/reg' ? client : token;
        response.writeHead(request.url === '/reg' ? 201 : 200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(said));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return { own, heard, close: () => new Promise((resolve) => server.close(resolve)) };
  }

  test('goes to no other that the resource names later: neither a refresh token nor a client secret', async () => {
    const evil = await startEvil();
    const one = await open();
    await one.finish(await cameBack(one));
    await one.clock.advance(60_000);
    const refresh = JSON.stringify((await one.grants.read('srv_1')).tokens?.set.refresh_token);
    expect(refresh.length).toBeGreaterThan(20);
    metadata = { resource: `${origin}/mcp`, authorization_servers: [evil.own] };
    const asked = await one.refused(await one.client.tokenFor(one.target));
    if (asked.is === 'sign_in') {
      const state = new URL(asked.authorizeUrl).searchParams.get('state')!;
      await one.client.finish({ state, code: 'c' }, one.find).catch(() => {});
      await one.clock.advance(9.5 * 60_000);
      await one.client.tokenFor(one.target);
    }
    expect(evil.heard.length).toBeGreaterThan(0);
    expect(evil.heard.join('\n')).not.toContain(JSON.parse(refresh));
    await one.store.close();

    metadata = { resource: `${origin}/mcp`, authorization_servers: [provider.issuer] };
    const given = await open();
    const oauth = { clientId: provider.clientId, clientSecret: provider.clientSecret };
    await given.grants.write('srv_1', { ...noGrant, issuer: provider.issuer });
    metadata = { resource: `${origin}/mcp`, authorization_servers: [evil.own] };
    const answer = await given.client.challenge(
      { ...given.target, oauth },
      { status: 401, token: null, wwwAuthenticate: null },
    );
    expect(answer).toMatchObject({ is: 'none', why: expect.stringContaining(`to ${evil.own}.`) });
    expect(evil.heard.join('\n')).not.toContain(
      Buffer.from(encodeURIComponent(provider.clientSecret)).toString('base64'),
    );
    expect(evil.heard.some((line) => line.startsWith('/token gantry'))).toBe(false);
    await given.store.close();
    await evil.close();
  });
});

describe('a token', () => {
  test('is renewed shortly before its end, once however many ask, and the former refresh token is never used again', async () => {
    const one = await open();
    await one.finish(await cameBack(one));
    const first = await one.client.tokenFor(one.target);
    await one.clock.advance(9.5 * 60_000);
    const renewals = await requestsOf('/token', async () => {
      const all = await Promise.all([1, 2, 3, 4].map(() => one.client.tokenFor(one.target)));
      expect(new Set(all).size).toBe(1);
      expect(all[0]).not.toBe(first);
    });
    expect(renewals).toBe(1);
    await one.clock.advance(9.5 * 60_000);
    expect(await requestsOf('/token', () => one.client.tokenFor(one.target))).toBe(1);
    await one.store.close();
  });

  test('that the server refuses is renewed once; refused again at once, a person is asked', async () => {
    const one = await open();
    await one.finish(await cameBack(one));
    await one.clock.advance(60_000);
    const first = (await one.client.tokenFor(one.target))!;
    expect(await one.refused(first)).toEqual({ is: 'token' });
    // Another call was on its way with the former one.
    expect(await one.refused(first)).toEqual({ is: 'token' });
    const second = (await one.client.tokenFor(one.target))!;
    expect(second).not.toBe(first);
    expect(await one.refused(second)).toMatchObject({ is: 'sign_in' });
    await one.store.close();
  });

  test('is gone with its target, and under another master key', async () => {
    const one = await open();
    await one.finish(await cameBack(one));
    const moved = await open({ file: one.file, key: 'another master key of more than thirty-two bytes!' });
    expect(await moved.client.tokenFor(one.target)).toBeNull();
    await one.client.forget('srv_1');
    expect(await one.client.tokenFor(one.target)).toBeNull();
    await one.store.close();
    await moved.store.close();
  });
});
