/**
 * Starts bots of a team on another computer: finds the computer, sends the team folder, and enters its answer into the registry. Must not know HTTP
 * or how a bot is reached later.
 */
import { join, relative, sep } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import { followCall, type OnProgress } from '../../../contracts/common/work-progress.ts';
import type { TeamPlanStep } from '../../../contracts/factory/agent.ts';
import { type PeerUpRequest, PeerUpResult, peerProgress } from '../../../contracts/factory/peer-routes.ts';
import type { Git } from '../../../kit/process/git.ts';
import type { Abroad, OtherComputer } from '../../agents/abroad.ts';
import { addressOf } from '../../agents/model.ts';
import type { RemoteRef } from '../../agents/placement.ts';
import type { Registry } from '../../agents/registry.ts';
import type { ResolvedBot, ResolvedTeam } from '../../agents/team-file/resolve.ts';
import { type Hindrance, TeamHindered } from '../../agents/team-plan.ts';
import type { Base } from '../../base/base.ts';
import { type Trust, waitsForYes } from '../../trust/index.ts';
import { uploadHash } from '../upload-hash.ts';
import { type KnownComputer, type PeerCalls, peerFault } from './calls.ts';
import { readTeamFiles } from './team-files.ts';
import { findRepo } from './workspace-repo.ts';

/** A clone may take a quarter of an hour there. */
const bringMs = 20 * 60_000;

const PeerProgress = peerProgress.answers[200];

/** Set-up is shown as a run, and runs are where the team is. */
const notSetUp = 'its setup: does not run on another computer';

export interface AbroadDeps extends Pick<Base, 'ids' | 'timers'> {
  readonly calls: PeerCalls;
  /** Whether this computer is paired at all. */
  readonly paired: () => boolean;
  readonly registry: Pick<Registry, 'members' | 'find'>;
  /** The bot runs there from now on. */
  readonly started: (agentId: string, ref: RemoteRef) => Promise<void>;
  readonly git: Git;
  readonly trust: Pick<Trust, 'judge' | 'shown'>;
  readonly workspace: string;
  readonly computerId: string;
}

export function createAbroad(deps: AbroadDeps): Abroad {
  const { calls } = deps;

  /** Sorts bots: which go there, which stay, and what prevents it. */
  const sort = (computer: OtherComputer, team: ResolvedTeam) => {
    const steps: TeamPlanStep[] = [];
    const going: ResolvedBot[] = [];
    const hindrances: Hindrance[] = [];
    const members = deps.registry.members(team.name);
    for (const bot of team.bots) {
      const address = addressOf(bot.slug, team.name);
      const live = members.find((member) => member.slug === bot.slug && member.live);
      const here = live !== undefined && live.remote === null;
      if (bot.binding.type !== 'terminal') {
        const reason = `a ${bot.binding.type} bot runs where its team is; only bots in terminals can run on another computer`;
        steps.push({ action: 'skip', agent: address, machine: deps.computerId, reason });
      } else if (here || (live?.remote && live.remote.computerId !== computer.id)) {
        const machine = live.remote?.computerId ?? deps.computerId;
        const reason = `it is already running on ${live.remote?.computerName ?? 'this computer'}; stop it there first`;
        steps.push({ action: 'bind', agent: address, machine, reason });
      } else if (isInside(deps.workspace, bot.cwd)) going.push(bot);
      else {
        const action = 'Name its cwd relative to the workspace.';
        hindrances.push({ address, fact: `its cwd ${bot.cwd} is not on ${computer.name}`, action });
      }
    }
    if (hindrances.length > 0) throw new TeamHindered(team.name, hindrances);
    return { steps, going };
  };

  const failed = (computer: OtherComputer, team: ResolvedTeam, { results }: PeerUpResult): AppError => {
    const waits = results.find(({ error }) => error?.code === 'needs_person')?.error;
    if (waits !== undefined) {
      return new AppError('needs_person', `On ${computer.name}: ${waits.fact}`, waits.action);
    }
    const hindrances = results.flatMap(({ agent, error }) =>
      error === undefined ? [] : [{ address: `${agent} on ${computer.name}`, fact: error.fact, action: error.action }],
    );
    return new TeamHindered(team.name, hindrances);
  };

  /** Its answer, and how far it is meanwhile: a clone may take long there. */
  const sendTeam = (computer: OtherComputer, name: string, body: PeerUpRequest, onProgress?: OnProgress) => {
    const progressKey = onProgress === undefined ? undefined : deps.ids.next('progress');
    const path = `teams/${encodeURIComponent(name)}/up`;
    const call = () => calls.call(computer.id, { method: 'POST', path, body, progressKey, timeoutMs: bringMs });
    if (progressKey === undefined || onProgress === undefined) return call();
    return followCall(call, {
      read: async () => {
        const { body } = await calls.call(computer.id, { method: 'GET', path: `progress/${progressKey}` });
        return PeerProgress.parse(body).progress;
      },
      onProgress: ({ startedAt: _, what, ...rest }) => onProgress({ ...rest, what: `${computer.name}: ${what}` }),
      after: deps.timers.after,
    });
  };

  return {
    async find(on) {
      if (on === deps.computerId) return null;
      const known = deps.paired() ? await calls.computers() : [];
      const [found, second] = named(on, known);
      if (found === undefined) throw unknownComputer(on, known);
      if (second === undefined) return found.id === deps.computerId ? null : { id: found.id, name: found.name };
      const ids = named(on, known).map((one) => one.id);
      throw new AppError('usage', `Several computers are called ${on}.`, `Name one by its id: ${ids.join(', ')}.`);
    },
    async machinesOf(team) {
      const names = team.bots.flatMap(({ machine }) => (machine === null || machine === 'local' ? [] : [machine]));
      const others = [...new Set(names)].filter((name) => name !== deps.computerId);
      if (others.length === 0 || !deps.paired()) return new Map();
      // While the cloud is away the bots of this computer start all the same.
      const known = await calls.computers().catch(() => []);
      const found = others.flatMap((name): [string, OtherComputer | null][] => {
        const [computer, second] = named(name, known);
        if (computer === undefined || second !== undefined) return [];
        return [[name, computer.id === deps.computerId ? null : { id: computer.id, name: computer.name }]];
      });
      return new Map(found);
    },
    async up(computer, team, folder, request) {
      const { steps, going } = sort(computer, team);
      if (going.length === 0) return steps;
      const { repo, note } = await findRepo(deps.git, deps.workspace);
      const files = await readTeamFiles(folder, deps.workspace);
      const file = join(folder, 'team.yaml');
      if (deps.trust.judge(file, files['team.yaml'] ?? null).waits) throw waitsForYes([deps.trust.shown(file)]);
      const body: PeerUpRequest = {
        files,
        trusted: uploadHash(files),
        bots: going.map((bot) => bot.slug),
        ...(team.preset === null ? {} : { preset: team.preset }),
        ...(repo === null ? {} : { repo }),
        ...(request.dryRun === true ? { dryRun: true } : {}),
      };
      const answer = await sendTeam(computer, team.name, body, request.onProgress);
      const parsed = PeerUpResult.safeParse(answer.body);
      if (!parsed.success || (answer.status !== 200 && answer.status !== 409)) throw peerFault(answer);
      if (answer.status === 409) throw failed(computer, team, parsed.data);
      const { plan, results } = parsed.data;
      const asked = new Map(going.map((bot) => [addressOf(bot.slug, team.name), bot]));
      const there = plan
        .filter((step) => asked.has(step.agent))
        .map((step) => {
          const machine = computer.id;
          if (step.action !== 'spawn') return { ...step, machine };
          const setUp = asked.get(step.agent)?.setup ? notSetUp : null;
          return { ...step, machine, reason: [step.reason, note, setUp].filter((part) => part !== null).join('; ') };
        });
      if (request.dryRun !== true) {
        for (const { agent, session, harness = null } of results) {
          const member = deps.registry.find(agent);
          if (member === null || session === null) continue;
          const ref = { computerId: computer.id, computerName: computer.name, session, harness };
          await deps.started(member.id, ref);
        }
      }
      return [...there, ...steps];
    },
  };
}

/** By an id, else all that have the name. */
function named(on: string, known: readonly KnownComputer[]): readonly KnownComputer[] {
  const one = known.find(({ id, cloudId }) => id === on || cloudId === on);
  return one === undefined ? known.filter(({ name }) => name.toLowerCase() === on.toLowerCase()) : [one];
}

function unknownComputer(on: string, known: readonly KnownComputer[]): AppError {
  const fact = `Computer ${on} is not paired with this one.`;
  const others = known.length === 0 ? '' : ` Paired: ${known.map(({ name }) => name).join(', ')}.`;
  return new AppError('not_found', fact, `Pair it first, or leave out --on.${others}`);
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`) || way.startsWith(sep));
}
