/**
 * Finds what is installed on this computer: program on PATH, version, whether it is signed in, whether our rules know the version. Reads files and
 * at most asks a program for its version; signs in to nothing. Must not know adapters beyond their rulesets.
 */
import { access, readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { HarnessName } from '../../contracts/factory/agent.ts';
import type { Surroundings } from './adapter.ts';
import { type CatalogueEntry, catalogue } from './catalogue.ts';
import { personEnvironment } from './environment.ts';
import { findProgram } from './find-program.ts';
import type { FoundHarness } from './harness.ts';
import type { Ruleset } from './judge/rules.ts';

/** A program that does not name its version within this time is listed without one. */
const versionMs = 5000;

export async function findHarnesses(
  around: Surroundings,
  rulesets: Readonly<Partial<Record<HarnessName, Ruleset>>>,
): Promise<FoundHarness[]> {
  return Promise.all(catalogue.map((entry) => findOne(entry, around, rulesets[entry.name])));
}

async function findOne(
  entry: CatalogueEntry,
  around: Surroundings,
  ruleset: Ruleset | undefined,
): Promise<FoundHarness> {
  if (entry.program === null) {
    return {
      name: entry.name,
      installed: true,
      version: null,
      signedIn: null,
      covered: null,
      detail: 'Any program: set `command:` in team.yaml. Gantry cannot confirm that messages to it arrive.',
      fix: null,
    };
  }
  const file = await findProgram(entry.program, around.env.PATH);
  if (file === null) {
    return {
      name: entry.name,
      installed: false,
      version: null,
      signedIn: null,
      covered: null,
      detail: `${entry.program} was not found on PATH.`,
      fix: entry.install,
    };
  }
  const version = await versionOf(entry, file, around);
  const covered = ruleset?.covers && version ? isCovered(version, ruleset.covers) : null;
  const signedIn = await isSignedIn(entry, around);
  const parts = [`${file}${version ? `, version ${version}` : ', version unknown'}.`];
  if (covered === false && ruleset?.covers) {
    const { from, below } = ruleset.covers;
    parts.push(`Tested only with versions from ${from} to below ${below}: its state may be unclear.`);
  }
  if (signedIn === false) parts.push('Not signed in.');
  return {
    name: entry.name,
    installed: true,
    version,
    signedIn,
    covered,
    detail: parts.join(' '),
    fix: signedIn === false ? entry.signIn : covered === false ? installCovered(entry, ruleset) : null,
  };
}

/** Gets a version that the rules know. */
function installCovered(entry: CatalogueEntry, ruleset: Ruleset | undefined): string | null {
  return entry.package === null || !ruleset?.covers ? null : `npm install -g ${entry.package}@${ruleset.covers.from}`;
}

/** The version in the npm package around the program's real file (starts nothing), else what `--version` prints. */
async function versionOf(entry: CatalogueEntry, file: string, around: Surroundings): Promise<string | null> {
  if (entry.package !== null) {
    let folder = dirname(await realpath(file));
    for (let up = 0; up < 6; up += 1, folder = dirname(folder)) {
      const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => null);
      if (text === null) continue;
      const found = readPackage(text);
      if (found?.name === entry.package) return found.version;
    }
  }
  const ran = await around.processes
    .run([file, '--version'], { env: personEnvironment(around.env), input: null, timeoutMs: versionMs })
    .catch(() => null);
  return /\d+\.\d+(?:\.\d+)?/.exec(ran?.stdout ?? '')?.[0] ?? null;
}

function readPackage(text: string): { name: string; version: string } | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('name' in value) || !('version' in value)) return null;
    return { name: String(value.name), version: String(value.version) };
  } catch {
    return null;
  }
}

async function isSignedIn(entry: CatalogueEntry, { env, home }: Surroundings): Promise<boolean | null> {
  if (entry.signIn === null) return null;
  if (entry.keys.some((key) => (env[key] ?? '') !== '')) return true;
  for (const file of entry.files) {
    if (
      await access(join(home, file)).then(
        () => true,
        () => false,
      )
    )
      return true;
  }
  return entry.hidden ? null : false;
}

/** `from` ≤ version < `below`, compared number by number. */
export function isCovered(version: string, { from, below }: { from: string; below: string }): boolean {
  return compare(version, from) >= 0 && compare(version, below) < 0;
}

function compare(a: string, b: string): number {
  const left = a.split('.').map(Number);
  const right = b.split('.').map(Number);
  for (let i = 0; i < Math.max(left.length, right.length); i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
