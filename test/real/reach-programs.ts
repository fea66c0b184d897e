/**
 * The programs of `reach.ts`, each in its place: what stands around Gantry, the cloud, and two computers. What they leave is in
 * the folder for temporary files that the scenes were given.
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gantryCommand, type ScratchHome } from '../support/bench/product.ts';
import { commandIn, type Place } from '../support/namespaces.ts';
import { startVictim, type Victim } from '../support/victim.ts';
import { ports, urls } from './reach-places.ts';

const part = new URL('./reach-part.ts', import.meta.url).pathname;

export interface Around {
  /** What the push service was asked, a line each. */
  readonly pushes: () => readonly string[];
  /** The model's address, at the other computer. */
  readonly modelUrl: string;
}

async function startPart(place: Place, name: string, address: string): Promise<{ victim: Victim; line: string }> {
  const victim = startVictim({ command: commandIn(place, process.execPath, part, name, address) });
  return { victim, line: await victim.until((line) => line.includes('"ready":true')) };
}

/** Everything that is not Gantry. */
export async function startAround(cloud: Place, here: Place, there: Place): Promise<Around> {
  for (const place of [cloud, here, there]) await startPart(place, 'forward', cloud.address);
  await startPart(cloud, 'provider', cloud.address);
  const push = await startPart(cloud, 'push', cloud.address);
  const model = await startPart(there, 'model', there.address);
  return {
    pushes: () => push.victim.lines.filter((line) => !line.includes('"ready"')),
    modelUrl: (JSON.parse(model.line) as { url: string }).url,
  };
}

/** `gantry cloud`. */
export async function startCloud(place: Place): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-reach-'));
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'a secret between the two\n', { mode: 0o600 });
  const victim = startVictim({
    command: commandIn(place, ...gantryCommand, 'cloud', '--json'),
    env: {
      HOME: folder,
      GANTRY_HOME: join(folder, 'home'),
      GANTRY_BASE_URL: urls.cloud,
      GANTRY_LISTEN: `${place.address}:${ports.cloud}`,
      GANTRY_OIDC_ISSUER: urls.provider,
      GANTRY_OIDC_CLIENT_ID: 'gantry',
      GANTRY_OIDC_CLIENT_SECRET_FILE: secret,
      // The push service of this network: private, and over http.
      GANTRY_EGRESS_ALLOW: `localhost:${ports.push}`,
    },
  });
  await victim.until((line) => line.startsWith('{'));
}

export interface ReachComputer {
  readonly home: ScratchHome;
  /** What its start printed. */
  readonly said: unknown;
  /** Runs a verb of the command line there and answers what it printed. */
  gantry<T>(...args: readonly string[]): Promise<T>;
}

/** Starts `gantry <verb>` of that computer, as its person does, and waits until it says where it is. */
export async function startComputer(
  place: Place,
  home: ScratchHome,
  verb: readonly [string, ...string[]],
  more: Readonly<Record<string, string>> = {},
): Promise<ReachComputer> {
  const run = (...args: readonly string[]) =>
    startVictim({
      command: commandIn(place, ...gantryCommand, ...args, '--json'),
      cwd: home.workspace,
      env: { ...home.env, ...more },
    });
  const said = await run(...verb, '--workspace', home.workspace).until((line) => line.startsWith('{'));
  return {
    home,
    said: JSON.parse(said),
    async gantry<T>(...args: readonly string[]) {
      const asked = run(...args);
      const { code } = await asked.ended;
      const text = asked.lines.join('\n');
      if (code !== 0) throw new Error(`gantry ${args.join(' ')} ended with ${code}: ${text}`);
      return JSON.parse(text) as T;
    },
  };
}
