/**
 * Plans the start of a team, bot by bot, with every reason why it cannot start. Pure: facts in, plan out. Must not start anything or touch the disk.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { type HarnessName, ownAccount, runsInPane, type TeamPlanStep } from '../../contracts/factory/agent.ts';
import { type SandboxMode, strictestSandbox } from '../../contracts/factory/team-file.ts';
import type { BotSandbox, BotSpec, FoundHarness } from '../harness/harness.ts';
import type { Models } from '../models/index.ts';
import type { AccountStarts } from './accounts/accounts.ts';
import { addressOf } from './model.ts';
import type { Member } from './registry.ts';
import type { ResolvedBot, ResolvedTeam } from './team-file/resolve.ts';

/** A bot to start. */
export interface Start {
  readonly bot: ResolvedBot;
  readonly harness: HarnessName;
  /** Null: it runs as its person. */
  readonly sandbox: BotSandbox | null;
  /** Null: its person's own sign-in. */
  readonly account: string | null;
}

export interface UpPlan {
  readonly steps: readonly TeamPlanStep[];
  readonly starts: readonly Start[];
  /** Why it cannot be done, one for each bot; with any of them nothing is started. */
  readonly hindrances: readonly Hindrance[];
}

export interface Hindrance {
  readonly address: string;
  readonly fact: string;
  readonly action: string;
}

interface PlanFacts {
  readonly members: readonly Member[];
  readonly found: readonly FoundHarness[];
  readonly computerId: string;
  /** Computers that the team file names, as far as they can be reached; null: it is this one. Absent: none. */
  readonly machines?: ReadonlyMap<string, unknown> | undefined;
  /** Bots that were asked for; absent: all of them. */
  readonly only?: ReadonlySet<string> | undefined;
  /** Where models of hosted bots are asked; absent where no bot is hosted. */
  readonly models?: Pick<Models, 'find'> | undefined;
  readonly accounts: Pick<AccountStarts, 'choose'>;
  /** What the workspace wants of every bot in a terminal. */
  readonly sandbox: SandboxMode;
  /** Why this computer cannot make a sandbox, as half a sentence; absent: it can. */
  readonly noSandbox: Readonly<Partial<Record<BotSandbox['mode'], string>>>;
  /** The team is from another computer, which speaks with no agent that runs here. */
  readonly forGuests?: boolean | undefined;
}

export function planUp(team: ResolvedTeam, facts: PlanFacts): UpPlan {
  const steps: TeamPlanStep[] = [];
  const starts: Start[] = [];
  const hindrances: Hindrance[] = [];
  // A bot that has run before in the same way is not shown again.
  const started = new Set(facts.members.flatMap(startedBefore));
  for (const bot of team.bots) {
    const address = addressOf(bot.slug, team.name);
    const live = facts.members.find((member) => member.slug === bot.slug && member.live);
    if (facts.only?.has(bot.slug) === false) {
      steps.push({ action: 'skip', agent: address, reason: 'it was not requested' });
      continue;
    }
    if (live?.placement.inTerminal === false)
      steps.push({ action: 'bind', agent: address, reason: 'it is already running' });
    else if (live !== undefined) steps.push(bindStep(live, bot, facts.computerId));
    else if (bot.binding.type === 'hosted') {
      steps.push({ action: 'bind', agent: address, machine: facts.computerId, reason: hostedReason(bot, facts) });
    } else if (bot.binding.type === 'vendor') {
      const reason = `an app of ${bot.binding.vendor ?? 'its vendor'}: messages to it become tickets`;
      steps.push({ action: 'bind', agent: address, reason });
    } else if (isElsewhere(bot.machine, facts)) {
      // Where the computer is known it is started there, with a separate plan.
      if (facts.machines?.has(bot.machine) === true) continue;
      steps.push({ action: 'skip', agent: address, machine: bot.machine, reason: notPaired(bot.machine) });
    } else {
      const choice = chooseHarness(bot, facts.found);
      const account = 'harness' in choice ? facts.accounts.choose(bot, choice.harness) : null;
      const mode = strictestSandbox([bot.sandbox?.mode ?? 'none', facts.sandbox]);
      const sandbox = mode === 'none' ? null : { ...(bot.sandbox ?? bot.inSandbox), mode };
      const missing = mode === 'none' ? undefined : facts.noSandbox[mode];
      if (sandbox !== null && missing !== undefined) {
        hindrances.push({ address, ...withoutSandbox(sandbox, missing) });
      } else if (facts.forGuests === true && 'harness' in choice && !runsInPane(choice.harness)) {
        hindrances.push({
          address,
          fact: 'agents over ACP run only on the computer whose workspace names them',
          action: 'Remove `machine:`, or use a harness that runs in a terminal.',
        });
      } else if (account !== null && 'fact' in account) {
        hindrances.push({ address, ...account });
      } else if ('harness' in choice) {
        starts.push({ bot, harness: choice.harness, sandbox, account: account?.account ?? null });
        const reason = [
          choice.reason,
          ...(account?.words == null ? [] : [account.words]),
          ...(bot.worktree ? ['in its own git worktree'] : []),
          ...(sandbox === null ? [] : [`in the sandbox "${sandbox.mode}"`]),
        ].join('; ');
        const machine = facts.computerId;
        const start = started.has(startHash(bot, choice.harness)) ? {} : { start: startOf(bot) };
        steps.push({ action: 'spawn', agent: address, harness: choice.harness, machine, reason, ...start });
      } else hindrances.push({ address, ...choice });
    }
  }
  const named = new Set(team.bots.map((bot) => bot.slug));
  for (const member of facts.members.filter((each) => each.live && !named.has(each.slug))) {
    const reason = 'it keeps running, although the team file no longer names it; `gantry teams down` stops it';
    steps.push({ action: 'skip', agent: member.address, machine: facts.computerId, reason });
  }
  return { steps, starts, hindrances };
}

/** A bot without a provider starts all the same: its messages wait, and continue when somebody adds one. */
function hostedReason({ model }: ResolvedBot, { models }: PlanFacts): string {
  const found = model === null ? undefined : models?.find(model);
  if (found !== undefined && 'problem' in found && found.problem.unknown === true)
    return `hosted: no provider is configured for ${model}, so its messages wait until you add one`;
  return `hosted: it answers through ${model ?? 'its model'}, without a terminal`;
}

function startOf(bot: ResolvedBot): NonNullable<TeamPlanStep['start']> {
  return { command: bot.command, cwd: bot.cwd, env: bot.env };
}

/** Equal for the same program, command, folder and variables of the same bot. */
function startHash(bot: ResolvedBot, harness: HarnessName): string {
  const env = Object.entries(bot.env).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([bot.slug, harness, bot.command, bot.cwd, env]);
}

/** The last start of a bot that ran. */
function startedBefore({ slug, spec }: Member): string[] {
  if (spec === null) return [];
  const env = Object.entries(spec.env).sort(([a], [b]) => (a < b ? -1 : 1));
  return [JSON.stringify([slug, spec.harness, spec.command, spec.cwd, env])];
}

function isElsewhere(machine: string | null, { computerId, machines }: PlanFacts): machine is string {
  return machine !== null && machine !== 'local' && machine !== computerId && machines?.get(machine) !== null;
}

/** Nothing is started in its place: without the sandbox it would see everything that its person sees. */
function withoutSandbox({ mode }: BotSandbox, why: string): Omit<Hindrance, 'address'> {
  return {
    fact: `it is to run in the sandbox "${mode}", but ${why}`,
    action:
      mode === 'closed'
        ? 'Make it possible, or choose `sandbox: files` in the team file and .gantry/policy.yaml.'
        : 'Make the sandbox possible, or remove `sandbox:` from the team file and .gantry/policy.yaml.',
  };
}

const notPaired = (machine: string): string =>
  `computer ${machine} is not paired with this one, or its cloud cannot be reached`;

function bindStep(live: Member, bot: ResolvedBot, computerId: string): TeamPlanStep {
  if (live.remote !== null) {
    const { computerId: machine, computerName, harness } = live.remote;
    const reason = `it is already running on ${computerName}`;
    return { action: 'bind', agent: live.address, ...(harness === null ? {} : { harness }), machine, reason };
  }
  const running = live.spec?.harness;
  const same =
    live.spec === null ||
    (bot.harnesses.includes(live.spec.harness) &&
      live.spec.model === bot.model &&
      live.spec.command === bot.command &&
      (bot.sandbox === null || isAsStrict(live.spec.sandbox, bot.sandbox)) &&
      usesOneOf(bot.accounts, live.spec.account) &&
      (bot.worktree || live.spec.cwd === bot.cwd));
  return {
    action: 'bind',
    agent: live.address,
    ...(running === undefined ? {} : { harness: running }),
    machine: computerId,
    reason: same
      ? 'it is already running'
      : 'it is already running with other settings; stop and start its team to apply the new ones',
  };
}

/** One that it took up at a usage limit is as good as the first. */
function usesOneOf(accounts: readonly string[], account = ownAccount): boolean {
  return accounts.length === 0 ? account === ownAccount : accounts.includes(account);
}

function isAsStrict(now: BotSandbox | undefined, wanted: BotSandbox): boolean {
  return now !== undefined && strictestSandbox([now.mode, wanted.mode]) === now.mode;
}

function chooseHarness(
  bot: ResolvedBot,
  found: readonly FoundHarness[],
): { harness: HarnessName; reason: string } | { fact: string; action: string } {
  const missing: FoundHarness[] = [];
  for (const wished of bot.harnesses) {
    const facts = found.find((each) => each.name === wished);
    if (facts === undefined || facts.installed) {
      const passed = missing.map((each) => `${each.name} is not installed`).join(', ');
      return { harness: wished, reason: passed === '' ? 'it is not running' : `it is not running; ${passed}` };
    }
    missing.push(facts);
  }
  return {
    fact: missing.map((each) => each.detail).join(' ') || 'no harness is named',
    action: missing.map((each) => each.fix).find((fix) => fix !== null) ?? 'Install it, or name another harness.',
  };
}

export function specOf(agentId: string, team: ResolvedTeam, start: Start, cwd: string): BotSpec {
  return {
    agentId,
    slug: start.bot.slug,
    team: team.name,
    harness: start.harness,
    model: start.bot.model,
    command: start.bot.command,
    cwd,
    ...(start.bot.worktree ? { checkout: start.bot.cwd } : {}),
    env: start.bot.env,
    culture: team.culture,
    ...(start.sandbox === null ? {} : { sandbox: start.sandbox }),
    ...(start.account === null ? {} : { account: start.account }),
  };
}

/** One error that names every bot that cannot be started, and what mends it. */
export class TeamHindered extends AppError {
  readonly hindrances: readonly Hindrance[];

  constructor(team: string, hindrances: readonly Hindrance[]) {
    const bots = Map.groupBy(hindrances, ({ fact }) => fact.replace(/\.$/, ''));
    const facts = [...bots].map(([fact, of]) => `${of.map(({ address }) => address).join(', ')}: ${fact}`).join('; ');
    const actions = [...new Set(hindrances.map(({ action }) => action))].join(' ');
    super('usage', `Team ${team} cannot start, and nothing was started. ${facts}.`, actions);
    this.hindrances = hindrances;
  }
}
