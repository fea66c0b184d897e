/** Hosted computers behind a real server, on either engine, with a clock that stands still, two people and a driver that is one of ours. */
import { onTestFinished } from 'vitest';
import { createEvents, eventMigrations } from '../../../src/cloud-api/events/index.ts';
import {
  type ComputerBounds,
  createCredentials,
  createHostedComputers,
  createTakeOffered,
  type HostedDriver,
  hostedComputerMigrations,
} from '../../../src/cloud-api/hosted-computers/index.ts';
import { identityMigrations } from '../../../src/cloud-api/identity/index.ts';
import { createProjects, type Project } from '../../../src/cloud-api/identity/projects.ts';
import { createUsage, usageMigrations } from '../../../src/cloud-api/usage/index.ts';
import type { Scope } from '../../../src/contracts/common/route.ts';
import type { HostedComputer, HostedEvent, MeterLine } from '../../../src/contracts/hosted-computers/computer.ts';
import { openHostedDialIns } from '../../../src/host/dial-ins.ts';
import { createIdempotency, idempotencyMigrations } from '../../../src/kit/http/idempotency.ts';
import { bearerOf } from '../../../src/kit/http/principals.ts';
import type { Authenticator } from '../../../src/kit/http/types.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { signingMigrations } from '../../../src/kit/signing/authenticator.ts';
import { type CallOptions, serve } from '../../kit/http/support.ts';
import type { Engine, Place } from '../../support/engines.ts';
import { createTestClock, type TestClock } from '../../support/test-clock.ts';
import { createSubstituteDriver, type SubstituteDriver } from './substitute-driver.ts';

export const scopes: readonly Scope[] = ['compute', 'computers', 'admin'];

/** `ada`: a person; `ada/computers~work/key_1`: a key of theirs. */
export const people: Authenticator = {
  name: 'people',
  authenticate(request) {
    const [name, held, keyId = 'key_1'] = (bearerOf(request) ?? '').split('/');
    if (name === undefined || name === '') return null;
    const userId = `user_${name}`;
    if (held === undefined) return { kind: 'user', userId, scopes: new Set(scopes), via: 'cookie' };
    return { kind: 'key', userId, scopes: new Set(held.split('~') as Scope[]), via: 'key', keyId };
  },
};

export const key = 'ada/computers';
export const otherKey = 'ada/computers/key_2';

export interface Answered {
  /** Of the answer; a computer's own is in `body`. */
  readonly status: number;
  readonly body: HostedComputer;
  readonly error: { readonly type: string; readonly code: string; readonly message: string };
  readonly approval: { readonly id: string; readonly approve_url: string; readonly approver: string };
  readonly computers: HostedComputer[];
  readonly events: HostedEvent[];
  readonly lines: MeterLine[];
  readonly approvals: { readonly id: string; readonly words: string }[];
  readonly next_cursor: string | null;
  readonly state: string;
  readonly [more: string]: unknown;
}

export interface HostedOptions {
  readonly clock?: TestClock;
  readonly place?: Place;
  readonly substitute?: SubstituteDriver;
  /** In place of the substitute's. */
  readonly driver?: HostedDriver;
  readonly bounds?: ComputerBounds;
  /** False: `restart` begins it. */
  readonly started?: boolean;
}

export async function startHosted(engine: Engine, options: HostedOptions = {}) {
  const { clock = createTestClock() } = options;
  const place = options.place ?? (await engine.place());
  const store = await place.open(
    [
      ...identityMigrations,
      ...idempotencyMigrations,
      ...eventMigrations,
      ...usageMigrations,
      ...hostedComputerMigrations,
      ...signingMigrations,
    ],
    clock,
  );
  const substitute = options.substitute ?? createSubstituteDriver(() => clock.now());
  if (options.substitute === undefined) onTestFinished(() => substitute.close());
  const ids = createIds(clock);
  const faults: string[] = [];
  const warn = (message: string, facts?: Record<string, unknown>) =>
    void faults.push(`${message} ${JSON.stringify(facts)}`);
  const projects = createProjects(store);
  const { backbone } = createEvents({ store, clock, ids });
  const usage = createUsage({ store, clock, events: backbone });
  const sealer = createSealer({ masterKey: 'a master key of a test, which is long', purpose: 'hosted computer' });
  const credentials = createCredentials({ store, clock, sealer });
  const dialIns = openHostedDialIns(credentials.authenticator, { clock, log: { info() {}, warn } });
  const hosted = createHostedComputers({
    store,
    clock,
    timers: clock,
    ids,
    projects,
    usage,
    origin: 'https://gantry.example',
    log: { warn },
    driver: options.driver ?? substitute.driver,
    bounds: options.bounds,
    hosted: {
      link: dialIns,
      take: createTakeOffered(dialIns.handleUpgrade),
      end: (id, reason) => dialIns.end(id, reason),
    },
    credentials,
  });
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    await hosted.close();
    await dialIns.close(0);
  };
  onTestFinished(close);
  if (options.started !== false) await hosted.start();
  const server = await serve({
    routes: [...hosted.routes, ...usage.routes],
    owners: hosted.owners,
    authenticators: [people],
    ids,
    idempotency: createIdempotency(store, clock),
  });
  const send = async (method: string, path: string, more: CallOptions = {}): Promise<Answered> => {
    const reply = await server.call(method, path, { token: key, ...more });
    return { ...(reply.json as unknown as Answered), body: reply.json as never, status: reply.status };
  };
  const at = (id: string, rest = '') => `/v1/computers/${id}${rest}`;
  const project = (more: Partial<Project> = {}) =>
    projects.create({
      id: 'shop',
      userId: 'user_ada',
      name: 'Shop',
      hostedDriverEnabled: true,
      spendCapCents: null,
      createdAt: clock.now(),
      ...more,
    });
  return {
    clock,
    store,
    place,
    hosted,
    credentials,
    dialIns,
    substitute,
    server,
    send,
    at,
    project,
    projects,
    faults,
    close,
    usage,
    create: async (body: unknown = {}, more: CallOptions = {}) => {
      const made = await send('POST', '/v1/computers', { body, ...more });
      if (made.status !== 201) throw new Error(JSON.stringify(made));
      return made.body;
    },
    act: (id: string, body: Record<string, unknown> = {}, more: CallOptions = {}) =>
      send('POST', at(id, '/toolset'), {
        body: { toolset: 'computer', member: 'screenshot', input: {}, ...body },
        ...more,
      }),
    /** Time goes on until it is so: what is done every few seconds has time to be done. */
    async until(what: () => Promise<boolean>, ms = 5_000) {
      for (let tries = 0; tries < 200 && !(await what()); tries += 1) {
        await clock.advance(ms);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      if (!(await what())) throw new Error(`It did not come to that: ${faults.join('; ')}`);
    },
    types: async (id: string) => (await send('GET', at(id, '/events?limit=200'))).events.map(({ type }) => type),
    meters: async (id: string) => {
      const lines = await store.all<{ meter: string; sum: number }>(
        'SELECT meter, SUM(thousandths) AS sum FROM hosted_meter WHERE computer_id = ? GROUP BY meter',
        id,
      );
      const of = (meter: string) => (lines.find((line) => line.meter === meter)?.sum ?? 0) / 1000;
      return { minutes: of('computer_minute'), actions: of('computer_action') };
    },
  };
}

export type TestHosted = Awaited<ReturnType<typeof startHosted>>;
