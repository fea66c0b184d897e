/**
 * Replicas of one cloud on one PostgreSQL, in this process, behind one address that leads to whichever the test names. Computers dial
 * that address; people call each replica by itself, as a proxy in front would.
 */
import { copyFileSync, mkdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http';
import { type AddressInfo, connect, createServer as createSocketServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { Computer } from '../../src/contracts/link/computers.ts';
import { placesIn } from '../../src/host/places.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { systemTimers } from '../../src/kit/clock/timers.ts';
import { newToken } from '../../src/kit/secrets/token-file.ts';
import { signingKey } from '../../src/kit/signing/signature.ts';
import { createDialer } from '../../src/runtime-server/link/dialer.ts';
import { type People, type Person, personWith, startPeople } from '../cloud-api/identity/support.ts';
import { type Call, onEnd } from '../kit/http/support.ts';
import { quiet } from '../support/link.ts';
import { type OidcProvider, signInAs, startOidcProvider } from '../support/oidc-provider.ts';
import { scratchHome } from './support.ts';

export interface Replica extends People {
  /** As a page of the cloud's address calls it here. */
  readonly here: Call;
}

export interface Cluster {
  readonly origin: string;
  readonly databaseUrl: string;
  readonly provider: OidcProvider;
  readonly replicas: readonly Replica[];
  /** From now on the address leads there, for who connects anew. */
  lead(to: number): void;
  start(): Promise<Replica>;
}

export async function startCluster(
  count: number,
  databaseUrl: string,
  /** Of the replica with that number. */
  settingsOf: (n: number) => NonNullable<Parameters<typeof startPeople>[0]>['settings'] = () => ({}),
): Promise<Cluster> {
  const replicas: Replica[] = [];
  let target = 0;
  const open = new Set<Socket>();
  const front = createSocketServer((near) => {
    const far = connect(replicas[target]?.port ?? 9, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one
        .on('error', () => {})
        .once('close', () => {
          open.delete(one);
          other.destroy();
        });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  onEnd(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => front.close(resolve));
  });
  const origin = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const provider = await startOidcProvider({ origins: [origin] });
  onEnd(() => provider.close());

  async function start(): Promise<Replica> {
    const home = scratchHome();
    const [first] = replicas;
    if (first !== undefined) {
      mkdirSync(home, { recursive: true });
      for (const file of ['masterKey', 'internalToken'] as const) {
        copyFileSync(placesIn(first.home)[file], placesIn(home)[file]);
      }
    }
    const people = await startPeople({
      home,
      provider,
      baseUrl: origin,
      settings: { ...settingsOf(replicas.length), databaseUrl },
    });
    const { host } = new URL(origin);
    const here: Call = (method, path, options = {}) =>
      people.call(method, path, { ...options, headers: { host, ...options.headers } });
    const replica = { ...people, here };
    replicas.push(replica);
    return replica;
  }

  for (let n = 0; n < count; n += 1) await start();
  return {
    origin,
    databaseUrl,
    provider,
    replicas,
    start,
    lead(to) {
      target = to;
    },
  };
}

/** Somebody who is signed in, and calls any of the replicas. */
export async function personIn(
  cluster: Cluster,
  name: string,
): Promise<{ id: string; cookie: string; at: Person['call'][] }> {
  const cookie = await signInAs(name, cluster.origin);
  const people = await Promise.all(cluster.replicas.map(({ here }) => personWith({ call: here }, cookie)));
  return { id: people[0]?.id ?? '', cookie, at: people.map(({ call }) => call) };
}
export type ClusterPerson = Awaited<ReturnType<typeof personIn>>;

export interface TestComputer {
  readonly id: string;
  /** Signs for it. */
  readonly key: string;
  readonly dialer: ReturnType<typeof createDialer>;
  /** The same computer a second time, as after its data folder was copied. */
  twin(): ReturnType<typeof createDialer>;
}

/** A computer of this person, paired, that dials the cloud's address. */
export async function computerOf(
  cluster: Cluster,
  person: ClusterPerson,
  letter: string,
  engine: RequestListener,
): Promise<TestComputer> {
  const id = `computer_01H${letter.repeat(23)}`;
  const [replica] = cluster.replicas;
  const [call] = person.at;
  const body = { computerId: id, name: `Computer ${letter}`, version: '0.1.0' };
  const begun = await replica!.here('POST', '/api/v1/pairings', { body });
  const { userCode, deviceCode } = begun.json as never as { userCode: string; deviceCode: string };
  await call!('POST', `/api/v1/pairings/${userCode}/approve`);
  const taken = await replica!.here('POST', '/api/v1/pairings/token', { body: { deviceCode } });
  const key = signingKey((taken.json as never as { deviceToken: string }).deviceToken);
  const server = createServer(engine);
  const serve = (pipe: Duplex) => void server.emit('connection', pipe);
  const dial = () => {
    const dialer = createDialer({
      home: () => ({ cloudUrl: cluster.origin, computerId: id, key }),
      serve: { engine: serve, peer: serve },
      linkToken: newToken,
      clock: systemClock,
      timers: systemTimers,
      random: () => 0.2,
      log: quiet,
    });
    onEnd(() => dialer.stop(0));
    dialer.start();
    return dialer;
  };
  return { id, key, dialer: dial(), twin: dial };
}

export async function stateAt(call: Person['call'], id: string): Promise<Computer['state'] | undefined> {
  const { computers } = (await call('GET', '/api/v1/computers')).json as never as { computers: Computer[] };
  return computers.find((each) => each.id === id)?.state;
}

/** Resolves once each replica says so. */
export async function untilEverywhere(person: ClusterPerson, id: string, state: Computer['state']): Promise<void> {
  for (const [at, call] of person.at.entries()) {
    for (let tries = 0; (await stateAt(call, id)) !== state; tries += 1) {
      if (tries === 200) throw new Error(`The computer ${id} did not become ${state} at replica ${at}.`);
      await pause(100);
    }
  }
}

/** An event stream at one replica, read piece by piece. */
export async function streamAt(
  cluster: Cluster,
  at: number,
  path: string,
  { lastId, ...credential }: { cookie?: string; authorization?: string; lastId?: string },
) {
  const leave = new AbortController();
  const { host } = new URL(cluster.origin);
  const headers = {
    host,
    ...credential,
    accept: 'text/event-stream',
    ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
  };
  const port = cluster.replicas[at]?.port ?? 0;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const asking = request({ host: '127.0.0.1', port, path, headers, agent: false, signal: leave.signal }, resolve);
    asking.on('error', reject);
    asking.end();
  });
  let text = '';
  answer.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  const ended = new Promise<'end' | 'cut'>((resolve) => {
    answer.once('end', () => resolve('end')).once('error', () => resolve('cut'));
  });
  return { status: answer.statusCode ?? 0, text: () => text, ended, stop: () => leave.abort() };
}
