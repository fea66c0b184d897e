/**
 * Checks this computer: programs, harnesses, model keys (only their names), disk, workspace. Repairs nothing. Must not read a secret's value or know
 * HTTP.
 */
import { statfs } from 'node:fs/promises';
import type { DoctorCheck } from '../../../contracts/common/doctor-check.ts';
import { plainEnvironment, runProcess } from '../../../kit/process/run-process.ts';
import type { Harnesses } from '../../harness/harness.ts';
import type { Models } from '../../models/index.ts';
import { isWritable } from './prepare-workspace.ts';

const versionDeadlineMs = 5000;
/** Below this much free space, journals and ledger may soon not fit. Bytes. */
const littleSpace = 1024 ** 3;

const browsers = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'microsoft-edge', 'firefox'];

type Variables = Readonly<Record<string, string | undefined>>;

interface DoctorDeps {
  readonly harnesses: Pick<Harnesses, 'found'>;
  readonly env: Variables;
  readonly models: Pick<Models, 'endpoints'>;
  readonly home: string;
  readonly workspace: string;
  readonly hostChecks: () => Promise<readonly DoctorCheck[]> | readonly DoctorCheck[];
}

export async function examine(deps: DoctorDeps): Promise<DoctorCheck[]> {
  const [programs, harnesses, disk, host] = await Promise.all([
    Promise.all([checkNode(), checkGit(deps.env), checkBrowser(deps.env)]),
    checkHarnesses(deps.harnesses),
    checkDisk(deps.home),
    deps.hostChecks(),
  ]);
  return [...programs, ...harnesses, ...checkKeys(deps.models), disk, checkWorkspace(deps.workspace), ...host];
}

function checkNode(): DoctorCheck {
  const version = process.versions.node;
  const old = Number(process.versions.napi) < 10;
  return {
    name: 'Node.js',
    group: 'program',
    state: old ? 'warn' : 'ok',
    version,
    detail: old ? `This Node has Node-API ${process.versions.napi}; 10 is needed.` : process.execPath,
    fix: old ? 'Install Node 24.' : null,
  };
}

async function versionOf(env: Variables, program: string): Promise<string | null> {
  try {
    const { exitCode, stdout } = await runProcess({
      command: [program, '--version'],
      env: plainEnvironment(env),
      deadlineMs: versionDeadlineMs,
    });
    return exitCode === 0 ? (/\d+(\.\d+)+/.exec(stdout)?.[0] ?? stdout.trim().slice(0, 40)) : null;
  } catch {
    return null;
  }
}

async function checkGit(env: Variables): Promise<DoctorCheck> {
  const version = await versionOf(env, 'git');
  const found = version !== null;
  return {
    name: 'git',
    group: 'program',
    state: found ? 'ok' : 'warn',
    version,
    detail: found ? 'Found on PATH.' : 'Not found on PATH; only bots with worktree: true need it.',
    fix: found ? null : 'Install git with your package manager.',
  };
}

async function checkBrowser(env: Variables): Promise<DoctorCheck> {
  for (const program of browsers) {
    const version = await versionOf(env, program);
    if (version === null) continue;
    return { name: 'Browser', group: 'program', state: 'ok', version, detail: `${program} on PATH.`, fix: null };
  }
  const detail = `None of ${browsers.join(', ')} is on PATH. The printed address works in any browser.`;
  return {
    name: 'Browser',
    group: 'program',
    state: 'unknown',
    version: null,
    detail,
    fix: 'Open the address in a browser.',
  };
}

async function checkHarnesses(harnesses: Pick<Harnesses, 'found'>): Promise<DoctorCheck[]> {
  return (await harnesses.found()).map((each) => {
    const doubtful = each.signedIn === false || each.covered === false;
    return {
      name: each.name,
      group: 'harness' as const,
      state: !each.installed ? ('missing' as const) : doubtful ? ('warn' as const) : ('ok' as const),
      version: each.version,
      detail: each.detail,
      fix: each.fix,
    };
  });
}

/** Keys, only by name. A bot in a terminal may have its own sign-in; a hosted one needs the key. */
function checkKeys(models: DoctorDeps['models']): DoctorCheck[] {
  return models.endpoints().map(({ name, where, variables, set }) => {
    const ok = set.length > 0 || variables.length === 0;
    const key = variables.length === 0 ? 'No key needed.' : `${set.join(', ')} is set.`;
    const missing = `${variables.join(', ')}: not set. Hosted bots need it; a harness may have its own sign-in.`;
    return {
      name: `Models of ${name}`,
      group: 'model',
      state: ok ? 'ok' : 'unknown',
      version: null,
      detail: `${ok ? key : missing} Requests go to ${where}.`,
      fix: ok ? null : `Add a key in Settings > Set-up, or set ${variables[0]} before Gantry starts.`,
    };
  });
}

async function checkDisk(home: string): Promise<DoctorCheck> {
  const check = { name: 'Disk', group: 'disk' as const, version: null };
  try {
    const { bavail, bsize } = await statfs(home);
    const free = bavail * bsize;
    const little = free < littleSpace;
    const detail = `${(free / 1024 ** 3).toFixed(1)} GiB free at ${home}.`;
    return { ...check, state: little ? 'warn' : 'ok', detail, fix: little ? 'Free some space.' : null };
  } catch (error) {
    return { ...check, state: 'unknown', detail: `${home} cannot be checked: ${String(error)}`, fix: null };
  }
}

function checkWorkspace(workspace: string): DoctorCheck {
  const writable = isWritable(workspace);
  return {
    name: 'Workspace',
    group: 'workspace',
    state: writable ? 'ok' : 'missing',
    version: null,
    detail: writable ? workspace : `${workspace} cannot be written to.`,
    fix: writable ? null : 'Give yourself write permission there, or start with another --workspace.',
  };
}
