/** An app that signs its person in by itself, as the official client does: all that it knows before is the address of the server. */
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EdgeApp } from '../../../src/contracts/edge/routes.ts';
import { keepUntilEnd, onEnd } from '../../kit/http/support.ts';
import { freePort } from '../../support/free-port.ts';
import { createPerson, signInAs, startOidcProvider } from '../../support/oidc-provider.ts';
import { type People, type Person, personWith, startPeople } from '../identity/support.ts';

const stop = keepUntilEnd();
const redirectUrl = 'http://127.0.0.1:9/back';
let people: People;
let ada: Person;
beforeAll(async () => {
  const port = await freePort();
  const provider = await startOidcProvider({ origins: [`http://127.0.0.1:${port}`], openToClients: true });
  onEnd(() => provider.close());
  people = await startPeople({ port, provider });
  ada = await personWith(people, await signInAs('ada', people.origin));
});
afterAll(stop);

/** Keeps what the client gives it, for one server. */
function createMemory(): OAuthClientProvider & { readonly asked: URL[] } {
  const asked: URL[] = [];
  const kept = new Map<string, unknown>();
  const get = <T>(name: string) => kept.get(name) as T | undefined;
  const set = (name: string) => (value: unknown) => void kept.set(name, value);
  return {
    asked,
    redirectUrl,
    clientMetadata: {
      client_name: 'An app',
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    clientInformation: () => get('client'),
    saveClientInformation: set('client'),
    tokens: () => get('tokens'),
    saveTokens: set('tokens'),
    redirectToAuthorization: (url) => void asked.push(url),
    saveCodeVerifier: set('verifier'),
    codeVerifier: () => get<string>('verifier')!,
    saveDiscoveryState: set('found'),
    discoveryState: () => get('found'),
  };
}

test.each([
  ['/edge/mcp', 'agents:read', 'list_agents'],
  ['/edge/mcp/bots/bot_1', 'bots:act', 'send_message'],
])(
  'at %s it finds the provider, asks for %s there, and is let in once its person has said yes',
  async (path, scope, tool) => {
    const url = new URL(`${people.origin}${path}`);
    const memory = createMemory();
    const open = () => new StreamableHTTPClientTransport(url, { authProvider: memory });
    const first = open();
    await expect(new Client({ name: 'app', version: '1' }).connect(first)).rejects.toThrow(UnauthorizedError);
    const [authorize] = memory.asked;
    expect(authorize?.origin).toBe(people.provider.issuer);
    expect(authorize?.searchParams.get('resource')).toBe(url.href);
    expect(authorize?.searchParams.get('scope')?.split(' ')).toContain(scope);
    const back = await createPerson('ada').follow(authorize!.href, redirectUrl);
    await first.finishAuth(new URL(back).searchParams);
    const client = new Client({ name: 'app', version: '1' });
    await client.connect(open());
    onEnd(() => client.close());
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain(tool);
    const { apps } = (await ada.call('GET', '/api/v1/mcp/approvals')).json as never as { apps: EdgeApp[] };
    const clientId = (await memory.clientInformation())?.client_id;
    expect(apps.find((app) => app.clientId === clientId)).toMatchObject({ scopes: [scope], subscriptions: [] });
  },
);
