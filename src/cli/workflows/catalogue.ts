/** The parts `workflows` and `workspace` of the command line, with the words of their help. */
import type { Option, Part, Verb } from '../command.ts';
import { plain } from '../plain.ts';
import { leases, plans, tickets, triggers } from '../work-engine/catalogue.ts';

const node = '<run> <node>';
const nodeHelp = '<node> is the id of a node, or of its step.';

const answerHelp = 'Exit code 1 when somebody else answered first or it has expired. A bot cannot answer.';
const noteOption: Option = { flags: '--note <text>', about: 'a note to go with the answer' };

const runOptions: readonly Option[] = [
  { flags: '--intent <text>', about: 'what the run is for; fills the param named intent' },
  { flags: '--param <name=value...>', about: 'values of the template’s params' },
  { flags: '--campaign <campaign>', about: 'the campaign it belongs to' },
  { flags: '--project <project>', about: 'the project it belongs to' },
  { flags: '--team <team>', about: 'the team whose bots take the steps' },
  { flags: '--preset <preset>', about: 'a preset of the team' },
];

const budgetOptions: readonly Option[] = [
  { flags: '--budget <usd>', about: 'dollars it may spend in all; then you are asked' },
  { flags: '--budget-tokens <n>', about: 'tokens it may use in all' },
  { flags: '--budget-minutes <n>', about: 'minutes that it may be at work' },
];

export const doVerb: Verb = {
  name: 'do',
  args: '[prompt...]',
  about: 'Start a run from a prompt, with a bot in a worktree of your repository',
  more: 'gantry do "fix the flaky test" --repo . --agent claude\ngantry do "fix the flaky test" --agent claude --agent codex   side by side: merge one, discard the other\nThe prompt comes first. With --wait the exit code is that of `gantry workflows watch`.',
  options: [
    { flags: '--repo <folder>', about: 'the repository (default: the current folder)' },
    {
      flags: '--agent <program...>',
      about: 'an agent program; repeat it for more bots (default: one that is signed in)',
    },
    { flags: '--model <model...>', about: 'a hosted bot with this model, such as anthropic/claude-sonnet-5-5' },
    { flags: '--title <text>', about: 'title of the run (default: the first line of the prompt)' },
    {
      flags: '--sandbox <mode>',
      about: 'closed, files or none (default: the strictest that its program can run in here)',
    },
    ...budgetOptions,
    { flags: '--wait', about: 'wait until the run ends or needs you' },
    { flags: '--for <seconds>', about: 'with --wait: stop waiting after this many seconds' },
    { flags: '--list', about: 'list these runs, with their changes and outcomes' },
    { flags: '--merge <run>', about: 'merge the work of its bot' },
    { flags: '--keep <run>', about: 'keep the branch of its bot' },
    { flags: '--discard <run>', about: 'stop its bot, and remove its worktree and branch' },
    { flags: '--bot <name>', about: 'with --merge, --keep or --discard: which bot of the run' },
  ],
  mutation: true,
  load: () => import('./do.ts').then((m) => m.doIt),
};

export const workflows: Part = {
  name: 'workflows',
  about: 'Templates and runs',
  verbs: [
    { name: 'templates', about: 'List templates', load: () => import('./templates.ts').then((m) => m.list) },
    {
      name: 'show',
      args: '<template>',
      about: 'Show a template: its params and steps',
      load: () => import('./templates.ts').then((m) => m.show),
    },
    {
      name: 'check',
      args: '[template]',
      about: 'Check a template, or all, and print every problem with path and line',
      load: () => import('./templates.ts').then((m) => m.check),
    },
    {
      name: 'save',
      args: '<run>',
      about: 'Save a run as a template of the workspace',
      options: [
        { flags: '--id <id>', about: 'id of the template (default: the title of the run)' },
        { flags: '--force', about: 'replace a template with this id' },
      ],
      mutation: true,
      load: () => import('./templates.ts').then((m) => m.save),
    },
    {
      name: 'delete',
      args: '<template>',
      about: 'Delete a template of the workspace; its runs stay',
      mutation: true,
      load: () => import('./templates.ts').then((m) => m.remove),
    },
    {
      name: 'restore',
      args: '<template>',
      about: 'Bring back the template that was last deleted under this id',
      mutation: true,
      load: () => import('./templates.ts').then((m) => m.restore),
    },
    {
      name: 'run',
      args: '<template>',
      about: 'Start a run; --dry-run shows who would do what',
      options: [...runOptions, ...budgetOptions],
      mutation: true,
      load: () => import('./runs.ts').then((m) => m.run),
    },
    {
      name: 'budget',
      args: '<run-or-campaign>',
      about: 'Show what a run or campaign used of its budget, or set one',
      options: [
        { flags: '--step <step>', about: 'of one step of the run' },
        { flags: '--usd <n>', about: 'dollars in all' },
        { flags: '--tokens <n>', about: 'tokens in all' },
        { flags: '--minutes <n>', about: 'minutes at work' },
        { flags: '--none', about: 'remove the budget' },
      ],
      mutation: true,
      load: () => import('./budgets.ts').then((m) => m.budget),
    },
    {
      name: 'schedule',
      args: '<template>',
      about: 'Run a template at given times; --dry-run shows the next five',
      more: 'Five fields: minute, hour, day of month, month, weekday. "0 9 * * 1-5" is 9:00 on workdays.\nA time when Gantry is not running is missed, and shown; each time runs at most once.',
      options: [
        { flags: '--cron <fields>', about: 'when it repeats' },
        { flags: '--at <time>', about: 'once, such as 2026-12-01T09:00:00+01:00' },
        { flags: '--timezone <zone>', about: 'such as Europe/Berlin (default: that of the computer)' },
        { flags: '--title <text>', about: 'name of the schedule (default: the template)' },
        { flags: '--run-missed', about: 'start one run for the times that were missed' },
        ...runOptions,
      ],
      mutation: true,
      load: () => import('./schedules.ts').then((m) => m.schedule),
    },
    {
      name: 'schedules',
      args: '[schedule]',
      about: 'List schedules; with one: its times, or pause, resume or run it',
      options: [
        { flags: '--pause', about: 'start nothing until it is resumed' },
        { flags: '--resume', about: 'resume it' },
        { flags: '--run', about: 'start its run now' },
        { flags: '--due <time>', about: 'with --run: for this missed time' },
      ],
      mutation: true,
      load: () => import('./schedules.ts').then((m) => m.schedules),
    },
    plain('removeSchedule', {
      name: 'unschedule',
      args: '<schedule>',
      about: 'Remove a schedule; its runs stay',
      load: () => import('./schedules.ts').then((m) => m.unschedule),
    }),
    {
      name: 'watch',
      args: '<run>',
      about: 'Watch a run until it ends or needs you',
      more: 'Exit code: 0 done or degraded, 1 failed or cancelled, 5 needs you, 4 still running after --for seconds.',
      options: [{ flags: '--for <seconds>', about: 'stop after this many seconds' }],
      load: () => import('./runs.ts').then((m) => m.watch),
    },
    {
      name: 'report',
      args: '<run>',
      about: 'Write a run as one HTML page to keep, print or send',
      more: 'It has the intent, steps, proofs with images, costs, and who decided what and when. It needs no other file.\nWithout --out the file is named report-<run>.html, in the current folder; with --out - it is printed.',
      options: [
        { flags: '--out <file>', about: 'where to write it' },
        { flags: '--force', about: 'replace an existing file' },
      ],
      load: () => import('./report.ts').then((m) => m.report),
    },
    plain('cancelRun', {
      name: 'cancel',
      args: '<run>',
      about: 'Cancel a run; steps at work are ended within 15 seconds',
      load: () => import('./runs.ts').then((m) => m.cancel),
    }),
    plain('gateNode', {
      name: 'gate',
      args: node,
      about: 'Open the gate that a step waits at',
      more: nodeHelp,
      values: { note: 'text' },
      load: () => import('./nodes.ts').then((m) => m.gate),
    }),
  ],
};

export const workspace: Part = {
  name: 'workspace',
  about: 'Campaigns, steps, proofs and approvals',
  verbs: [
    {
      name: 'campaigns',
      about: 'List campaigns, or open one',
      options: [
        { flags: '--create <title>', about: 'open a campaign' },
        { flags: '--intent <text>', about: 'what the campaign is for' },
        ...budgetOptions,
      ],
      mutation: true,
      load: () => import('./campaigns.ts').then((m) => m.campaigns),
    },
    {
      name: 'board',
      args: '<campaign>',
      about: 'Show a campaign’s board: what is done, what needs you, what is under way and what is next',
      load: () => import('./campaigns.ts').then((m) => m.board),
    },
    {
      name: 'nodes',
      about: 'List open steps; in a bot’s terminal, its own',
      options: [
        { flags: '--assignee <bot@team>', about: 'only the steps of this bot' },
        { flags: '--all', about: 'also those that have ended' },
      ],
      load: () => import('./nodes.ts').then((m) => m.list),
    },
    {
      name: 'node',
      args: node,
      about: 'Show a step: its task, proofs and history',
      more: nodeHelp,
      load: () => import('./nodes.ts').then((m) => m.show),
    },
    plain('claimNode', {
      name: 'claim',
      args: node,
      about: 'Claim a step; a person takes it over from its bot',
      more: nodeHelp,
      load: () => import('./nodes.ts').then((m) => m.claim),
    }),
    plain('progressNode', {
      name: 'progress',
      args: `${node} <text...>`,
      about: 'Note progress on a step',
      more: nodeHelp,
      load: () => import('./nodes.ts').then((m) => m.progress),
    }),
    plain('doneNode', {
      name: 'done',
      args: node,
      about: 'Mark a step as done; a checker or a person accepts it',
      more: nodeHelp,
      values: { output: 'text', note: 'text' },
      load: () => import('./nodes.ts').then((m) => m.done),
    }),
    plain('failNode', {
      name: 'fail',
      args: `${node} <reason...>`,
      about: 'Mark a step as failed, or reject its result',
      more: nodeHelp,
      load: () => import('./nodes.ts').then((m) => m.fail),
    }),
    plain('retryNode', {
      name: 'retry',
      args: node,
      about: 'Retry a step that failed or waits for a person',
      more: nodeHelp,
      load: () => import('./nodes.ts').then((m) => m.retry),
    }),
    plain('skipNode', {
      name: 'skip',
      args: node,
      about: 'Skip a step and continue without it',
      more: nodeHelp,
      values: { reason: 'text' },
      load: () => import('./nodes.ts').then((m) => m.skip),
    }),
    {
      name: 'proof',
      args: `${node} <file>`,
      about: 'Upload a file that proves a line of a step, at most 25 MiB',
      more: nodeHelp,
      options: [{ flags: '--line <line>', about: 'the line it proves, worded as in the step' }],
      mutation: true,
      load: () => import('./proof.ts').then((m) => m.proof),
    },
    {
      name: 'approvals',
      about: 'List approvals that wait for your answer, in full',
      options: [
        { flags: '--all', about: 'also those answered, withdrawn or expired' },
        { flags: '--limit <n>', about: 'at most this many, 1 to 200' },
      ],
      load: () => import('../approvals/approvals.ts').then((m) => m.list),
    },
    {
      name: 'approve',
      args: '<approval>',
      about: 'Approve a request; the first answer counts',
      more: answerHelp,
      options: [noteOption],
      mutation: true,
      load: () => import('../approvals/approvals.ts').then((m) => m.approve),
    },
    {
      name: 'reject',
      args: '<approval>',
      about: 'Reject a request; the first answer counts',
      more: answerHelp,
      options: [noteOption],
      mutation: true,
      load: () => import('../approvals/approvals.ts').then((m) => m.reject),
    },
    tickets,
    triggers,
    plans,
    leases,
  ],
};
