/**
 * A small issue tracker that programs can use over MCP and that reports changes by webhooks: the second events server that the connectors are tested
 * against. Written only from the public specifications; it shares no code with the product, so that what both agree on is what the specifications
 * say. Everything is in memory.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEvents } from './events.ts';
import { bodyOf, json } from './exchange.ts';
import { type AnswerFault, createFaults, type DeliveryFault, type Faults } from './faults.ts';
import { createIssues, type Issues } from './issues.ts';
import { createEndpoint, misbehave } from './mcp.ts';
import { createOauth, type Oauth, type Principal, scopes } from './oauth.ts';
import { servePages } from './pages.ts';
import { type EventShape, ownEvents } from './shapes.ts';
import { createSubscriptions, type Limits, type Subscriptions } from './subscriptions.ts';
import { createTools } from './tools.ts';

export interface IssueTrackerOptions {
  readonly host?: string;
  /** Default any free port. */
  readonly port?: number;
  /** How everybody calls it, where that is not where it listens. */
  readonly origin?: string;
  /** Default the clock of this machine, ms. */
  readonly now?: () => number;
  /** Keys that are good for a person, in `Authorization: Bearer` or `X-Api-Key`. */
  readonly apiKeys?: Readonly<Record<string, string>>;
  /** Who somebody is that shows nothing; default nobody gets in. */
  readonly anonymous?: string;
  readonly accessTokenSeconds?: number;
  readonly limits?: Partial<Limits>;
  /** Events besides its own, for schemas that no sane server has. */
  readonly moreEvents?: readonly EventShape[];
  /** Events on a page of `events/list`; default 2, so that its three are on two. */
  readonly pageSize?: number;
}

export interface IssueTracker {
  readonly origin: string;
  /** The server's URL, to connect to. */
  readonly url: string;
  readonly issues: Issues;
  readonly faults: Faults;
  readonly oauth: Oauth;
  readonly subscriptions: Subscriptions;
  /** `<method> <path>`, and for MCP the method's name behind it. */
  readonly requests: readonly string[];
  /** Ends every grant, and the subscriptions that stand on one. */
  revokeGrants(): void;
  close(): Promise<void>;
}

const usualLimits: Limits = {
  retries: [1_000, 5_000, 30_000, 120_000, 600_000],
  grace: 3_600_000,
  ttl: { least: 60_000, usual: 86_400_000, most: 604_800_000 },
  subscriptions: 1_000,
};

export async function startIssueTracker(options: IssueTrackerOptions = {}): Promise<IssueTracker> {
  const now = options.now ?? Date.now;
  let origin = options.origin ?? '';
  const requests: string[] = [];
  const issues = createIssues({ origin: () => origin, now });
  const faults = createFaults();
  const oauth = createOauth({ origin: () => origin, now, accessTokenSeconds: options.accessTokenSeconds ?? 3_600 });
  const subscriptions = createSubscriptions({
    issues,
    faults,
    now,
    limits: { ...usualLimits, ...options.limits },
    stands: ({ grantId }) => grantId === undefined || oauth.stands(grantId),
  });
  const events = createEvents({
    shapes: [...ownEvents, ...(options.moreEvents ?? [])],
    pageSize: options.pageSize ?? 2,
    subscriptions,
  });
  const tools = createTools(issues);
  const endpoint = createEndpoint(
    {
      'tools/list': tools.list,
      'tools/call': tools.call,
      'events/list': events.list,
      'events/subscribe': events.subscribe,
      'events/unsubscribe': events.unsubscribe,
    },
    (method) => {
      requests.push(`MCP ${method}`);
      return faults.takeAnswer(method);
    },
  );

  function principalOf(request: IncomingMessage): Principal | undefined {
    const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const key = bearer ?? String(request.headers['x-api-key'] ?? '');
    const user = Object.hasOwn(options.apiKeys ?? {}, key) ? options.apiKeys?.[key] : undefined;
    if (user !== undefined) return { user, client: 'api-key', scopes };
    if (bearer !== undefined) return oauth.principalOf(bearer);
    return options.anonymous === undefined ? undefined : { user: options.anonymous, client: 'anonymous', scopes };
  }

  function challenge(request: IncomingMessage, response: ServerResponse): void {
    const wrong = request.headers.authorization === undefined ? '' : ', error="invalid_token"';
    const where = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    json(
      response,
      401,
      { error: 'sign in' },
      {
        'www-authenticate': `Bearer ${where}, scope="${scopes.join(' ')}"${wrong}`,
      },
    );
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', origin);
    requests.push(`${request.method} ${url.pathname}`);
    if (url.pathname === '/mcp') {
      const principal = principalOf(request);
      if (principal === undefined) return challenge(request, response);
      return await endpoint.serve(request, response, principal);
    }
    if (url.pathname.startsWith('/oauth/')) {
      const fault = faults.takeAnswer(url.pathname.slice(1));
      if (fault !== undefined) return misbehave(fault, null, response);
    }
    if (url.pathname === '/control' && request.method === 'POST') return await control(request, response);
    if (url.pathname === '/state')
      return json(response, 200, {
        subscriptions: subscriptions.list(),
        deliveries: subscriptions.deliveries(),
        grants: oauth.grants(),
        requests,
      });
    if (await oauth.serve(request, response, url)) return;
    if (await servePages(issues, request, response, url)) return;
    json(response, 404, { error: 'not found' });
  }

  /** The knobs for who has started it as a program: `{answerWith, method?, times?}`, `{deliverWith, times?}` or `{do}`. */
  async function control(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = JSON.parse(await bodyOf(request)) as {
      readonly answerWith?: AnswerFault;
      readonly deliverWith?: DeliveryFault;
      readonly method?: string;
      readonly times?: number;
      readonly do?: string;
    };
    const { times = 1, method } = asked;
    if (asked.answerWith !== undefined)
      faults.answerWith(asked.answerWith, method === undefined ? { times } : { times, method });
    if (asked.deliverWith !== undefined) faults.deliverWith(asked.deliverWith, times);
    const acts: Readonly<Record<string, () => void>> = {
      revoke: revokeGrants,
      'expire-access': () => oauth.expireAccess(),
      'expire-subscriptions': () => subscriptions.expireAll(),
      forget: () => issues.forget(),
      gap: () => {
        for (const { id } of subscriptions.list()) subscriptions.gap(id);
      },
      behave: () => faults.behave(),
    };
    if (asked.do !== undefined) acts[asked.do]?.();
    json(response, 200, {});
  }

  function revokeGrants(): void {
    oauth.revokeAll();
    subscriptions.endForbidden();
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (!response.headersSent) json(response, 400, { error: String(error) });
    });
  });
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, host, resolve));
  if (origin === '') origin = `http://${host}:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    url: `${origin}/mcp`,
    issues,
    faults,
    oauth,
    subscriptions,
    requests,
    revokeGrants,
    async close() {
      subscriptions.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
