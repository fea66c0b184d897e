/** `gantry doctor` and `gantry agents doctor`: what this computer has, what is missing, and the command that fixes it. */
import { existsSync, statfsSync } from 'node:fs';
import { homedir } from 'node:os';
import type { DoctorCheck as Check } from '../../contracts/common/doctor-check.ts';
import { dataFolder } from '../../host/places.ts';
import type { Action, Context, Input } from '../command.ts';
import { inspectService } from '../install/install.ts';
import { asAppError } from '../output.ts';
import { browserCommand, findElectron, hereAndNow } from '../start/surroundings.ts';
import { broken, brokenTable } from '../table.ts';
import { inCell } from '../words.ts';

const words: Record<Check['state'], string> = { ok: 'ok', missing: 'missing', warn: 'check', unknown: 'unknown' };
const leastFree = 1024 ** 3;

export const doctor: Action = async (context) => {
  const checks = await allChecks(context);
  context.output.result({ checks }, () => report(context, checks));
  return undefined;
};

/** Those of the command line, then those of what runs here. */
export async function allChecks(context: Context): Promise<Check[]> {
  const { isCloud, checks: engine } = await engineChecks(context);
  // A cloud of many people opens no window, and the service of an account would be another Gantry than it.
  const ofPerson = isCloud ? [] : [browserCheck(context), electronCheck(context), serviceCheck(context)];
  const own = [nodeCheck(), diskCheck(context), ...ofPerson];
  const named = new Set(own.map((check) => `${check.group}:${check.name}`));
  return [...own, ...engine.filter((check) => !named.has(`${check.group}:${check.name}`))];
}

export const agentsDoctor: Action = async (context) => {
  const { factory } = await context.connect();
  const checks = (await factory.doctor()).checks.filter((check) => check.group === 'harness');
  context.output.result({ checks }, () => report(context, checks));
  return undefined;
};

function report(context: Context, checks: readonly Check[]): string {
  const rows = checks.map((check) => [words[check.state], check.name, check.version ?? '-', check.detail]);
  const fixes = checks.filter((check) => check.state !== 'ok' && check.fix !== null);
  const { width } = context.output;
  const body = brokenTable(['state', 'what', 'version', 'detail'], rows, width);
  if (fixes.length === 0) return body;
  const lines = fixes.map(
    ({ name, fix }) => `  ${broken(inCell(`${name}: ${fix}`), Math.max(0, width - 4)).join('\n    ')}`,
  );
  return [body, '', 'To fix', ...lines].join('\n');
}

function nodeCheck(): Check {
  const enough = Number(process.versions.napi) >= 10;
  return {
    name: 'Node.js',
    group: 'program',
    state: enough ? 'ok' : 'missing',
    version: process.version,
    detail: enough ? 'runs Gantry' : `Node-API ${process.versions.napi}; 10 is needed`,
    fix: enough ? null : 'Install Node 24.',
  };
}

function browserCheck(context: Context): Check {
  const way = browserCommand(hereAndNow(context.env));
  const found = 'command' in way;
  return {
    name: 'Browser',
    group: 'program',
    state: found ? 'ok' : 'warn',
    version: null,
    detail: found ? `opened with ${way.command.join(' ')}` : `not opened: ${way.none}`,
    fix: found ? null : `Open the address that ${context.names.gantry} open prints.`,
  };
}

function electronCheck(context: Context): Check {
  const file = findElectron(context.env);
  return {
    name: 'Electron',
    group: 'program',
    state: file === null ? 'missing' : 'ok',
    version: null,
    detail: file ?? 'not installed; the browser shows the same',
    fix: file === null ? `${context.names.gantry} desktop install` : null,
  };
}

function serviceCheck(context: Context): Check {
  return { name: 'Service', group: 'program', version: null, ...inspectService(context) };
}

function diskCheck(context: Context): Check {
  const home = dataFolder(context.env);
  const folder = existsSync(home) ? home : homedir();
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  return {
    name: 'Disk',
    group: 'disk',
    state: free >= leastFree ? 'ok' : 'warn',
    version: null,
    detail: `${(free / 1024 ** 3).toFixed(1)} GiB free on the disk of ${home}`,
    fix: free >= leastFree ? null : 'Free at least 1 GiB: Gantry records terminals and messages there.',
  };
}

export const adminDoctor: Action = async (context, input) => {
  const checks = await cloudChecks(context, input);
  context.output.result({ checks }, () => report(context, checks));
  return undefined;
};

/** The runtime looks at harnesses, keys and ports, a cloud of many people at its database. Without one that is a finding, not an error. */
async function engineChecks(context: Context): Promise<{ readonly isCloud: boolean; readonly checks: Check[] }> {
  try {
    const { factory } = await context.connect();
    return { isCloud: false, checks: [...(await factory.doctor()).checks] };
  } catch (error) {
    const { code, fact, action } = asAppError(error);
    if (code === 'internal') throw error;
    if (await runsCloud(context)) return { isCloud: true, checks: await cloudChecks(context) };
    const checks: Check[] = [
      {
        name: 'Runtime',
        group: 'program',
        state: 'warn',
        version: null,
        detail: `${fact} Agent programs, keys and ports were not checked.`,
        fix: action,
      },
    ];
    return { isCloud: false, checks };
  }
}

/** Whether the Gantry of this data folder is a cloud of many people. Its module needs the database's, which may be what is missing. */
async function runsCloud({ env }: Context): Promise<boolean> {
  if (env.GANTRY_TOKEN_FILE !== undefined) return false;
  const { findRunning } = await import('../running.ts');
  return findRunning(env)?.listens !== undefined;
}

async function cloudChecks(context: Context, input: Input = { args: {}, options: {} }): Promise<Check[]> {
  const { connectAdmin } = await import('../admin/connect.ts');
  return (await connectAdmin(context, input).adminDoctor()).checks;
}
