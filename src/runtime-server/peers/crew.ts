/**
 * The bots of one team from another computer, in a separate workspace: the same registry, team service, sends and homes as for the bots of this
 * computer, over that workspace. Each crew has its own, because an engine serves one workspace, and so a crew sees only itself. Must not know HTTP
 * or tickets.
 */
import { join } from 'node:path';
import type { Lanes } from '../../kit/lane/lane.ts';
import { nowhere } from '../agents/abroad.ts';
import { noAccounts } from '../agents/accounts/accounts.ts';
import { type AgentViews, createAgentViews } from '../agents/agent-views.ts';
import type { BotDirectory } from '../agents/bot-directory.ts';
import { type BotTokens, createBotHomes } from '../agents/bot-homes.ts';
import type { BotSandboxes } from '../agents/bot-sandboxes.ts';
import type { Needs } from '../agents/needs.ts';
import type { Placements } from '../agents/placement.ts';
import { createRegistry, type Registry } from '../agents/registry.ts';
import { createRestarts } from '../agents/restarts.ts';
import { createTeamFolder, type TeamFolder, type TeamOnDisk } from '../agents/team-file/folder.ts';
import { createTeamService, type TeamService } from '../agents/team-service.ts';
import { createWorktrees } from '../agents/worktrees/index.ts';
import { worktreeBot } from '../agents/worktrees/worktree-bot.ts';
import type { Base } from '../base/base.ts';
import type { Harnesses } from '../harness/harness.ts';
import type { Deliverer } from '../messaging/deliverer.ts';
import { laneOf } from '../messaging/model.ts';
import { createSendService, type SendService } from '../messaging/send.ts';
import { createThreadService, type ThreadService } from '../messaging/thread-service.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import type { Trust } from '../trust/index.ts';
import { guestFile, noSecrets } from './guest-rules.ts';

export interface CrewPlace {
  /** The user of the tickets that reach it. */
  readonly user: string;
  readonly team: string;
  /** Its workspace. */
  readonly root: string;
}

export interface Crew extends CrewPlace {
  readonly registry: Registry;
  readonly views: AgentViews;
  readonly teams: TeamService;
  readonly sends: SendService;
  readonly threads: ThreadService;
  start(): Promise<void>;
  close(): void;
}

export interface CrewDeps extends Base {
  readonly panes: PaneEngine;
  readonly harnesses: Harnesses;
  readonly placements: Placements;
  readonly sandboxes: BotSandboxes;
  readonly limitsOf: Parameters<typeof createAgentViews>[0]['limitsOf'];
  /** `GANTRY_HOME`. */
  readonly home: string;
  /** The person's home folder, for `~/…` in team files. */
  readonly userHome: string;
  readonly computerId: string;
  readonly botTokens: BotTokens;
  /** File that holds the engine's URL. */
  readonly urlFile: string;
  /** argv of the `gantry` command. */
  readonly gantry: readonly string[];
  /** Whether bots are started again whose pane host is gone; by default they are. */
  readonly restartBots?: boolean | undefined;
  readonly trust: Trust;
  /** Shared by all bots of this computer: one queue for each bot, regardless of its owner. */
  readonly deliverer: Deliverer;
  readonly lanes: Lanes;
  /** Where queues find its bots. */
  readonly directory: Pick<BotDirectory, 'add'>;
  /** A bot's token dies with its pane. */
  readonly followTokens: (registry: Registry) => () => void;
  /** Tells the person of a bot that needs them. */
  readonly followNeeds: (registry: Registry) => Needs;
}

export function createCrew(given: CrewDeps, place: CrewPlace): Crew {
  const deps = { ...given, workspace: place.root, sandboxes: given.sandboxes.forGuests(), accounts: noAccounts };
  const homes = createBotHomes(deps);
  const restarts = createRestarts({
    ...deps,
    homes,
    tokens: deps.botTokens,
    secrets: noSecrets,
    enabled: deps.restartBots !== false,
  });
  const registry = createRegistry({ ...deps, restarts });
  const views = createAgentViews({
    ...deps,
    registry,
    queueDepth: (agentId) => deps.lanes.depth(laneOf(agentId)),
    workOf: () => ({ currentNode: null, proof: { proven: 0, total: 0 } }),
  });
  const teams = createTeamService({
    ...deps,
    registry,
    views,
    folder: guestFolder(createTeamFolder(deps)),
    tokens: deps.botTokens,
    homes,
    // Beside the workspace: inside it they would show as files of the repository.
    worktrees: createWorktrees({
      ...deps,
      home: join(place.root, '..', `.${place.team}.home`),
      findBot: (id) => worktreeBot(registry.find(id)),
    }),
    // A worktree's set-up is shown as a run, and runs are at the home of the team.
    setUp: () => {},
    secrets: noSecrets,
    forGuests: true,
    abroad: nowhere,
  });
  const sends = createSendService({
    ...deps,
    registry,
    // Runs are at the home of the team.
    hasStep: () => false,
    tickets: {
      open: () => {
        throw new Error('A bot of a vendor was taken for a guest.');
      },
    },
  });
  const offDirectory = deps.directory.add(registry);
  const offGate = registry.onGate((agentId) => deps.lanes.wake(laneOf(agentId)));
  const offTokens = deps.followTokens(registry);
  const needs = deps.followNeeds(registry);
  return {
    ...place,
    registry,
    views,
    teams,
    sends,
    threads: createThreadService({ ...deps, registry }),
    async start() {
      await needs.start();
      await registry.start();
      await teams.start();
      restarts.begin();
    },
    close() {
      restarts.close();
      offDirectory();
      offGate();
      needs.close();
      teams.close();
      registry.close();
      offTokens();
    },
  };
}

function guestFolder(folder: TeamFolder): TeamFolder {
  const guest = <Team extends TeamOnDisk | null>(team: Team) =>
    team === null || team.file === null ? team : { ...team, file: guestFile(team.file) };
  return { ...folder, all: () => folder.all().map(guest), get: (name) => guest(folder.get(name)) };
}
