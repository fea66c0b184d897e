/** What `gantry doctor` reports about the runtime's parts. Must not start anything. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DoctorCheck } from '../contracts/common/doctor-check.ts';
import { findChromium } from '../kit/process/find-chromium.ts';
import type { BotSandboxes } from '../runtime-server/agents/bot-sandboxes.ts';
import type { Models } from '../runtime-server/models/index.ts';
import type { PaneEngine } from '../runtime-server/panes/pane-engine.ts';
import type { Policy } from '../runtime-server/policy/index.ts';
import type { ShellSandbox } from '../runtime-server/tool-server/index.ts';
import type { PeerServer } from './peer-server.ts';

/** What the parts of a runtime say about themselves. */
export async function runtimeChecks(parts: {
  readonly panes: Pick<PaneEngine, 'engine' | 'host' | 'list'>;
  readonly store: { trouble(): string | null };
  readonly rows: { checks(): Promise<readonly DoctorCheck[]> };
  readonly policy: Policy;
  readonly sandbox: ShellSandbox;
  readonly trust: { waiting(): readonly string[] };
  /** Notes about commands that were cut short. */
  readonly cutShort: readonly string[];
  readonly env: Parameters<typeof handsChecks>[0];
  readonly models: Pick<Models, 'findForComputer'>;
  readonly places: { readonly runtimeDb: string; readonly run: string };
}): Promise<DoctorCheck[]> {
  return [
    ...paneHostChecks(parts.panes),
    databaseCheck(parts.places.runtimeDb, parts.store.trouble()),
    ...(await parts.rows.checks()),
    policyCheck(parts.policy),
    await sandboxCheck(parts.sandbox),
    trustCheck(parts.trust.waiting()),
    ...evidenceCheck(join(parts.places.run, 'bots')),
    ...cutShortChecks(parts.cutShort),
    ...handsChecks(parts.env),
    computerModelCheck(parts.models),
  ];
}

/** Which pane host serves, and whether what is printed is kept. */
function paneHostChecks(panes: Pick<PaneEngine, 'engine' | 'host' | 'list'>): DoctorCheck[] {
  const host = panes.host();
  const common = { name: 'Pane host', group: 'program', version: host?.build || null } as const;
  const { error } = panes.engine();
  if (host === null) {
    return [
      {
        ...common,
        state: 'missing',
        detail: error ?? 'The pane host cannot be reached.',
        fix: 'Read its log in logs/pane-host.log',
      },
    ];
  }
  const live = panes.list().filter(({ alive }) => alive);
  const detail = `Process ${host.pid} since ${host.startedAt}, ${live.length} live panes.`;
  const faulty = live.find(({ fault }) => fault);
  if (faulty === undefined) return [{ ...common, state: 'ok', detail, fix: null }];
  const lost = `The output of pane ${faulty.id} is not saved: ${faulty.fault}. Its program keeps running.`;
  return [
    {
      ...common,
      state: 'warn',
      detail: `${detail} ${lost}`,
      fix: 'Free some space; later output is saved',
    },
  ];
}

/** Where other computers come in, while there are any. */
export function peerPortCheck(peers: PeerServer | null): DoctorCheck[] {
  if (peers === null || (peers.port === null && peers.problem === null)) return [];
  const common = { name: 'Peer port', group: 'port', version: null } as const;
  if (peers.problem === null) {
    return [{ ...common, state: 'ok', detail: `Listens on http://127.0.0.1:${peers.port}.`, fix: null }];
  }
  const detail = `${peers.problem} Other computers can reach this one only through its link.`;
  return [
    { ...common, state: 'warn', detail, fix: 'Free the port, or choose another: gantry start --peer-port <port>' },
  ];
}

/** Whether what happens here is kept. */
export function databaseCheck(file: string, trouble: string | null): DoctorCheck {
  const common = { name: 'Database', group: 'disk', version: null } as const;
  if (trouble === null) return { ...common, state: 'ok', detail: `${file} can be written.`, fix: null };
  const detail = `${trouble} Until it can be written, Gantry accepts no new work. What it acknowledged is saved.`;
  return {
    ...common,
    state: 'warn',
    detail,
    fix: 'Free some space or repair the disk; Gantry then continues automatically',
  };
}

/** Reports that were set aside, if there are any: they changed nothing, and a person may want to know what they said. `bots`: a folder for each bot. */
export function evidenceCheck(bots: string): DoctorCheck[] {
  const found = namesIn(bots).flatMap((bot) => {
    const reports = namesIn(join(bots, bot, 'evidence')).filter((name) => name.includes('.json')).length;
    return reports === 0 ? [] : [{ bot, reports }];
  });
  const reports = found.reduce((sum, one) => sum + one.reports, 0);
  const [first] = found;
  if (first === undefined) return [];
  const folder = join(bots, found.length === 1 ? first.bot : '*', 'evidence');
  return [
    {
      name: 'Reports of bots',
      group: 'workspace',
      state: 'warn',
      version: null,
      detail: `${reports} ${reports === 1 ? 'report was' : 'reports were'} set aside: damaged, not signed by their bot, or about a step that was given to somebody else.`,
      fix: `Look at the files in ${folder}, then delete them`,
    },
  ];
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The first thing that is wrong with the policy's file; the rest shows once that is mended. */
function policyCheck(policy: Policy): DoctorCheck {
  const [problem] = policy.problems();
  return {
    name: 'Policy',
    group: 'workspace',
    state: problem === undefined ? 'ok' : 'warn',
    version: null,
    detail:
      problem === undefined
        ? 'Its rules and the defaults decide what bots may do without asking.'
        : `.gantry/policy.yaml line ${problem.line}: ${problem.message} Until it is fixed, every action needs approval.`,
    fix: problem === undefined ? null : `Fix line ${problem.line} of .gantry/policy.yaml`,
  };
}

/** Whether commands of tools are confined. */
export async function sandboxCheck(
  sandbox: Pick<ShellSandbox, 'about' | 'missing'>,
  platform: NodeJS.Platform = process.platform,
): Promise<DoctorCheck> {
  const missing = await sandbox.missing();
  const detail = await sandbox.about();
  const fix =
    missing === null || platform !== 'linux'
      ? null
      : missing.includes('GANTRY_TOOL_SANDBOX')
        ? 'Start Gantry without GANTRY_TOOL_SANDBOX=off'
        : missing.includes('not installed')
          ? 'Install bubblewrap: sudo apt install bubblewrap'
          : 'Allow unprivileged user namespaces, then restart Gantry';
  return { name: 'Sandbox', group: 'program', state: missing === null ? 'ok' : 'warn', version: null, detail, fix };
}

/** Which sandboxes bots in terminals can have here. Tries each. */
export async function botSandboxCheck(
  sandboxes: Pick<BotSandboxes, 'missing'>,
  platform: NodeJS.Platform = process.platform,
): Promise<DoctorCheck> {
  const name = 'Sandboxes of bots';
  const group = 'program';
  for (const mode of ['files', 'closed'] as const) {
    const missing = await sandboxes.missing(mode);
    if (missing === null) continue;
    const [, part = 'bubblewrap'] = /which is part of ([a-z0-9-]+)/.exec(missing) ?? [];
    const fix = missing.includes('is not installed')
      ? `Install ${part}: sudo apt install ${part}`
      : missing.startsWith('it cannot be prepared')
        ? 'Make sure that Gantry’s folder can be written and its disk has space'
        : 'Allow unprivileged user and network namespaces, then restart Gantry';
    const detail = `\`sandbox: ${mode}\` cannot be had: ${missing}. A bot that wants it is not started.`;
    return { name, group, state: 'warn', version: null, detail, fix: platform === 'linux' ? fix : null };
  }
  const detail = 'Bots in terminals can have `sandbox: files` and `sandbox: closed`.';
  return { name, group, state: 'ok', version: null, detail, fix: null };
}

/** What was found at the start after commands that were cut short; nothing where none was. */
function cutShortChecks(notes: readonly string[]): DoctorCheck[] {
  if (notes.length === 0) return [];
  return [
    {
      name: 'Commands cut short',
      group: 'workspace',
      state: 'warn',
      version: null,
      detail: notes.join(' '),
      fix: 'Check the files named above, and delete those you do not need.',
    },
  ];
}

/** What waits for the person's yes, and counts for nothing until then. */
export function trustCheck(waiting: readonly string[]): DoctorCheck {
  const none = waiting.length === 0;
  const named = waiting.slice(0, 10).join(', ') + (waiting.length > 10 ? ` and ${waiting.length - 10} more` : '');
  return {
    name: 'Trust',
    group: 'workspace',
    state: none ? 'ok' : 'warn',
    version: null,
    detail: none
      ? 'You agreed to everything that this workspace may run.'
      : `New or changed since you last agreed; no effect until you agree: ${named}.`,
    fix: none ? null : 'gantry trust',
  };
}

/** Which model runs use that name none. */
export function computerModelCheck(models: Pick<Models, 'findForComputer'>): DoctorCheck {
  const found = models.findForComputer(null);
  const check = { name: 'Model for computer use', group: 'model' as const, version: null };
  if (!('target' in found)) {
    const { fact, action } = found.problem;
    return { ...check, state: 'unknown', detail: `${fact} Only direct runs (lists of actions) work.`, fix: action };
  }
  const form = found.form === 'native' ? 'its own toolset' : 'plain functions';
  return { ...check, state: 'ok', detail: `${found.name} at ${found.target.where}, with ${form}.`, fix: null };
}

/** What a browser and the screen can be used with. */
export function handsChecks(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): DoctorCheck[] {
  const common = { group: 'program', version: null } as const;
  const found = findChromium(env);
  const browser: DoctorCheck =
    'path' in found
      ? { ...common, name: 'Browser', state: 'ok', detail: `Runs use ${found.path}.`, fix: null }
      : {
          ...common,
          name: 'Browser',
          state: 'missing',
          detail: `${found.missing} Runs and toolset calls that need a browser answer display_unavailable.`,
          fix: 'Install Chromium, or set CHROMIUM to the browser to use and restart Gantry',
        };
  const linux = platform !== 'darwin' && platform !== 'win32';
  const display = linux && env.DISPLAY ? env.DISPLAY : null;
  return [
    browser,
    {
      ...common,
      name: 'Display',
      state: display === null ? 'missing' : 'ok',
      detail:
        display !== null
          ? `The computer toolset uses the X display ${display}.`
          : linux
            ? 'DISPLAY was not set when Gantry started: the computer toolset answers display_unavailable. The browser works without it.'
            : 'Gantry cannot control the desktop of this system yet, only the browser.',
      fix: display === null && linux ? 'Start Gantry in an X session, or set DISPLAY' : null,
    },
  ];
}
