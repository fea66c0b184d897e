/** Connectors on a real store, over real HTTP and with real sign-ins, as the runtime composes them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Connector } from '../../../src/contracts/connectors/connector.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { createEgress } from '../../../src/kit/egress/egress.ts';
import { createIdempotency } from '../../../src/kit/http/idempotency.ts';
import { createGrants, oauthMigrations } from '../../../src/kit/oauth/grants.ts';
import { createOAuthClient } from '../../../src/kit/oauth/oauth-client.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { shareStore } from '../../../src/kit/store/share-store.ts';
import { createConnectors } from '../../../src/runtime-server/connectors/index.ts';
import { onEnd, serve } from '../../kit/http/support.ts';
import { masterKey, type Open, openServers, stdio } from '../tool-server/servers/support.ts';

const home = 'http://127.0.0.1:3010';

export async function openConnectors(more: Partial<Open> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-test-'));
  // Last of all, so that it works for a file as for a test.
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  let ahead = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + ahead };
  const egress = createEgress({ allow: ['127.0.0.1'] });
  const store = await openStore({ file: join(folder, 'oauth.db'), migrations: oauthMigrations, clock });
  const oauth = createOAuthClient({
    grants: createGrants({ store, sealer: createSealer({ masterKey, purpose: 'oauth' }), clock }),
    egress: () => egress,
    clock,
    origin: () => home,
    computerId: 'computer_1',
  });
  onEnd(async () => {
    await egress.close();
    await store.close();
  });
  const opened = await openServers({ file: join(folder, 'runtime.db'), auth: oauth, ...more });
  const warned: string[] = [];
  const target = (id: string) => {
    const found = opened.signInAt(id);
    if (found === null) throw new Error(`There is no ${id}.`);
    return found;
  };
  const connectors = createConnectors({
    attached: opened.servers,
    signIns: {
      about: (id) => oauth.about(id),
      begin: (id) => oauth.begin(target(id)),
      revoke: (id) => oauth.revoke(target(id)),
    },
    log: { info: () => {}, warn: (message, facts) => warned.push(`${message} ${JSON.stringify(facts)}`) },
  });
  const told: string[] = [];
  connectors.servers.onLost((id) => told.push(`lost ${id}`));
  connectors.servers.onBack((id) => told.push(`back ${id}`));
  connectors.servers.onGone(({ id, url }) => told.push(`gone ${id} ${url}`));
  const counts = new Map<string, number>();
  const { call } = await serve({
    routes: connectors.routes(async () => counts),
    idempotency: createIdempotency(shareStore(opened.store), clock),
  });
  const base = '/api/v1/mcp/connectors';
  const read = async (id: string) => (await call('GET', `${base}/${id}`)).json as unknown as Connector;

  return {
    ...opened,
    servers: connectors.servers,
    call,
    base,
    told,
    warned,
    counts,
    read,
    async connect(name: string, url: string, auth?: object): Promise<Connector> {
      const { status, json } = await call('POST', base, {
        body: { name, url, ...(auth === undefined ? {} : { auth }) },
      });
      expect([status, json]).toEqual([201, expect.anything()]);
      return json as unknown as Connector;
    },
    until: (id: string, status: Connector['status']) =>
      expect.poll(async () => (await read(id)).status, { interval: 20 }).toBe(status),
    /** Tokens and sign-ins are older by so much. */
    later(ms: number): void {
      ahead += ms;
    },
    /** As the person's browser: signs in there by a name, and comes back. */
    async signIn(authorizeUrl: string, user = 'ann'): Promise<void> {
      const asked = new URL(authorizeUrl);
      const body = new URLSearchParams([...asked.searchParams, ['user', user], ['decision', 'allow']]);
      const answer = await fetch(`${asked.origin}${asked.pathname}`, { method: 'POST', body, redirect: 'manual' });
      const back = new URL(answer.headers.get('location') ?? '');
      await oauth.finish(Object.fromEntries(back.searchParams) as never, (id) => opened.signInAt(id));
    },
    /** A server on streams, which is no connector; answers its id. */
    async attachProgram(): Promise<string> {
      const { id } = await opened.attach('program', stdio('usual'));
      return id;
    },
    signal: () => AbortSignal.timeout(30_000),
  };
}
