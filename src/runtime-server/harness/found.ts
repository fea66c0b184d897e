/**
 * Finds what is installed on this computer: program on PATH, version, whether it is signed in, whether our rules know the version. Reads files and
 * at most asks a program for its version; signs in to nothing. Must not know adapters beyond their rulesets.
 */
import { access, readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type HarnessName, harnesses, runsInPane } from '../../contracts/factory/agent.ts';
import type { Surroundings } from './adapter.ts';
import { personEnvironment } from './environment.ts';
import { findProgram } from './find-program.ts';
import type { FoundHarness } from './harness.ts';
import type { Ruleset } from './judge/rules.ts';
import type { Program } from './program.ts';
import { programs } from './programs.ts';

/** A program that does not name its version within this time is listed without one. */
const versionMs = 5000;

export async function findHarnesses(
  around: Surroundings,
  rulesetOf: (name: HarnessName) => Ruleset,
): Promise<FoundHarness[]> {
  return Promise.all(harnesses.map((name) => findOne(name, programs[name], around, rulesetOf(name))));
}

async function findOne(
  name: HarnessName,
  program: Program,
  around: Surroundings,
  ruleset: Ruleset,
): Promise<FoundHarness> {
  if (program.command === null) {
    return {
      name,
      installed: true,
      version: null,
      signedIn: null,
      covered: null,
      detail: runsInPane(name)
        ? 'Any program: set `command:` in team.yaml. Gantry cannot confirm that messages to it arrive.'
        : 'Any agent that speaks ACP: set `command:` in team.yaml.',
      fix: null,
    };
  }
  const file = await findProgram(program.command, around.env.PATH);
  if (file === null) {
    return {
      name,
      installed: false,
      version: null,
      signedIn: null,
      covered: null,
      detail: `${program.command} was not found on PATH.`,
      fix: program.install,
    };
  }
  const version = await versionOf(program, file, around);
  const covered = ruleset.covers && version ? isCovered(version, ruleset.covers) : null;
  const signedIn = await isSignedIn(program, around);
  const parts = [`${file}${version ? `, version ${version}` : ', version unknown'}.`];
  if (covered === false && ruleset.covers) {
    const { from, below } = ruleset.covers;
    parts.push(`Tested only with versions from ${from} to below ${below}: its state may be unclear.`);
  }
  if (signedIn === false) parts.push('Not signed in.');
  return {
    name,
    installed: true,
    version,
    signedIn,
    covered,
    detail: parts.join(' '),
    fix:
      signedIn === false
        ? (program.signIn?.command ?? null)
        : covered === false
          ? installCovered(program, ruleset)
          : null,
  };
}

/** Gets a version that the rules know. */
function installCovered(program: Program, ruleset: Ruleset): string | null {
  return program.package === null || !ruleset.covers
    ? null
    : `npm install -g ${program.package}@${ruleset.covers.from}`;
}

/** The version in the npm package around the program's real file (starts nothing), else what `--version` prints. */
async function versionOf(program: Program, file: string, around: Surroundings): Promise<string | null> {
  if (program.package !== null) {
    let folder = dirname(await realpath(file));
    for (let up = 0; up < 6; up += 1, folder = dirname(folder)) {
      const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => null);
      if (text === null) continue;
      const found = readPackage(text);
      if (found?.name === program.package) return found.version;
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

async function isSignedIn({ signIn }: Program, { env, home }: Surroundings): Promise<boolean | null> {
  if (signIn === null) return null;
  if (signIn.keys.some((key) => (env[key] ?? '') !== '')) return true;
  for (const file of signIn.files) {
    if (
      await access(join(home, file)).then(
        () => true,
        () => false,
      )
    )
      return true;
  }
  return signIn.hidden ? null : false;
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
