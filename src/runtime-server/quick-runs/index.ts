/**
 * New runs: a prompt becomes a team of its own, a worktree for each of its bots and a run with one step for each, in the campaign `quick`. A person
 * then merges, keeps or discards the work of each bot. Composes teams, worktrees and runs; must not know HTTP.
 */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { stringify } from 'yaml';
import { AppError } from '../../contracts/common/errors.ts';
import type { QuickChoices, QuickOutcome, QuickPlan, QuickRun } from '../../contracts/factory/quick-run-routes.ts';
import { writeWithin } from '../../kit/files/within.ts';
import type { BotTokens } from '../agents/bot-homes.ts';
import type { Registry } from '../agents/registry.ts';
import type { WorktreeService, Worktrees } from '../agents/worktrees/index.ts';
import type { WorktreeSetup } from '../agents/worktrees/setup.ts';
import type { Actor } from '../base/actor.ts';
import type { Base } from '../base/base.ts';
import { decodeCursor, defaultLimit, encodeCursor, idCursor, page } from '../base/paging.ts';
import type { Models } from '../models/index.ts';
import type { WorkspaceTrusts } from '../trust/index.ts';
import type { Workflows } from '../workflows/index.ts';
import { choicesOf } from './choices.ts';
import { conflict, createOutcomes, type QuickRunDiff } from './outcomes.ts';
import { createShownRuns, type StartedRun } from './shown.ts';
import { createStart, type StartDeps, type StartRequest } from './start.ts';
import { setSavedAs } from './store.ts';
import { fileOf } from './teams.ts';

export { quickRunMigrations } from './migrations.ts';
export { createQuickTeams } from './teams.ts';

export interface QuickRuns {
  choices(): Promise<QuickChoices>;
  list(paging: { limit?: number | undefined; cursor?: string | undefined }): Promise<{
    runs: QuickRun[];
    nextCursor: string | null;
  }>;
  has(id: string): boolean;
  get(id: string): Promise<QuickRun>;
  /** What a bot changed, also after its outcome. `not_found` when git no longer has its commits. */
  diff(id: string, bot: string): Promise<QuickRunDiff>;
  start(request: StartRequest, by: Actor): Promise<QuickRun | { dryRun: true; plan: QuickPlan }>;
  end(
    id: string,
    request: { bot: string; outcome: QuickOutcome; dryRun?: boolean | undefined },
    by: Actor,
  ): Promise<{ run: QuickRun; steps: string[] } | { dryRun: true; plan: { steps: string[] } }>;
  save(
    id: string,
    request: { team: string; dryRun?: boolean | undefined },
    by: Actor,
  ): Promise<{ team: string; file: string; text: string; applied: boolean }>;
}

interface QuickRunsDeps
  extends Omit<StartDeps, 'runs' | 'worktrees' | 'models' | 'trust'>,
    Pick<Base, 'log' | 'timers'> {
  readonly registry: Pick<Registry, 'find' | 'members' | 'stop'>;
  readonly tokens: Pick<BotTokens, 'revoke'>;
  readonly worktrees: Pick<Worktrees, 'create'> &
    Pick<WorktreeService, 'diff' | 'end' | 'sizeOf' | 'remove' | 'placeOf'>;
  readonly setup: Pick<WorktreeSetup, 'progress'>;
  readonly workflows: Pick<Workflows, 'runs' | 'pages' | 'verbs'>;
  readonly models: Pick<Models, 'find' | 'endpoints'>;
  readonly trust: Pick<WorkspaceTrusts, 'demandSettings' | 'sayYes'>;
}

export function createQuickRuns(deps: QuickRunsDeps): QuickRuns {
  const { workspace, quickTeams, git, workflows } = deps;
  const shownRuns = createShownRuns({ ...deps, pages: workflows.pages });
  const { show } = shownRuns;
  const start = createStart({ ...deps, runs: workflows.runs });
  const outcomes = createOutcomes(deps);

  function mustFind(id: string): StartedRun {
    const run = quickTeams.run(id);
    if (run === null || run.dagId === null) {
      throw new AppError('not_found', `No new run has the id ${JSON.stringify(id)}.`, 'List them: gantry do --list');
    }
    return { ...run, dagId: run.dagId };
  }

  function mustFindBot(id: string, name: string) {
    const run = mustFind(id);
    const bot = run.bots.find(({ slug }) => slug === name);
    if (bot === undefined) {
      const names = run.bots.map(({ slug }) => slug).join(', ');
      throw new AppError('not_found', `The run has no bot ${JSON.stringify(name)}.`, `It has: ${names}.`);
    }
    return { run, bot };
  }

  async function save(id: string, request: { team: string; dryRun?: boolean | undefined }, by: Actor) {
    const run = mustFind(id);
    const { team } = request;
    const path = join(workspace, '.gantry', 'teams', team, 'team.yaml');
    const file = relative(workspace, path).replaceAll('\\', '/');
    deps.folder.refresh();
    if (deps.folder.get(team) !== null || existsSync(path)) {
      throw conflict(`A team is already called ${JSON.stringify(team)}.`, 'Choose another name.');
    }
    const text = stringify(fileOf(run));
    if (request.dryRun === true) return { team, file, text, applied: false };
    writeWithin(workspace, file, text);
    await deps.trust.sayYes([{ path, text }], by);
    await quickTeams.change(run.team, (tx) => setSavedAs(tx, workspace, run.team, team));
    deps.folder.refresh();
    await deps.teams.refresh();
    return { team, file, text, applied: true };
  }

  return {
    choices: () => choicesOf({ ...deps, teams: quickTeams }, git),
    async list({ limit = defaultLimit, cursor }) {
      const before = decodeCursor(cursor, idCursor);
      const started = quickTeams.runs().filter((run) => run.dagId !== null) as StartedRun[];
      const rows = started.reverse();
      const from = before === null ? 0 : rows.findIndex((run) => run.dagId === before) + 1;
      const { shown, nextCursor } = page(rows.slice(from, from + limit + 1), limit, (last) => encodeCursor(last.dagId));
      return { runs: await Promise.all(shown.map(shownRuns.list)), nextCursor };
    },
    has: (id) => quickTeams.run(id) !== null,
    get: async (id) => show(mustFind(id)),
    diff: async (id, name) => {
      const { run, bot } = mustFindBot(id, name);
      return outcomes.diff(run, bot);
    },
    async start(request, by) {
      const started = await start(request, by);
      if ('plan' in started) return started;
      const run = quickTeams.runs().find(({ team }) => team === started.team);
      return show(mustFind(run?.dagId ?? ''));
    },
    async end(id, { bot: name, outcome, dryRun }, by) {
      const { run, bot } = mustFindBot(id, name);
      const steps = await outcomes.plan(run, bot, outcome, by);
      if (dryRun === true) return { dryRun: true, plan: { steps } };
      await outcomes.end(run, bot, outcome, by);
      await deps.teams.refresh();
      return { run: await show(mustFind(id)), steps };
    },
    save,
  };
}
