/**
 * Chooses the executor of each step: roles, bots and harnesses become addresses. Where several teams could fill a role, the run is refused with the
 * names to pick from; where several bots could, the least loaded one gets the step. Pure; callers supply load and teams.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { bindingTypes } from '../../contracts/factory/agent.ts';
import type { TemplateStep } from '../../contracts/factory/workflow.ts';
import type { WorkerBot, Workforce, WorkTeam } from './deps.ts';
import { runsCommand } from './template/checks.ts';

export interface Resolved {
  /** `shell`, `queue` or an address. */
  readonly executor: string;
  readonly bindingType: (typeof bindingTypes)[number] | null;
  readonly checker: string | null;
  /** Whom the choice was among, when there was one. */
  readonly among: readonly string[];
}

interface Choice {
  readonly workforce: Workforce;
  readonly team: string | null;
  readonly preset: string | null;
  /** Why no step can go to a worker of the queue, as a sentence; null: it can. */
  readonly queueProblem: string | null;
  /** Open nodes a bot has. */
  readonly loadOf: (address: string) => number;
}

/** One answer a step, in order. Throws `usage` or `not_found` with everything that cannot be resolved. */
export function resolveExecutors(steps: readonly TemplateStep[], choice: Choice): Resolved[] {
  const { workforce } = choice;
  const given = choice.team === null ? null : workforce.team(choice.team, choice.preset);
  const forQueue = steps.find((step) => step.executor === 'queue');
  if (forQueue !== undefined && choice.queueProblem !== null) {
    throw new AppError(
      'refused',
      `The step "${forQueue.id}" is for a worker of the queue. ${choice.queueProblem}`,
      'Pair this computer (gantry pair <address>), or run the step here: executor: shell.',
      { status: 409 },
    );
  }
  let only: WorkTeam | null = given;
  const needsTeam = steps.filter((step) => /^(role|harness):/.test(step.executor));
  if (only === null && needsTeam.length > 0) only = onlyTeam(workforce, needsTeam, choice.preset);
  if (only === null && choice.preset !== null) {
    throw new AppError(
      'usage',
      `The preset "${choice.preset}" needs a team.`,
      'Name the team, or leave the preset out.',
    );
  }

  const added = new Map<string, number>();
  const pick = (bots: readonly WorkerBot[]): WorkerBot | undefined => {
    const load = (bot: WorkerBot) => choice.loadOf(bot.address) + (added.get(bot.address) ?? 0);
    return [...bots].sort((a, b) => load(a) - load(b))[0];
  };
  const problems: string[] = [];
  const resolved = steps.map((step): Resolved => {
    if (runsCommand(step.executor)) {
      return { executor: step.executor, bindingType: null, checker: null, among: [] };
    }
    const found = candidates(step.executor, workforce, only, choice.preset);
    const bot = 'problem' in found ? undefined : pick(found.bots);
    if ('problem' in found || bot === undefined) {
      problems.push(`step "${step.id}": ${'problem' in found ? found.problem : 'nobody is there'}`);
      return { executor: '', bindingType: null, checker: null, among: [] };
    }
    added.set(bot.address, (added.get(bot.address) ?? 0) + 1);
    return {
      executor: bot.address,
      bindingType: bot.bindingType,
      checker: checkerOf(found.team, bot),
      among: found.bots.map((one) => one.address),
    };
  });
  if (problems.length > 0) {
    throw new AppError(
      'usage',
      `Nobody can carry out ${problems.join('; ')}.`,
      'Choose another team or preset, or change the team file.',
    );
  }
  return resolved;
}

function onlyTeam(workforce: Workforce, steps: readonly TemplateStep[], preset: string | null): WorkTeam {
  const names = workforce.teams();
  const [name, second] = names;
  if (name !== undefined && second === undefined) return workforce.team(name, preset);
  const wanted = [...new Set(steps.map((step) => step.executor))].slice(0, 5).join(', ');
  if (name === undefined) {
    throw new AppError(
      'usage',
      `Steps are assigned by ${wanted}, and the workspace has no team.`,
      'Create a team file: .gantry/teams/<team>/team.yaml.',
    );
  }
  throw new AppError(
    'usage',
    `Steps are assigned by ${wanted}, and the workspace has several teams: ${names.join(', ')}.`,
    `Name one of them as team: ${names.join(', ')}.`,
  );
}

type Found = { readonly team: WorkTeam; readonly bots: readonly WorkerBot[] } | { readonly problem: string };

function candidates(executor: string, workforce: Workforce, team: WorkTeam | null, preset: string | null): Found {
  const [kind, name] = split(executor);
  if (kind === 'bot') return findBot(name, workforce, team, preset);
  if (team === null) return { problem: `"${executor}" needs a team` };
  const bots = team.bots.filter((bot) => (kind === 'role' ? bot.role === name : bot.harness === name));
  const near = bots.filter((bot) => !isFar(bot));
  if (near.length > 0) return { team, bots: near };
  if (bots[0] !== undefined) return farAway(bots[0]);
  const there = [
    ...new Set(team.bots.map((bot) => (kind === 'role' ? bot.role : bot.harness)).filter((one) => one !== null)),
  ];
  const list = there.length === 0 ? 'none' : there.join(', ');
  return { problem: `team ${team.name} has no ${kind} "${name}" (it has: ${list})` };
}

function findBot(name: string, workforce: Workforce, team: WorkTeam | null, preset: string | null): Found {
  const at = name.indexOf('@');
  const slug = at < 0 ? name : name.slice(0, at);
  const named = at < 0 ? null : name.slice(at + 1);
  if (named !== null && !workforce.teams().includes(named)) return { problem: `there is no team "${named}"` };
  const teams =
    named !== null
      ? [named === team?.name ? team : workforce.team(named, null)]
      : team !== null
        ? [team]
        : workforce.teams().map((one) => workforce.team(one, preset));
  const found = teams.flatMap((one) => one.bots.filter((bot) => bot.slug === slug).map((bot) => ({ team: one, bot })));
  const [first, second] = found;
  if (first === undefined)
    return { problem: `no bot is called "${name}"${team === null ? '' : ` in team ${team.name}`}` };
  if (second !== undefined)
    return { problem: `several bots are called "${slug}": ${found.map((one) => one.bot.address).join(', ')}` };
  return isFar(first.bot) ? farAway(first.bot) : { team: first.team, bots: [first.bot] };
}

const isFar = (bot: WorkerBot) => (bot.elsewhere ?? null) !== null;

function farAway({ address, elsewhere }: WorkerBot): Found {
  return { problem: `${address} runs on ${elsewhere}, but steps need bots of this computer` };
}

/** The bot that the team's edges make check this one; never itself. */
function checkerOf(team: WorkTeam, bot: WorkerBot): string | null {
  const edge = team.edges.find((one) => one.kind === 'checks' && one.to === bot.slug && one.from !== bot.slug);
  return team.bots.find((one) => one.slug === edge?.from)?.address ?? null;
}

function split(executor: string): ['role' | 'bot' | 'harness', string] {
  const at = executor.indexOf(':');
  return [executor.slice(0, at) as 'role' | 'bot' | 'harness', executor.slice(at + 1)];
}
