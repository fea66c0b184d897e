/**
 * The tracker's own authorization server: authorization code with PKCE S256 (OAuth 2.1), metadata (RFC 8414, 9728), clients
 * that register (RFC 7591) or show a document at their id, refresh tokens that are good once, revocation (RFC 7009) and the
 * issuer in its answers (RFC 9207). Anybody signs in with a name alone.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { bodyOf, escaped, formOf, html, json, redirect } from './exchange.ts';

/** Who asks, and under what they may. */
export interface Principal {
  readonly user: string;
  readonly client: string;
  readonly scopes: readonly string[];
  /** undefined: an API key, or a tracker that is open to everybody. */
  readonly grantId?: string;
}

interface Client {
  readonly id: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
}

interface Grant {
  readonly id: string;
  readonly user: string;
  readonly client: string;
  readonly scopes: readonly string[];
  revoked: boolean;
}

export const scopes = ['issues:read', 'issues:write'] as const;

export interface OauthOptions {
  readonly origin: () => string;
  readonly now: () => number;
  /** Seconds an access token is good for. */
  readonly accessTokenSeconds: number;
}

export type Oauth = ReturnType<typeof createOauth>;

export function createOauth({ origin, now, accessTokenSeconds }: OauthOptions) {
  const clients = new Map<string, Client>();
  const grants = new Map<string, Grant>();
  const codes = new Map<string, { grant: Grant; challenge: string; redirectUri: string; until: number }>();
  const accessTokens = new Map<string, { grant: Grant; until: number }>();
  const refreshTokens = new Map<string, { grant: Grant; used: boolean }>();
  const token = (kind: string) => `${kind}_${randomBytes(24).toString('base64url')}`;
  const resource = () => `${origin()}/mcp`;

  const issue = (grant: Grant) => {
    const access = token('at');
    const refresh = token('rt');
    accessTokens.set(access, { grant, until: now() + accessTokenSeconds * 1_000 });
    refreshTokens.set(refresh, { grant, used: false });
    return {
      access_token: access,
      token_type: 'Bearer',
      expires_in: accessTokenSeconds,
      refresh_token: refresh,
      scope: grant.scopes.join(' '),
    };
  };

  async function clientOf(id: string): Promise<Client | undefined> {
    const known = clients.get(id);
    if (known !== undefined || !/^https?:\/\//.test(id)) return known;
    try {
      const answer = await fetch(id, { redirect: 'error', signal: AbortSignal.timeout(5_000) });
      const document = (await answer.json()) as { client_id?: unknown; client_name?: unknown; redirect_uris?: unknown };
      if (document.client_id !== id || !Array.isArray(document.redirect_uris)) return undefined;
      return { id, name: String(document.client_name ?? id), redirectUris: document.redirect_uris.map(String) };
    } catch {
      return undefined;
    }
  }

  async function register(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = JSON.parse(await bodyOf(request)) as { redirect_uris?: unknown; client_name?: unknown };
    if (!Array.isArray(asked.redirect_uris) || asked.redirect_uris.length === 0)
      return json(response, 400, { error: 'invalid_redirect_uri' });
    const redirectUris = asked.redirect_uris.map(String);
    const client = { id: token('client'), name: String(asked.client_name ?? 'a client'), redirectUris };
    clients.set(client.id, client);
    json(response, 201, {
      client_id: client.id,
      client_name: client.name,
      client_id_issued_at: Math.floor(now() / 1_000),
      redirect_uris: redirectUris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    });
  }

  /** The page is shown on GET; its form comes back by POST with the same fields and the decision. */
  async function authorize(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const asked = request.method === 'POST' ? await formOf(request) : url.searchParams;
    const field = (name: string) => asked.get(name) ?? '';
    const client = await clientOf(field('client_id'));
    const redirectUri = field('redirect_uri');
    if (client === undefined || !client.redirectUris.some((one) => sameRedirect(one, redirectUri)))
      return html(response, 400, 'Unknown program', '<p>No program is known by this id and address.</p>');
    const back = (fields: Record<string, string>) => {
      const to = new URL(redirectUri);
      for (const [name, value] of Object.entries({ ...fields, state: field('state'), iss: origin() }))
        if (value !== '') to.searchParams.set(name, value);
      redirect(response, to.href);
    };
    if (field('response_type') !== 'code') return back({ error: 'unsupported_response_type' });
    if (field('code_challenge_method') !== 'S256' || field('code_challenge') === '')
      return back({ error: 'invalid_request', error_description: 'PKCE with S256 is required' });
    if (field('resource') !== resource()) return back({ error: 'invalid_target' });
    const wanted = field('scope') === '' ? [...scopes] : field('scope').split(' ');
    if (!wanted.every((scope) => (scopes as readonly string[]).includes(scope)))
      return back({ error: 'invalid_scope' });
    if (request.method !== 'POST') return page(response, client, wanted, asked);
    if (field('decision') !== 'allow') return back({ error: 'access_denied' });
    const user = field('user').trim();
    if (user === '') return page(response, client, wanted, asked);
    const grant: Grant = { id: token('grant'), user, client: client.id, scopes: wanted, revoked: false };
    grants.set(grant.id, grant);
    const code = token('code');
    codes.set(code, { grant, challenge: field('code_challenge'), redirectUri, until: now() + 60_000 });
    back({ code });
  }

  function page(response: ServerResponse, client: Client, wanted: readonly string[], asked: URLSearchParams): void {
    const hidden = [...asked]
      .filter(([name]) => name !== 'user' && name !== 'decision')
      .map(([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`)
      .join('');
    html(
      response,
      200,
      'Sign in to the tracker',
      `<p><b>${escaped(client.name)}</b> wants: ${wanted.map(escaped).join(', ')}</p>
<form method="post" action="/oauth/authorize">${hidden}<label>Your name <input name="user" value="" autofocus></label>
<button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Deny</button></form>`,
    );
  }

  async function exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await formOf(request);
    const field = (name: string) => form.get(name) ?? '';
    const refuse = (error: string) => json(response, 400, { error });
    if (form.has('resource') && field('resource') !== resource()) return refuse('invalid_target');
    if (field('grant_type') === 'authorization_code') {
      const code = codes.get(field('code'));
      codes.delete(field('code'));
      const challenge = createHash('sha256').update(field('code_verifier')).digest('base64url');
      const good =
        code !== undefined &&
        code.until > now() &&
        code.grant.client === field('client_id') &&
        code.redirectUri === field('redirect_uri') &&
        code.challenge === challenge;
      return good ? json(response, 200, issue(code.grant)) : refuse('invalid_grant');
    }
    if (field('grant_type') !== 'refresh_token') return refuse('unsupported_grant_type');
    const refresh = refreshTokens.get(field('refresh_token'));
    if (refresh === undefined || refresh.grant.revoked || refresh.grant.client !== field('client_id'))
      return refuse('invalid_grant');
    if (refresh.used) {
      // Used twice: one of the two who have it stole it (RFC 9700 4.14.2).
      refresh.grant.revoked = true;
      return refuse('invalid_grant');
    }
    refresh.used = true;
    json(response, 200, issue(refresh.grant));
  }

  /** RFC 7009: 200 whether or not the token was known. A refresh token takes its grant with it. */
  async function revoke(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const given = (await formOf(request)).get('token') ?? '';
    const refresh = refreshTokens.get(given);
    if (refresh !== undefined) refresh.grant.revoked = true;
    accessTokens.delete(given);
    response.writeHead(200).end();
  }

  return {
    /** True where the request was for the authorization server. */
    async serve(request: IncomingMessage, response: ServerResponse, url: URL): Promise<boolean> {
      const at = `${request.method} ${url.pathname}`;
      if (at === 'GET /.well-known/oauth-authorization-server') json(response, 200, metadata(origin()));
      else if (/^GET \/\.well-known\/oauth-protected-resource(\/mcp)?$/.test(at))
        json(response, 200, {
          resource: resource(),
          authorization_servers: [origin()],
          scopes_supported: scopes,
          bearer_methods_supported: ['header'],
          resource_name: 'The issue tracker',
        });
      else if (at === 'POST /oauth/register') await register(request, response);
      else if (at === 'GET /oauth/authorize' || at === 'POST /oauth/authorize') await authorize(request, response, url);
      else if (at === 'POST /oauth/token') await exchange(request, response);
      else if (at === 'POST /oauth/revoke') await revoke(request, response);
      else return false;
      return true;
    },
    principalOf(accessToken: string): Principal | undefined {
      const known = accessTokens.get(accessToken);
      if (known === undefined || known.until <= now() || known.grant.revoked) return undefined;
      const { user, client, scopes, id } = known.grant;
      return { user, client, scopes, grantId: id };
    },
    stands: (grantId: string): boolean => grants.get(grantId)?.revoked === false,
    /** Everybody has to sign in again, as when the owner of an account takes a program's access away. */
    revokeAll(): void {
      for (const grant of grants.values()) grant.revoked = true;
    },
    /** Access tokens are over before their time; refresh tokens stand. */
    expireAccess(): void {
      accessTokens.clear();
    },
    grants: () => [...grants.values()].map(({ id, user, client, revoked }) => ({ id, user, client, revoked })),
  };
}

function metadata(origin: string) {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/oauth/authorize`,
    token_endpoint: `${origin}/oauth/token`,
    registration_endpoint: `${origin}/oauth/register`,
    revocation_endpoint: `${origin}/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: ['none'],
    token_endpoint_auth_methods_supported: ['none'],
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    scopes_supported: scopes,
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  };
}

/** The same address; a program on the same computer may come back to any port (RFC 8252 7.3). */
function sameRedirect(registered: string, given: string): boolean {
  if (registered === given) return true;
  if (!URL.canParse(registered) || !URL.canParse(given)) return false;
  const [one, two] = [new URL(registered), new URL(given)];
  if (one.protocol !== 'http:' || !['127.0.0.1', '[::1]', 'localhost'].includes(one.hostname)) return false;
  one.port = two.port;
  return one.href === two.href;
}
