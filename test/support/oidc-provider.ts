/**
 * A real OpenID provider on this machine, on which everybody signs in with any password, and a person without a browser who
 * does. Its development pages ask for a name and then for consent, as any provider does.
 */
import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errors, Provider } from 'oidc-provider';

export interface OidcProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** What the provider signs with, for tests that forge: RS256, `kid` "rsa". */
  readonly key: { readonly private: KeyObject; readonly public: KeyObject };
  /** Requests that came, as `GET /jwks`. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

export interface OidcProviderOptions {
  /** Where it listens; default any free port of 127.0.0.1. */
  readonly host?: string;
  readonly port?: number;
  /** How everybody calls it, where that is not where it listens. */
  readonly issuer?: string;
  /** Clouds that people come from and go back to, and other resources that tokens are for. */
  readonly origins: readonly string[];
  /** Clients register themselves or are known by a document of theirs, and always get a refresh token. */
  readonly openToClients?: true;
}

export async function startOidcProvider(options: OidcProviderOptions): Promise<OidcProvider> {
  let listener: RequestListener = (_request, response) => response.writeHead(503).end();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url?.split('?')[0]}`);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve));
  const issuer = options.issuer ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = { clientId: 'gantry', clientSecret: 'a secret between the two' };
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = quietly(
    () =>
      new Provider(issuer, {
        clients: [
          {
            client_id: client.clientId,
            client_secret: client.clientSecret,
            redirect_uris: options.origins.map((origin) => `${origin}/login/callback`),
          },
          {
            client_id: toolClient.id,
            redirect_uris: [toolClient.redirect],
            token_endpoint_auth_method: 'none',
            application_type: 'native',
          },
        ],
        jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'rsa', alg: 'RS256', use: 'sig' }] },
        ...(options.openToClients === true
          ? { issueRefreshToken: () => true, rotateRefreshToken: true, scopes: ['openid', ...resourceScopes] }
          : {}),
        features: {
          ...(options.openToClients === true
            ? {
                registration: { enabled: true },
                clientIdMetadataDocument: { enabled: true, ack: clientDocumentDraft },
              }
            : {}),
          resourceIndicators: {
            enabled: true,
            getResourceServerInfo(_context, resource) {
              if (!options.origins.some((origin) => resource.startsWith(origin))) throw new errors.InvalidTarget();
              const scope = resourceScopes.join(' ');
              return { scope, audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: 600 };
            },
          },
        },
        claims: { openid: ['sub'], profile: ['name'], email: ['email'] },
        findAccount: (_context, id) => ({
          accountId: id,
          claims: () => ({ sub: id, name: `${id[0]?.toUpperCase()}${id.slice(1)}`, email: `${id}@example.com` }),
        }),
        cookies: { keys: ['for tests'] },
        ttl: { Session: 3600, Grant: 3600, Interaction: 600, IdToken: 600, AccessToken: 600 },
      }),
  );
  // Behind a proxy with a certificate: how the proxy was asked is how its addresses begin.
  provider.proxy = issuer.startsWith('https:');
  listener = provider.callback();
  return {
    issuer,
    ...client,
    requests,
    key: { private: privateKey, public: publicKey },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** It warns of its development pages, which are what is wanted here. */
function quietly<T>(make: () => T): T {
  const { warn, info } = console;
  console.warn = () => {};
  console.info = () => {};
  try {
    return make();
  } finally {
    Object.assign(console, { warn, info });
  }
}

const resourceScopes = ['agents:read', 'bots:act', 'compute', 'computers', 'work', 'admin'];
/** The draft of client-id metadata documents that the provider has to be told it follows. */
const clientDocumentDraft = 'draft-02';

/** Another program of the person: gets tokens directly, like an MCP client. */
const toolClient = { id: 'tool', redirect: 'http://127.0.0.1:9/callback' };

/** A browser that follows redirects and answers the provider's pages. */
export function createPerson(name: string) {
  // Ports do not part cookies: one jar serves all where they share a host.
  const jar = new Map<string, Map<string, string>>();
  const cookiesOf = (url: string) => {
    const { hostname } = new URL(url);
    const cookies = jar.get(hostname) ?? new Map<string, string>();
    jar.set(hostname, cookies);
    return cookies;
  };
  const cookies = (url: string) => [...cookiesOf(url)].map(([key, value]) => `${key}=${value}`).join('; ');

  async function ask(url: string, form?: Record<string, string>): Promise<Response> {
    const response = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie: cookies(url) },
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const at = pair.indexOf('=');
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(line)) cookiesOf(url).delete(pair.slice(0, at));
      else cookiesOf(url).set(pair.slice(0, at), pair.slice(at + 1));
    }
    return response;
  }

  return {
    ask,
    cookies,
    /** Goes on from `start` until an address begins with `end`; answers that address, which is not opened. */
    async follow(start: string, end: string): Promise<string> {
      let url = start;
      let response = await ask(url);
      for (let step = 0; step < 20; step += 1) {
        const to = response.headers.get('location');
        if (to !== null) {
          url = new URL(to, url).href;
          if (url.startsWith(end)) return url;
          response = await ask(url);
          continue;
        }
        const page = await response.text();
        const action = /action="([^"]+)"/.exec(page)?.[1];
        const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
        if (action === undefined || prompt === undefined) throw new Error(`${response.status} at ${url}: ${page}`);
        url = new URL(action, url).href;
        response = await ask(url, { prompt, login: name, password: 'any' });
      }
      throw new Error(`no end of redirects at ${url}`);
    },
  };
}

/** Signs in at a cloud through its provider, as a browser does; answers the cookies for the cloud. */
export async function signInAs(name: string, cloud: string): Promise<string> {
  const person = createPerson(name);
  await person.follow(`${cloud}/login?next=/signed-in`, `${cloud}/signed-in`);
  return person.cookies(cloud);
}

/** An access token that the person gives another program, and the id token beside it. */
export async function accessTokenOf(
  name: string,
  { issuer, resource, scope }: { issuer: string; resource: string; scope: string },
): Promise<{ accessToken: string; idToken: string }> {
  const verifier = 'a-verifier-of-forty-three-characters-or-more-as-is-due';
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const query = new URLSearchParams({
    client_id: toolClient.id,
    redirect_uri: toolClient.redirect,
    response_type: 'code',
    scope: `openid ${scope}`,
    resource,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const back = await createPerson(name).follow(`${issuer}/auth?${query}`, toolClient.redirect);
  const code = new URL(back).searchParams.get('code');
  if (code === null) throw new Error(back);
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: toolClient.id,
      redirect_uri: toolClient.redirect,
      code,
      code_verifier: verifier,
      resource,
    }),
  });
  const tokens = (await answer.json()) as { access_token: string; id_token: string };
  return { accessToken: tokens.access_token, idToken: tokens.id_token };
}
