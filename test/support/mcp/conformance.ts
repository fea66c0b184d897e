/**
 * The protocol's own suites over a server of ours: which scenarios count for a version, what each found, and which a server that
 * answers plain JSON cannot meet (test/data/mcp-conformance). Must not know what the server is.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..', '..', '..');

/** `older` is the suite before the prerelease: its scenarios, all of which count, in the versions before 2026-07-28. */
export const suites = ['2026-07-28', '2025-11-25', 'older'] as const;
export type Suite = (typeof suites)[number];

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
  readonly details?: { readonly violations?: readonly unknown[] };
}

export interface ScenarioResult {
  readonly suite: Suite;
  readonly scenario: string;
  readonly scored: boolean;
  readonly passed: boolean;
  /** Messages of ours that the version's schema does not have. */
  readonly violations: number;
  readonly faults: readonly string[];
}

function packageFolder(name: string): string {
  return join(root, 'node_modules', name);
}

function suiteOf(suite: Suite): { entry: string; args: readonly string[]; scored: ReadonlySet<string> | null } {
  if (suite === 'older') {
    return {
      entry: join(packageFolder('mcp-conformance-legacy'), 'dist', 'index.js'),
      args: ['--suite', 'all'],
      scored: null,
    };
  }
  const folder = packageFolder('@modelcontextprotocol/conformance');
  const required = parse(readFileSync(join(folder, 'requirements', `${suite}.yaml`), 'utf8')) as { server: string[] };
  return { entry: join(folder, 'dist', 'index.js'), args: ['--requirements', suite], scored: new Set(required.server) };
}

/** Runs one suite over the server at `url`. */
export async function runSuite(suite: Suite, url: string): Promise<ScenarioResult[]> {
  const { entry, args, scored } = suiteOf(suite);
  const results = await runScenarios(entry, url, args);
  const found = [...results].map(([scenario, checks]) =>
    judged(suite, scenario, scored === null || scored.has(scenario), checks),
  );
  const missing = [...(scored ?? [])].filter((scenario) => !results.has(scenario));
  if (missing.length > 0) throw new Error(`The suite did not run ${missing.join(', ')}.`);
  return found;
}

/** One scenario by name, also one that does not count. */
export async function runScenario(scenario: string, version: string, url: string): Promise<ScenarioResult> {
  const { entry } = suiteOf('2026-07-28');
  const results = await runScenarios(entry, url, ['--scenario', scenario, '--spec-version', version]);
  const checks = results.get(scenario);
  if (checks === undefined) throw new Error(`The suite did not run ${scenario}.`);
  return judged('2026-07-28', scenario, false, checks);
}

function judged(suite: Suite, scenario: string, scored: boolean, checks: readonly Check[]): ScenarioResult {
  const failed = checks.filter(({ status }) => status === 'FAILURE');
  const wire = failed.filter(({ id }) => id === 'wire-schema-valid');
  return {
    suite,
    scenario,
    scored,
    passed: failed.length === 0,
    violations: wire.reduce((sum, { details }) => sum + (details?.violations?.length ?? 1), 0),
    faults: failed.map(({ id, errorMessage }) => `${id}: ${errorMessage ?? ''}`),
  };
}

/** Each scenario's checks are in a separate folder, named `server-<scenario>-<time>`. */
async function runScenarios(entry: string, url: string, args: readonly string[]): Promise<Map<string, Check[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-conformance-'));
  try {
    const said = await run(entry, ['server', '--url', url, '-o', folder, ...args]);
    const results = new Map<string, Check[]>();
    for (const name of readdirSync(folder)) {
      const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1];
      if (scenario === undefined) continue;
      results.set(scenario, JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')) as Check[]);
    }
    if (results.size === 0) throw new Error(`The suite ran nothing: ${said.slice(-1000)}`);
    return results;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Its exit code says whether all passed, which is judged here. */
function run(entry: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [entry, ...args],
      { timeout: 120_000, maxBuffer: 64 * 1024 * 1024, cwd: dirname(entry) },
      (error, stdout, stderr) => {
        if (error !== null && (error.killed || typeof error.code === 'string')) reject(error);
        else resolve(`${stdout}${stderr}`);
      },
    );
  });
}

export type OutOfReach = Readonly<Record<Suite, Readonly<Record<string, string>>>>;

/** By suite, the scenarios that count and that no server of plain JSON without state can meet, each with its reason. */
export function readOutOfReach(): OutOfReach {
  const path = join(root, 'test', 'data', 'mcp-conformance', 'out-of-reach.json');
  return JSON.parse(readFileSync(path, 'utf8')) as OutOfReach;
}

/** Versions of the suites that ran. */
export function suiteVersions(): string {
  return ['@modelcontextprotocol/conformance', 'mcp-conformance-legacy']
    .map(
      (name) =>
        (JSON.parse(readFileSync(join(packageFolder(name), 'package.json'), 'utf8')) as { version: string }).version,
    )
    .join(', ');
}
