/** Connects the set-up of worktrees to bots, runs and approvals, each through the small interface that it needs. */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Registry } from '../agents/registry.ts';
import type { WorktreeService } from '../agents/worktrees/index.ts';
import {
  createWorktreeSetup,
  type Setup,
  type SetupDeps,
  type SetupRuns,
  setupTemplate,
  type WorktreeSetup,
} from '../agents/worktrees/setup.ts';
import { engineActor } from '../base/actor.ts';
import type { Workflows } from './index.ts';
import { readTemplate } from './template/read.ts';

/** Installing takes minutes; anything longer hangs. */
const timeoutMinutes = 60;

export function composeSetup(
  deps: Omit<SetupDeps, 'ask' | 'find'> & {
    readonly approvals: { readonly ask: SetupDeps['ask'] };
    readonly registry: Pick<Registry, 'find'>;
    readonly worktrees: Pick<WorktreeService, 'placeOf'>;
    readonly secrets: { open(env: Readonly<Record<string, string>>): Promise<Record<string, string>> };
  },
): WorktreeSetup {
  return createWorktreeSetup({
    ...deps,
    ask: deps.approvals.ask,
    async find(address) {
      const member = deps.registry.find(address);
      // A team file that waits for its person's yes gives no bot its set-up: its content does not count.
      const setup = member?.definition?.setup ?? null;
      const place = deps.worktrees.placeOf(address);
      if (member === null || setup === null || place === null || !member.placement.isLocal) return null;
      const env = { ...member.definition?.env, ...(await deps.secrets.open(member.definition?.env ?? {})) };
      const [root, top] = [await realpath(place.root), await realpath(place.top)];
      const [folder, cwd] = [join(root, place.inside), join(top, place.inside)];
      return { id: member.id, address: member.address, setup, cwd, folder, root, env };
    },
  });
}

export function setupRuns({ runs, pages }: Pick<Workflows, 'runs' | 'pages'>): SetupRuns {
  return {
    async start(address, setup) {
      const read = readTemplate(JSON.stringify(templateOf(address, setup)), setupTemplate, 'json');
      if (!read.ok) throw new Error(`The set-up of ${address} makes no run: ${read.problems[0]?.message}`);
      const params = { bot: address };
      const request = {
        template: setupTemplate,
        projectId: 'worktrees',
      };
      const started = await runs.start({ ...request, params }, engineActor, read.template);
      if (!('dagId' in started)) throw new Error('A run was answered as a dry run.');
      return started.dagId;
    },
    async outcome(dagId) {
      const { status, nodes } = await pages.flow(dagId);
      return status === 'done' ? null : (nodes[0]?.detail ?? `the run is ${status}.`);
    },
  };
}

function templateOf(address: string, { command, copy }: Setup) {
  // The command is in the team file: here it is shown. A set-up has no references.
  const shown = (command ?? `copy ${copy.join(', ')}`).replaceAll('{{', '{ {');
  return {
    name: `Set up the worktree of ${address}`,
    params: [{ name: 'bot' }],
    steps: [
      { id: 'setup', title: `Set up the worktree of ${address}`, command: shown, timeout_minutes: timeoutMinutes },
    ],
  };
}
