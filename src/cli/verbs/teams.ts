/** `gantry teams …`: teams of the workspace, started and stopped. */
import { AppError, exitCode } from '../../contracts/common/errors.ts';
import type { TeamPlanStep, TeamProblem } from '../../contracts/factory/agent.ts';
import type { SandboxQuestion } from '../../contracts/factory/teams-routes.ts';
import { type Action, type Context, flag, optionalText, text } from '../command.ts';
import { type ComputerWords, computerWords } from '../computer-names.ts';
import { byOption, verb } from '../route-verb.ts';
import { table } from '../table.ts';
import { count, hanging, inCell, oneLine } from '../words.ts';
import { sandboxFor } from './ask-sandbox.ts';

export const list = verb('listTeams', {
  words: (answer, context) => {
    if (answer.teams.length === 0 && answer.invalid.length === 0) {
      return [
        'No teams in the workspace.',
        `Try the demo: ${context.names.gantry} teams demo`,
        'Or write .gantry/teams/<team>/team.yaml in the workspace.',
      ].join('\n');
    }
    const rows = answer.teams.map((team) => [
      team.name,
      `${team.agents.filter((agent) => agent.pane !== null).length} of ${team.agents.length}`,
      team.preset ?? '-',
      team.presets.join(', ') || '-',
      team.agents.map((agent) => agent.slug).join(', '),
    ]);
    const body =
      answer.teams.length === 0
        ? []
        : [table(['team', 'live', 'preset', 'presets', 'bots'], rows, context.output.width)];
    const broken = answer.invalid.map(
      (team) =>
        `Team ${inCell(team.name)} ${team.waits === undefined ? 'cannot be used' : 'waits for your yes'}:\n${problems(team.problems)}`,
    );
    return [...body, ...broken, ...(answer.note === undefined ? [] : [`Note: ${hanging(answer.note)}`])].join('\n');
  },
});

function problems(list: readonly TeamProblem[]): string {
  return list
    .map(
      (problem) =>
        `  ${problem.line === null ? '' : `line ${problem.line}, `}${inCell(problem.path || 'file')}: ${oneLine(problem.message, 500)}`,
    )
    .join('\n');
}

/** How the plan names computers; null where all are in one place: that needs no column. */
async function namedIn(context: Context, plan: readonly TeamPlanStep[], elsewhere = false) {
  const places = new Set(plan.map((step) => step.machine).filter((machine) => machine !== undefined));
  return (places.size > 1 || elsewhere) && !context.output.json ? await computerWords(context) : null;
}

function planTable(context: Context, plan: readonly TeamPlanStep[], named: ComputerWords | null): string {
  const on = ({ machine }: TeamPlanStep) => (named === null ? [] : [machine === undefined ? '-' : named(machine)]);
  const rows = plan.map((step) => [step.action, step.agent, step.harness ?? '-', ...on(step), step.reason]);
  const heads = named === null ? [] : ['on'];
  return table(['do', 'bot', 'harness', ...heads, 'why'], rows, context.output.width);
}

/** What each bot runs, where and with which variables: before its first start, and after a change. */
function startWords(plan: readonly TeamPlanStep[]): string[] {
  return plan.flatMap(({ agent, harness, start }) => {
    if (start === undefined) return [];
    const variables = Object.entries(start.env).map(([name, value]) => `    ${oneLine(`${name}=${value}`, 300)}`);
    const command = start.command ?? null;
    const program = command === null ? oneLine(harness ?? 'its program', 500) : `\`${oneLine(command, 500)}\``;
    return [
      `${oneLine(agent, 200)} runs ${program} in ${oneLine(start.cwd, 500)}${variables.length === 0 ? '' : ' with'}`,
      ...variables,
    ];
  });
}

/** In the words of `gantry vault set`. */
function placeholderWords(plan: readonly TeamPlanStep[]): string[] {
  return plan.flatMap(({ agent, placeholders = [] }) => {
    if (placeholders.length === 0) return [];
    const what = placeholders.length === 1 ? 'a placeholder' : 'placeholders';
    const value = placeholders.length === 1 ? 'the value goes' : 'each value goes';
    return [
      `${oneLine(agent, 200)} gets ${what} for ${oneLine(placeholders.join(', '), 500)}: ${value} only into requests to its host.`,
    ];
  });
}

export const up = verb('teamUp', {
  fields: { name: 'team', sandbox: sandboxFor },
  progress: 'Starting the team',
  words: async ({ plan, sandbox }, context, input) => {
    const name = inCell(text(input, 'team'));
    const named = await namedIn(context, plan, optionalText(input, 'on') !== undefined);
    const started = plan.filter((step) => step.action === 'spawn').length;
    const done = started === 0 ? `Team ${name} is up; no terminals were started.` : `${count(started, 'bot')} started.`;
    const end = flag(input, 'dryRun')
      ? `${undecided(sandbox)}Nothing was started: this is what would happen.`
      : `${done} Look at them: ${context.names.gantry} agents ls --team ${name}`;
    return [planTable(context, plan, named), ...startWords(plan), ...placeholderWords(plan), end].join('\n');
  },
});

const undecided = (question: SandboxQuestion | undefined) =>
  question === undefined
    ? ''
    : `${inCell(question.file)} does not say what its bots run in, so they would run in no sandbox: --sandbox ${question.suggests} is suggested.\n`;

export const down: Action = async (context, input) => {
  const name = optionalText(input, 'team');
  const all = flag(input, 'all');
  if ((name === undefined) === !all) {
    throw new AppError(
      'usage',
      all ? 'Both a team and --all were given.' : 'No team was given.',
      'Give one team, or --all.',
    );
  }
  const { factory } = await context.connect();
  const dryRun = flag(input, 'dryRun');
  const names = name === undefined ? await teamsWithLiveBots(context) : [name];
  const stopped: string[] = [];
  const letGo: string[] = [];
  const plan: TeamPlanStep[] = [];
  for (const one of names) {
    const answer = await factory.teamDown({ params: { name: one }, query: { dryRun: dryRun ? '1' : undefined } });
    if ('stopped' in answer) {
      stopped.push(...answer.stopped);
      letGo.push(...(answer.letGo ?? []));
    } else plan.push(...answer.plan);
  }
  if (dryRun) {
    const named = await namedIn(context, plan);
    context.output.result({ dryRun: true, plan }, () =>
      plan.length === 0 ? 'No bot is live: nothing to stop.' : planTable(context, plan, named),
    );
  } else {
    context.output.result(
      { stopped, ...(letGo.length === 0 ? {} : { letGo }) },
      () =>
        [
          ...(stopped.length === 0 ? [] : [`${count(stopped.length, 'bot')} stopped: ${inCell(stopped.join(', '))}`]),
          ...(letGo.length === 0 ? [] : [letGoWords(letGo)]),
        ].join('\n') || 'No bot was live.',
    );
  }
  return undefined;
};

function letGoWords(bots: readonly string[]): string {
  const [where, run] =
    bots.length === 1 ? ['its computer', 'it may still run there'] : ['their computers', 'they may still run there'];
  return `Gantry no longer controls ${inCell(bots.join(', '))}: ${where} can no longer be reached from here, and ${run}.`;
}

/** Bots whose team file has gone are live, too: teams are taken from the bots, not from the files. */
async function teamsWithLiveBots(context: Context): Promise<string[]> {
  const { factory } = await context.connect();
  const { agents } = await factory.listAgents();
  return [
    ...new Set(agents.filter((agent) => agent.pane !== null || agent.state !== 'offline').map((agent) => agent.team)),
  ];
}

const checkOne = verb('checkTeam', {
  fields: { name: 'team' },
  words: verdict,
  exit: ({ ok }) => (ok ? 0 : exitCode.usage),
});

const checkAll: Action = async (context) => {
  const { factory } = await context.connect();
  const { teams, invalid } = await factory.listTeams();
  const ok = invalid.length === 0;
  const checked = [
    ...teams.map((team) => ({ team: team.name, ok: true, problems: [] as TeamProblem[] })),
    ...invalid.map((team) => ({ team: team.name, ok: false, problems: team.problems })),
  ];
  context.output.result({ ok, teams: checked }, () =>
    checked.length === 0 ? 'No teams in the workspace.' : checked.map(verdict).join('\n'),
  );
  return ok ? undefined : exitCode.usage;
};

export const check = byOption({ team: checkOne }, checkAll);

function verdict(team: { team: string; ok: boolean; problems: readonly TeamProblem[] }): string {
  if (team.ok) return `${inCell(team.team)}: no problems`;
  return `${inCell(team.team)}: ${count(team.problems.length, 'problem')}\n${problems(team.problems)}`;
}

export const demo = verb('addDemo', {
  words: ({ applied, written, team }, { names }) => {
    if (!applied) return `Would write:\n${written.map((file) => `  ${inCell(file)}`).join('\n')}`;
    const what = written.length === 0 ? 'already there' : count(written.length, 'file');
    return `The demo team is in the workspace (${what}). Start it: ${names.gantry} teams up ${inCell(team)}`;
  },
});
