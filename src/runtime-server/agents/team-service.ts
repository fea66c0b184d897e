/**
 * Starts and stops teams: what their files say now, what a start or stop would do, and what is recorded of it. Must not know how bots are started, nor
 * HTTP.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { OnProgress } from '../../contracts/common/work-progress.ts';
import {
  type InvalidTeam,
  runsInPane,
  type Team,
  type TeamPlanStep,
  type TeamProblem,
} from '../../contracts/factory/agent.ts';
import { maxTeams, type SandboxMode } from '../../contracts/factory/team-file.ts';
import type { SandboxQuestion } from '../../contracts/factory/teams-routes.ts';
import type { Actor } from '../base/actor.ts';
import type { Base } from '../base/base.ts';
import type { Harnesses } from '../harness/harness.ts';
import type { Models } from '../models/index.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import { refuseUnreadable } from '../panes/readable.ts';
import type { Trust } from '../trust/trust.ts';
import type { BotSecrets } from '../vault/vault.ts';
import type { Abroad, OtherComputer } from './abroad.ts';
import type { AccountStarts } from './accounts/accounts.ts';
import type { AgentViews } from './agent-views.ts';
import type { BotHomes, BotTokens } from './bot-homes.ts';
import { type BotSandboxes, sandboxFacts } from './bot-sandboxes.ts';
import { createKnownTeams, unknownTeam } from './known-teams.ts';
import { addressOf } from './model.ts';
import type { Member, Registry } from './registry.ts';
import { sandboxQuestion, saysSandbox } from './sandbox-question.ts';
import { saveTeamUp } from './store/teams.ts';
import { createTeamFileEdits, withSandbox } from './team-file/edit.ts';
import type { TeamFolder, TeamOnDisk } from './team-file/folder.ts';
import type { ResolvedTeam } from './team-file/resolve.ts';
import { planUp, TeamHindered, type UpPlan } from './team-plan.ts';
import { recordTeamChange } from './team-records.ts';
import { type Adopts, createTeamStarts } from './team-starts.ts';
import type { Worktrees } from './worktrees/index.ts';

interface UpRequest {
  readonly preset?: string | undefined;
  readonly on?: string | undefined;
  /** Its person's answer where the team file does not say. */
  readonly sandbox?: SandboxMode | undefined;
  readonly dryRun?: boolean | undefined;
  /** Only these bots; default all. */
  readonly only?: ReadonlySet<string> | undefined;
  /** Conversations that bots begin with, by slug. */
  readonly adopts?: Adopts | undefined;
  /** Told while another computer clones the repository for its bots. */
  readonly onProgress?: OnProgress | undefined;
}

interface TeamUp {
  plan: TeamPlanStep[];
  applied: boolean;
  /** Of a dry run. */
  sandbox?: SandboxQuestion;
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
  /** Throws where its file has problems or waits for a yes: its bots are unknown then. */
  refuseUnread(name: string): void;
  check(name: string): { team: string; ok: boolean; problems: TeamProblem[] };
  up(name: string, request: UpRequest, by: Actor): Promise<TeamUp>;
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
    readonly trust: Pick<Trust, 'judge' | 'sayYes'>;
    /** Sets up a new worktree. Only messages to the bot wait for it. */
    readonly setUp: (address: string) => void;
    readonly secrets: BotSecrets;
    readonly sandboxes: BotSandboxes;
    /** Its teams come from another computer. */
    readonly forGuests?: true;
    readonly accounts: AccountStarts;
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
  const known = createKnownTeams(deps);
  const edits = createTeamFileEdits(deps);
  /** One change of a team at a time. */
  const busy = new Map<string, Promise<unknown>>();
  let unlisten = () => {};

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

  const up: TeamService['up'] = (name, request, by) =>
    alone(name, async () => {
      const computer = request.on === undefined ? null : await deps.abroad.find(request.on);
      folder.refresh();
      await known.refresh();
      const { file, keep } = answered(name, request, by);
      const presets = Object.keys(file.file.presets ?? {});
      if (request.preset !== undefined && !presets.includes(request.preset)) {
        const action = presets.length === 0 ? 'This team has none.' : `It has: ${presets.join(', ')}.`;
        throw new AppError('usage', `Team ${name} has no preset "${request.preset}".`, action);
      }
      const team = known.resolve(file, request.preset ?? known.presetOf(file));
      const applied = request.dryRun !== true;
      if (computer !== null) {
        const steps = await deps.abroad.up(computer, team, folder.folderOf(name), request);
        if (applied) await keep();
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
        models: deps.models,
        forGuests: deps.forGuests,
        accounts: deps.accounts,
        ...(await sandboxFacts(deps.sandboxes, team)),
      };
      const plan = planUp(team, facts);
      if (plan.hindrances.length > 0) throw new TeamHindered(name, plan.hindrances);
      const steps = await withPlaceholders(team, plan);
      if (!applied) {
        await starts.tryOut(team, plan.starts);
        const all = [...steps, ...(await upElsewhere(team, machines, request))];
        // Of a guest its person is asked at its home.
        const asked =
          deps.forGuests !== true && edits.isThere(name)
            ? await sandboxQuestion(deps.sandboxes, team, known.readable(name), edits.shown(name))
            : null;
        return { plan: all, applied, ...(asked === null ? {} : { sandbox: asked }) };
      }
      if (plan.starts.some(({ harness }) => runsInPane(harness))) refuseUnreadable(deps.panes);
      const prepared = await starts.prepare(team, plan.starts, request.adopts);
      await keep();
      // Other computers first, where a start may fail: everything here is prepared by now.
      const elsewhere = await upElsewhere(team, machines, request);
      await starts.run(team, prepared);
      await markUp(team, by);
      return { plan: [...steps, ...elsewhere], applied };
    });

  /** The team file with the sandbox that its person chose just now, and how that gets into it. */
  const answered = (name: string, { sandbox }: UpRequest, by: Actor) => {
    const team = known.readable(name);
    if (sandbox === undefined) return { file: team, keep: async () => {} };
    const text = edits.agreedText(name);
    if (text === null || saysSandbox(team.file)) {
      const fact = `The file of team ${name} already says what its bots run in.`;
      throw new AppError('usage', fact, 'Change it there, or leave `sandbox` out.');
    }
    const keep = async () => {
      await edits.write(name, withSandbox(text, sandbox), by);
      folder.refresh();
      await known.refresh();
    };
    return { file: { ...team, file: { ...team.file, sandbox } }, keep };
  };

  const withPlaceholders = async (team: ResolvedTeam, plan: UpPlan): Promise<TeamPlanStep[]> => {
    const steps: TeamPlanStep[] = [];
    for (const step of plan.steps) {
      const start = plan.starts.find(({ bot }) => addressOf(bot.slug, team.name) === step.agent);
      const placeholders =
        start === undefined ? [] : await deps.secrets.placeholders({ env: start.bot.env, sandbox: start.sandbox });
      steps.push(placeholders.length === 0 ? step : { ...step, placeholders });
    }
    return steps;
  };

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
    await known.load();
    await known.refresh();
  };

  const down: TeamService['down'] = (name, by, { here = false } = {}) =>
    alone(name, async () => {
      const live = registry.members(name).filter((member) => member.live && (!here || member.placement.isLocal));
      if (live.length === 0 && !known.isUp(name)) return { stopped: [] };
      if (live.some((member) => member.placement.inPaneHere)) refuseUnreadable(deps.panes);
      const ended = await Promise.all(live.map((member) => registry.stop(member.id)));
      await Promise.all(live.map((member) => deps.tokens.revoke(member.id)));
      await store.write((tx) => {
        saveTeamUp(tx, deps.workspace, name, false, null);
        const state = { workspace: deps.workspace, up: false, preset: null };
        recordTeamChange(tx, deps.ledger, { team: name, change: 'down', agents: addresses(live) }, state, by);
      });
      await known.load();
      await known.refresh();
      const letGo = addresses(live.filter((_, index) => ended[index] === false));
      const stopped = addresses(live).filter((address) => !letGo.includes(address));
      return { stopped, ...(letGo.length === 0 ? {} : { letGo }) };
    });

  return {
    async start() {
      await known.load();
      // Once, in a workspace from before Gantry asked: running teams are not stopped.
      for (const { name, up, fileHash } of known.rows()) {
        if (up && fileHash !== null) await folder.keepRunning(name, fileHash);
      }
      unlisten = folder.onChange(() => {
        known.refresh().catch((error: unknown) => {
          deps.log.warn('Changed team files could not be applied.', { error: String(error) });
        });
      });
      folder.start();
      await known.refresh();
    },
    async list() {
      // A file that was written a moment ago is in the answer, before the watch noticed it.
      if (folder.look()) await known.refresh();
      const teams: Team[] = [];
      const invalid: InvalidTeam[] = [];
      for (const onDisk of folder.all()) {
        const team = known.current(onDisk);
        const waits = onDisk.waits ? { waits: [known.fileOf(onDisk.name)] } : {};
        if (team === null) invalid.push({ name: onDisk.name, problems: [...onDisk.problems], ...waits });
        else teams.push({ ...shape(team), ...titleOf(onDisk), agents: deps.views.agents(team.name), ...waits });
      }
      const note = `.gantry/teams has more than ${maxTeams} entries: teams beyond those are not listed and do not start.`;
      return { teams, invalid, ...(folder.more() ? { note } : {}) };
    },
    exists(name) {
      if (folder.get(name) === null) folder.look();
      return folder.get(name) !== null || registry.members(name).length > 0;
    },
    refuseUnread: (name) => void known.readable(name),
    check(name) {
      folder.refresh();
      const team = folder.get(name);
      if (team === null) throw unknownTeam(name, folder);
      const problems = [...folder.problemsOf(name), ...known.unknownModels(team)];
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
    refresh: known.refresh,
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

const titleOf = ({ title }: TeamOnDisk) => (title === undefined ? {} : { title });
