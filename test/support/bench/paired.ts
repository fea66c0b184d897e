/** A multi-user cloud started by its command, and a computer paired with it: for figures that kill either. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { OidcProvider } from '../oidc-provider.ts';
import type { Person } from '../signed-in.ts';
import { startVictim, type Victim } from '../victim.ts';
import { gantryCommand, type Product, type ScratchHome } from './product.ts';

/** `origin`: what everybody calls it, and where it listens unless `listen` says otherwise. */
export async function startCloud(
  place: ScratchHome,
  provider: OidcProvider,
  origin: string,
  listen = new URL(origin).host,
): Promise<Victim> {
  const secret = join(place.home, '..', 'client-secret');
  writeFileSync(secret, provider.clientSecret, { mode: 0o600 });
  const settings = {
    'base-url': origin,
    listen,
    'oidc-issuer': provider.issuer,
    'oidc-client-id': provider.clientId,
    'oidc-client-secret-file': secret,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const victim = startVictim({ command: [...gantryCommand, 'cloud', '--json', ...flags], env: place.env });
  await victim.until((line) => line.startsWith('{'));
  return victim;
}

/** The program itself: the command that starts it may stand before it. */
export function pidOf(victim: Victim): number {
  return (JSON.parse(victim.lines.find((line) => line.startsWith('{'))!) as { pid: number }).pid;
}

interface Pairing {
  readonly userCode?: string;
  readonly link?: { readonly linked: boolean };
}

export async function pair(runtime: Product, person: Person, origin: string): Promise<void> {
  const { userCode } = await runtime.web.call<Pairing>('POST', '/api/v1/pairing', { cloudUrl: origin });
  await person('POST', `/api/v1/pairings/${userCode}/approve`);
  await linked(runtime);
}

export async function linked(runtime: Product): Promise<void> {
  const end = performance.now() + 60_000;
  while (performance.now() < end) {
    const { link } = await runtime.engine.call<Pairing>('GET', '/api/v1/pairing');
    if (link?.linked === true) return;
    await delay(50);
  }
  throw new Error('The computer was not linked within a minute.');
}

/** The end of a log, for a failure that needs an explanation. */
export function logEnd(home: string, name: string): string {
  try {
    return readFileSync(join(home, 'logs', `${name}.log`), 'utf8').slice(-2000);
  } catch {
    return '';
  }
}
