/**
 * Starts and stops teams: what their files say now, what a start or stop would do, and what is recorded of it. Must not know how bots are started, nor
 * HTTP.
 */

import { join, relative, sep } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import type { InvalidTeam, Team, TeamPlanStep, TeamProblem } from '../../contracts/factory/agent.ts';
import { maxTeams } from '../../contracts/factory/team-file.ts';
import { type Actor, engineActor } from '../base/actor.ts';
import type { Base } from '../base/base.ts';
import type { Harnesses } from '../harness/harness.ts';
import type { Models } from '../models/index.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import { refuseUnreadable } from '../panes/readable.ts';
import { waitsForYes } from '../trust/trust.ts';
import type { BotSecrets } from '../vault/vault.ts';
import type { Abroad, OtherComputer } from './abroad.ts';
import type { AgentViews } from './agent-views.ts';
import type { BotHomes, BotTokens } from './bot-homes.ts';
import type { Member, Registry } from './registry.ts';
import { readTeams, saveTeamFile, saveTeamUp, type TeamRecord } from './store/teams.ts';
import type { TeamFolder, TeamOnDisk } from './team-file/folder.ts';
import { type ResolvedTeam, resolveTeam } from './team-file/resolve.ts';
import { planUp, TeamHindered } from './team-plan.ts';
import { recordTeamChange } from './team-records.ts';
import { type Adopts, createTeamStarts } from './team-starts.ts';
import type { Worktrees } from './worktrees/index.ts';

interface UpRequest {
  readonly preset?: string | undefined;
  readonly on?: string | undefined;
  readonly dryRun?: boolean | undefined;
  /** Only these bots; default all. */
  readonly only?: ReadonlySet<string> | undefined;
  /** Conversations that bots begin with, by slug. */
  readonly adopts?: Adopts | undefined;
}

interface TeamDown {
  stopped: string[];
  /** Bots on computers that this one no longer reaches: they may run on there. */
  letGo?: string[];
}

export interface TeamService {
  start(): Promise<void>;
  list(): Promise<{ teams: Team[]; invalid: InvalidTeam[]; note?: string }>;
  exists(name: string): boolean;
  check(name: string): { team: string; ok: boolean; problems: TeamProblem[] };
  up(name: string, request: UpRequest, by: Actor): Promise<{ plan: TeamPlanStep[]; applied: boolean }>;
  planDown(name: string, options?: { readonly here?: boolean }): TeamPlanStep[];
  /** `here`: those on other computers run on. */
  down(name: string, by: Actor, options?: { readonly here?: boolean }): Promise<TeamDown>;
  /** Applies the current files; resolves when every part knows them. */
  refresh(): Promise<void>;
  close(): void;
}

export function createTeamService(
  deps: Pick<Base, 'store' | 'ledger' | 'ids' | 'log'> & {
    readonly registry: Registry;
    readonly views: Pick<AgentViews, 'agents'>;
    readonly folder: TeamFolder;
    readonly panes: PaneEngine;
    readonly harnesses: Harnesses;
    readonly tokens: BotTokens;
    readonly homes: BotHomes;
    readonly worktrees: Worktrees;
    /** Sets up a new worktree. Only messages to the bot wait for it. */
    readonly setUp: (address: string) => void;
    readonly secrets: BotSecrets;
    readonly abroad: Abroad;
    /** Where models of hosted bots are asked; absent where no bot is hosted. */
    readonly models?: Pick<Models, 'find'>;
    readonly workspace: string;
    readonly userHome: string;
    readonly computerId: string;
  },
): TeamService {
  const { store, registry, folder } = deps;
  const starts = createTeamStarts(deps);
  const around = { workspace: deps.workspace, userHome: deps.userHome };
  let rows = new Map<string, TeamRecord>();
  /** One change of a team at a time. */
  const busy = new Map<string, Promise<unknown>>();
  let refreshing: Promise<void> = Promise.resolve();
  let unlisten = () => {};

  /** For messages. */
  const fileOf = (name: string) =>
    relative(deps.workspace, join(folder.folderOf(name), 'team.yaml')).replaceAll(sep, '/');
  const resolved = (team: TeamOnDisk, preset: string | null): ResolvedTeam | null =>
    team.file === null
      ? null
      : resolveTeam({ name: team.name, file: team.file, culture: team.culture }, preset, around);
  /** A team that is up shows the preset it was started with, as long as the file has it. */
  const presetOf = (team: TeamOnDisk): string | null => {
    const row = rows.get(team.name);
    const preset = row?.up === true ? row.preset : null;
    return preset !== null && team.file?.presets?.[preset] !== undefined ? preset : null;
  };
  const current = (team: TeamOnDisk) => resolved(team, presetOf(team));

  /** Models of hosted bots that no endpoint of this computer has, in each shape that the file can start. */
  const unknownModels = (team: TeamOnDisk): TeamProblem[] => {
    const problems = new Map<string, TeamProblem>();
    for (const preset of [null, ...Object.keys(team.file?.presets ?? {})]) {
      for (const [index, bot] of (resolved(team, preset)?.bots ?? []).entries()) {
        const found = bot.binding.type === 'hosted' && bot.model !== null ? deps.models?.find(bot.model) : undefined;
        if (found === undefined || !('problem' in found) || found.problem.unknown !== true) continue;
        const inPreset = preset !== null && team.file?.presets?.[preset]?.bots?.[bot.slug]?.model !== undefined;
        const path = inPreset ? `presets.${preset}.bots.${bot.slug}.model` : `bots[${index}].model`;
        problems.set(path, { path, line: null, message: `${found.problem.fact} ${found.problem.action}` });
      }
    }
    return [...problems.values()];
  };

  const loadRows = async () => {
    rows = new Map((await store.read((tx) => readTeams(tx, deps.workspace))).map((row) => [row.name, row]));
  };

  /** Agents follow the files; what changed since the last look becomes an event. */
  const takeFiles = async () => {
    const teams = folder.all();
    const isUp = (name: string) => rows.get(name)?.up === true;
    await registry.define(
      teams.map(current).filter((team) => team !== null),
      isUp,
    );
    const seen = teams.map((team) => {
      const file = team.file === null ? ('invalid' as const) : ('valid' as const);
      return { name: team.name, file, hash: team.hash, waits: team.waits };
    });
    const gone = [...rows.values()]
      .filter((row) => folder.get(row.name) === null && row.file !== 'gone')
      .map((row) => ({ name: row.name, file: 'gone' as const, hash: null, waits: false }));
    const changed = [...seen, ...gone].filter((team) => {
      const row = rows.get(team.name);
      return row?.file !== team.file || row.fileHash !== team.hash;
    });
    if (changed.length === 0) return;
    await store.write((tx) => {
      for (const team of changed) {
        const { name, file, hash, waits } = team;
        saveTeamFile(tx, deps.workspace, name, { file, hash });
        // A file that waits for its person's yes is not read: its problems are unknown.
        const change = file === 'invalid' && !waits ? ('invalid' as const) : ('file' as const);
        const agents = registry.members(name).map((member) => member.address);
        const state = { workspace: deps.workspace, file, hash };
        recordTeamChange(tx, deps.ledger, { team: name, change, agents }, state, engineActor);
      }
    });
    await loadRows();
  };
  const refresh = (): Promise<void> => {
    refreshing = refreshing.then(takeFiles, takeFiles);
    return refreshing;
  };

  const alone = async <T>(name: string, task: () => Promise<T>): Promise<T> => {
    const before = busy.get(name) ?? Promise.resolve();
    const mine = before.then(task, task);
    busy.set(name, mine);
    try {
      return await mine;
    } finally {
      if (busy.get(name) === mine) busy.delete(name);
    }
  };

  const readable = (name: string): TeamOnDisk & { file: NonNullable<TeamOnDisk['file']> } => {
    const team = folder.get(name);
    if (team === null) throw unknownTeam(name, folder);
    if (team.waits) throw waitsForYes([fileOf(name)]);
    if (team.file !== null) return { ...team, file: team.file };
    const problems = team.problems.map(
      ({ path, line, message }) => `line ${line ?? '?'}, ${path || 'file'}: ${message}`,
    );
    throw new AppError(
      'usage',
      `The file of team ${name} has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}: ${problems.join(' ')}`,
      `Fix ${join(folder.folderOf(name), 'team.yaml')}; \`gantry teams check ${name}\` checks it again.`,
    );
  };

  const up: TeamService['up'] = (name, request, by) =>
    alone(name, async () => {
      const computer = request.on === undefined ? null : await deps.abroad.find(request.on);
      folder.refresh();
      await refresh();
      const file = readable(name);
      const presets = Object.keys(file.file.presets ?? {});
      if (request.preset !== undefined && !presets.includes(request.preset)) {
        const known = presets.length === 0 ? 'This team has none.' : `It has: ${presets.join(', ')}.`;
        throw new AppError('usage', `Team ${name} has no preset "${request.preset}".`, known);
      }
      const team = resolveTeam(file, request.preset ?? presetOf(file), around);
      const applied = request.dryRun !== true;
      if (computer !== null) {
        const steps = await deps.abroad.up(computer, team, folder.folderOf(name), request);
        if (applied) await markUp(team, by);
        return { plan: steps, applied };
      }
      const machines = request.on === undefined ? await deps.abroad.machinesOf(team) : undefined;
      const found = await deps.harnesses.found();
      const facts = {
        members: registry.members(name),
        found,
        computerId: deps.computerId,
        machines,
        only: request.only,
      };
      const plan = planUp(team, facts);
      if (plan.hindrances.length > 0) throw new TeamHindered(name, plan.hindrances);
      if (!applied) {
        await starts.tryOut(team, plan.starts);
        return { plan: [...plan.steps, ...(await upElsewhere(team, machines, request))], applied };
      }
      if (plan.starts.length > 0) refuseUnreadable(deps.panes);
      const prepared = await starts.prepare(team, plan.starts, request.adopts);
      // Other computers first, where a start may fail: everything here is prepared by now.
      const elsewhere = await upElsewhere(team, machines, request);
      await starts.run(team, prepared);
      await markUp(team, by);
      return { plan: [...plan.steps, ...elsewhere], applied };
    });

  /** Bots whose file names another computer. */
  const upElsewhere = async (
    team: ResolvedTeam,
    machines: ReadonlyMap<string, OtherComputer | null> = new Map(),
    request: UpRequest,
  ): Promise<TeamPlanStep[]> => {
    const steps: TeamPlanStep[] = [];
    for (const [machine, computer] of machines) {
      const bots = team.bots.filter((bot) => bot.machine === machine);
      if (computer === null) continue;
      steps.push(...(await deps.abroad.up(computer, { ...team, bots }, folder.folderOf(team.name), request)));
    }
    return steps;
  };

  const markUp = async ({ name, preset }: ResolvedTeam, by: Actor) => {
    const agents = registry.members(name).filter((member) => member.live || member.placement.followsTeam);
    await store.write((tx) => {
      saveTeamUp(tx, deps.workspace, name, true, preset);
      const state = { workspace: deps.workspace, up: true, preset };
      recordTeamChange(tx, deps.ledger, { team: name, change: 'up', agents: addresses(agents) }, state, by);
    });
    await loadRows();
    await refresh();
  };

  const down: TeamService['down'] = (name, by, { here = false } = {}) =>
    alone(name, async () => {
      const live = registry.members(name).filter((member) => member.live && (!here || member.placement.isLocal));
      if (live.length === 0 && rows.get(name)?.up !== true) return { stopped: [] };
      if (live.some((member) => member.placement.inPaneHere)) refuseUnreadable(deps.panes);
      const ended = await Promise.all(live.map((member) => registry.stop(member.id)));
      await Promise.all(live.map((member) => deps.tokens.revoke(member.id)));
      await store.write((tx) => {
        saveTeamUp(tx, deps.workspace, name, false, null);
        const state = { workspace: deps.workspace, up: false, preset: null };
        recordTeamChange(tx, deps.ledger, { team: name, change: 'down', agents: addresses(live) }, state, by);
      });
      await loadRows();
      await refresh();
      const letGo = addresses(live.filter((_, index) => ended[index] === false));
      const stopped = addresses(live).filter((address) => !letGo.includes(address));
      return { stopped, ...(letGo.length === 0 ? {} : { letGo }) };
    });

  return {
    async start() {
      await loadRows();
      // Once, in a workspace from before Gantry asked: running teams are not stopped.
      for (const { name, up, fileHash } of rows.values()) {
        if (up && fileHash !== null) await folder.keepRunning(name, fileHash);
      }
      unlisten = folder.onChange(() => {
        refresh().catch((error: unknown) => {
          deps.log.warn('Changed team files could not be applied.', { error: String(error) });
        });
      });
      folder.start();
      await refresh();
    },
    async list() {
      // A file that was written a moment ago is in the answer, before the watch noticed it.
      if (folder.look()) await refresh();
      const teams: Team[] = [];
      const invalid: InvalidTeam[] = [];
      for (const onDisk of folder.all()) {
        const team = current(onDisk);
        const waits = onDisk.waits ? { waits: [fileOf(onDisk.name)] } : {};
        if (team === null) invalid.push({ name: onDisk.name, problems: [...onDisk.problems], ...waits });
        else teams.push({ ...shape(team), agents: deps.views.agents(team.name), ...waits });
      }
      const note = `.gantry/teams has more than ${maxTeams} entries: teams beyond those are not listed and do not start.`;
      return { teams, invalid, ...(folder.more() ? { note } : {}) };
    },
    exists(name) {
      if (folder.get(name) === null) folder.look();
      return folder.get(name) !== null || registry.members(name).length > 0;
    },
    check(name) {
      folder.refresh();
      const team = folder.get(name);
      if (team === null) throw unknownTeam(name, folder);
      const problems = [...folder.problemsOf(name), ...unknownModels(team)];
      return { team: name, ok: problems.length === 0, problems };
    },
    up,
    planDown: (name, { here = false } = {}) =>
      registry
        .members(name)
        .filter((member) => !here || member.placement.isLocal)
        .map((member) => ({
          action: member.live ? 'stop' : 'skip',
          agent: member.address,
          machine: member.remote?.computerId ?? deps.computerId,
          reason: member.live ? 'it is running' : 'it is not running',
        })),
    down,
    refresh,
    close() {
      unlisten();
      folder.close();
    },
  };
}

const addresses = (members: readonly Member[]) => members.map((member) => member.address);

function shape(team: ResolvedTeam): Omit<Team, 'agents'> {
  return { name: team.name, preset: team.preset, presets: [...team.presets], edges: [...team.edges] };
}

function unknownTeam(name: string, folder: TeamFolder): AppError {
  const known = folder.all().map((team) => team.name);
  const action =
    known.length === 0 ? `Create ${join(folder.folderOf(name), 'team.yaml')}.` : `Teams here: ${known.join(', ')}.`;
  return new AppError('not_found', `No team is called "${name}".`, action);
}
