/** A Gantry of one computer, paired with a cloud of many people: both as their commands start them. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { Computer } from '../../src/contracts/link/computers.ts';
import type { LocalPairing } from '../../src/contracts/link/local-pairing.ts';
import { startCombined } from '../../src/host/combined.ts';
import { placesIn } from '../../src/host/places.ts';
import { readSettings } from '../../src/host/settings.ts';
import type { Clock } from '../../src/kit/clock/clock.ts';
import { type People, type Person, personWith } from '../cloud-api/identity/support.ts';
import { type Call, caller, onEnd } from '../kit/http/support.ts';
import { signInAs } from '../support/oidc-provider.ts';
import { agreeToAll } from '../support/trust.ts';
import { scratchHome } from './support.ts';

export interface Installation {
  /** The person's yes to what a test wrote into the workspace by hand; at its start they say yes to all of it. */
  agree(): Promise<void>;
  readonly gantry: Awaited<ReturnType<typeof startCombined>>;
  readonly home: string;
  readonly port: number;
  readonly places: ReturnType<typeof placesIn>;
  /** As the owner at the web port, and at the engine's. */
  readonly web: Call;
  readonly engine: Call;
  /** An event stream of the engine. */
  engineStream(path: string, signal: AbortSignal): Promise<Response>;
  pairing(): Promise<LocalPairing>;
  /** Reads the pairing file now, and not only within half a minute. */
  check(): Promise<void>;
}

export interface InstallationOptions {
  readonly home?: string;
  readonly clock?: Clock;
  /** Beside where it listens and where its data is. */
  readonly env?: Readonly<Record<string, string>>;
}

export async function startInstallation(options: InstallationOptions = {}): Promise<Installation> {
  const { home = scratchHome(), clock } = options;
  const ports = { GANTRY_PORT: '0', GANTRY_ENGINE_PORT: '0', GANTRY_PEER_PORT: '0' };
  const env = { ...process.env, GANTRY_HOME: home, ...ports, ...options.env };
  const workspace = join(home, 'ws');
  mkdirSync(workspace, { recursive: true });
  const gantry = await startCombined({
    env,
    settings: readSettings(env),
    gantry: 'gantry',
    workspace,
    answers: 'throw',
    ...(clock === undefined ? {} : { clock }),
  });
  onEnd(() => gantry.close({ stopBots: true }));
  const places = placesIn(home);
  const token = readFileSync(places.token, 'utf8').trim();
  const port = Number(new URL(gantry.origin).port);
  const web = caller(port, token);
  const engine = caller(Number(new URL(gantry.engineUrl).port), token);
  const engineStream = (path: string, signal: AbortSignal) =>
    fetch(`${gantry.engineUrl}${path}`, { headers: { authorization: `Bearer ${token}` }, signal });
  const pairing = async () => (await engine('GET', '/api/v1/pairing')).json as never as LocalPairing;
  const agree = () => agreeToAll(`${gantry.engineUrl}/api/factory`, { authorization: `Bearer ${token}` });
  await agree();
  return { agree, gantry, home, port, places, web, engine, engineStream, pairing, check: () => gantry.checkPairing() };
}

export const signIn = async (people: People, name = 'ada'): Promise<Person> =>
  personWith(people, await signInAs(name, people.origin));

export async function computersOf(person: Person): Promise<Computer[]> {
  return ((await person.call('GET', '/api/v1/computers')).json as never as { computers: Computer[] }).computers;
}

/** The code that the desk shows is approved by the person; resolves once the link stands at both of its ends. */
export async function pairUp(installation: Installation, people: People, person: Person): Promise<LocalPairing> {
  const asked = await installation.web('POST', '/api/v1/pairing', { body: { cloudUrl: people.origin } });
  const { userCode } = asked.json as never as LocalPairing;
  await person.call('POST', `/api/v1/pairings/${userCode}/approve`);
  await vi.waitUntil(async () => (await installation.pairing()).link?.linked === true, { timeout: 20_000 });
  const pairing = await installation.pairing();
  const there = async () => (await computersOf(person)).find(({ id }) => id === pairing.computerId);
  await vi.waitUntil(async () => (await there())?.state === 'linked', { timeout: 20_000 });
  return pairing;
}
