/**
 * Starts of a team's bots: everything that can go wrong is known before the first one runs, and a team starts whole or not at all. Must not know
 * presets, plans or what the team did before.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { runsInPane } from '../../contracts/factory/agent.ts';
import type { Base } from '../base/base.ts';
import type { BotPaths, BotSpec, Harnesses, Launch } from '../harness/harness.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import { realOf } from '../tool-server/what-runs-finder.ts';
import type { BotSecrets } from '../vault/vault.ts';
import type { AccountStarts } from './accounts/accounts.ts';
import { type BotHomes, type BotTokens, pathsFor } from './bot-homes.ts';
import type { BotSandboxes } from './bot-sandboxes.ts';
import { addressOf } from './model.ts';
import { labelsFor } from './pane-labels.ts';
import type { Registry } from './registry.ts';
import type { ResolvedTeam } from './team-file/resolve.ts';
import { type Hindrance, type Start, specOf, TeamHindered } from './team-plan.ts';
import type { Worktrees } from './worktrees/index.ts';

/** Conversations that bots begin with, by slug. */
export type Adopts = ReadonlyMap<string, NonNullable<BotSpec['adopts']>>;

/** A bot with everything that its start needs. */
interface Prepared {
  readonly spec: BotSpec;
  readonly launch: Launch;
}

export function createTeamStarts(
  deps: Pick<Base, 'ids'> & {
    readonly registry: Pick<Registry, 'find' | 'started' | 'stop'>;
    readonly panes: Pick<PaneEngine, 'create'>;
    readonly harnesses: Pick<Harnesses, 'prepare'>;
    readonly tokens: Pick<BotTokens, 'mint'>;
    readonly homes: BotHomes;
    readonly worktrees: Pick<Worktrees, 'check' | 'create'>;
    readonly setUp: (address: string) => void;
    readonly secrets: Pick<BotSecrets, 'check' | 'given'>;
    readonly sandboxes: Pick<BotSandboxes, 'check' | 'confine'>;
    readonly accounts: Pick<AccountStarts, 'check'>;
    readonly workspace: string;
  },
) {
  const { registry } = deps;

  /** Launches of all bots, or every reason why one of them cannot start. */
  async function prepare(
    team: ResolvedTeam,
    starts: readonly Start[],
    scratch: string | null,
    adopted?: Adopts,
  ): Promise<Prepared[]> {
    const prepared: Prepared[] = [];
    const hindrances: Hindrance[] = [];
    let waits: AppError | null = null;
    for (const start of starts) {
      const address = addressOf(start.bot.slug, team.name);
      const member = registry.find(address);
      if (member === null) continue;
      try {
        const { cwd } = start.bot;
        const inside = start.bot.worktree ? await deps.worktrees.check(cwd, team.name, start.bot.slug) : cwd;
        const spec = specOf(member.id, team, start, scratch === null ? inside : cwd);
        // A secret that is not there must be known before anything starts.
        await deps.secrets.check(spec);
        deps.sandboxes.check(spec);
        deps.accounts.check(spec);
        const paths = await openPaths(member.id, scratch);
        const adopts = adopted?.get(spec.slug);
        const first = adopts === undefined ? spec : { ...spec, resume: true, adopts };
        prepared.push({ spec, launch: await deps.harnesses.prepare(first, paths) });
      } catch (error) {
        if (!(error instanceof AppError) || error.code === 'internal') throw error;
        if (error.code === 'needs_person') waits ??= error;
        else hindrances.push({ address, fact: error.fact, action: error.action });
      }
    }
    if (waits !== null) throw waits;
    // A hosted bot gets its worktree with its first turn; its start must still know if there can be none.
    for (const bot of team.bots.filter((each) => each.binding.type === 'hosted' && each.worktree)) {
      const address = addressOf(bot.slug, team.name);
      if (registry.find(address)?.live === true) continue;
      try {
        await deps.worktrees.check(bot.cwd, team.name, bot.slug);
      } catch (error) {
        if (!(error instanceof AppError) || error.code === 'internal') throw error;
        hindrances.push({ address, fact: error.fact, action: error.action });
      }
    }
    if (hindrances.length > 0) throw new TeamHindered(team.name, hindrances);
    return prepared;
  }

  function openPaths(agentId: string, scratch: string | null): Promise<BotPaths> | BotPaths {
    return scratch === null ? deps.homes.open(agentId) : pathsFor(deps.homes, scratch);
  }

  async function run(team: ResolvedTeam, prepared: readonly Prepared[]): Promise<void> {
    const started: string[] = [];
    try {
      for (const { spec, launch } of prepared) {
        const bot = team.bots.find((each) => each.slug === spec.slug);
        if (bot?.worktree === true) {
          await deps.worktrees.create(bot.cwd, team.name, spec.slug);
          deps.setUp(addressOf(spec.slug, team.name));
        }
        // It is started where it is spoken with, once its team is up.
        if (!runsInPane(spec.harness)) continue;
        await deps.homes.writeToken(spec.agentId, await deps.tokens.mint(spec.agentId));
        const id = deps.ids.next('pane');
        const env = { ...launch.env, ...(await deps.secrets.given(spec)), GANTRY_PANE: id };
        const placed = await deps.sandboxes.confine(spec, { ...launch, env }, await deps.homes.open(spec.agentId));
        const labels = labelsFor(spec, deps.workspace, realOf(spec.cwd), placed);
        const { command, cwd, env: environment } = placed;
        const { cols, rows } = launch;
        const pane = await deps.panes
          .create({ id, command, cwd, env: environment, cols, rows, labels })
          .catch(async (error: unknown) => {
            await placed.closeNetwork?.();
            throw error;
          });
        started.push(spec.agentId);
        await registry.started(spec.agentId, spec, pane);
      }
    } catch (error) {
      // A team starts whole or not at all.
      await Promise.allSettled(started.map((agentId) => registry.stop(agentId)));
      throw error;
    }
  }

  return {
    prepare: (team: ResolvedTeam, starts: readonly Start[], adopted?: Adopts) => prepare(team, starts, null, adopted),
    /** For a dry run: prepares in a folder that is thrown away. */
    async tryOut(team: ResolvedTeam, starts: readonly Start[]): Promise<void> {
      const scratch = await mkdtemp(join(tmpdir(), 'gantry-plan-'));
      try {
        await prepare(team, starts, scratch);
      } finally {
        await rm(scratch, { recursive: true, force: true });
      }
    },
    run,
  };
}
