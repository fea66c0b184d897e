/** New runs: a prompt for one or more bots, each in a worktree of its own of one repository, without a team file in the workspace. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Paging, Time } from '../common/values.ts';
import { AgentState, harnessesWith } from './agent.ts';
import { NodeStatus } from './node.ts';
import { area, base, errors } from './route-parts.ts';
import { SandboxMode, TeamName } from './team-file.ts';
import { RunStatus, WorkBudget } from './workflow.ts';
import { WorktreeDiff } from './worktree-routes.ts';

/** Agent programs that can be given a prompt. */
export const quickPrograms = harnessesWith('takesPrompt');
export const QuickProgram = z.enum(quickPrograms);
export type QuickProgram = z.infer<typeof QuickProgram>;

export const maxQuickBots = 4;
/** Characters. */
export const maxQuickPrompt = 50_000;
export const maxQuickImages = 8;
/** Bytes of one image. */
export const largestQuickImage = 5 * 1024 * 1024;

/** Only a person: a new run starts programs in a folder of their choice. */
const own = { area, errors, auth: ['owner', 'user', 'link'] } as const;
const runParam = {
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'quick run', word: 'run', list: 'GET /api/factory/quick-runs' },
} as const;

export const QuickWho = z
  .strictObject({
    harness: QuickProgram.optional(),
    model: z.string().min(1).max(200).optional().meta({
      description: 'With a harness: the model it uses. Alone: a hosted bot with this model, as <provider>/<model>.',
    }),
  })
  .refine((who) => who.harness !== undefined || who.model !== undefined, 'name a harness or a model');
export type QuickWho = z.infer<typeof QuickWho>;

export const QuickChoices = z
  .strictObject({
    repositories: z
      .array(
        z.strictObject({
          path: z.string(),
          name: z.string().meta({ description: 'Name of the folder.' }),
          branch: z.string().nullable().meta({ description: 'Null: no branch is checked out.' }),
          lastUsed: Time.nullable().meta({ description: 'Of the last new run; null: only bots of a team work there.' }),
        }),
      )
      .meta({ description: 'Repositories of earlier runs, of bots, and the workspace; latest first.' }),
    programs: z
      .array(
        z.strictObject({
          harness: QuickProgram,
          installed: z.boolean(),
          signedIn: z.boolean().nullable().meta({ description: 'Null: unknown.' }),
          version: z.string().nullable(),
          fix: z.string().nullable().meta({ description: 'What to run if it is missing or not signed in.' }),
        }),
      )
      .meta({ description: 'Those that are signed in first.' }),
    models: z.array(z.string()).meta({ description: 'Hosted models that bots or earlier runs use.' }),
    providers: z.array(
      z.strictObject({
        name: z.string().meta({ description: 'The part of a model name before the slash.' }),
        ready: z.boolean().meta({ description: 'It has its key, or needs none.' }),
      }),
    ),
  })
  .meta({ id: 'QuickChoices' });
export type QuickChoices = z.infer<typeof QuickChoices>;

export const quickOutcomes = ['merged', 'kept', 'discarded'] as const;
export const QuickOutcome = z.enum(quickOutcomes);
export type QuickOutcome = z.infer<typeof QuickOutcome>;

export const QuickDiff = z.strictObject({
  files: z.number().int(),
  added: z.number().int().meta({ description: 'Lines.' }),
  removed: z.number().int(),
});
export type QuickDiff = z.infer<typeof QuickDiff>;

export const QuickBot = z
  .strictObject({
    agentId: z.string().nullable().meta({ description: 'Null: the bot is gone.' }),
    address: z.string().meta({ description: '"slug@team"' }),
    name: z.string().meta({ description: 'The slug, which names the bot in an outcome.' }),
    team: z.string(),
    harness: QuickProgram.nullable().meta({ description: 'Null: a hosted bot.' }),
    model: z.string().nullable(),
    sandbox: SandboxMode.meta({ description: 'What its program runs in; of a hosted bot: none.' }),
    dagId: z.string(),
    nodeId: z.string(),
    status: NodeStatus.meta({ description: 'Of its step of the run.' }),
    state: AgentState,
    stateReason: z.string().nullable(),
    lastLine: z.string().nullable().meta({ description: 'What it reported last.' }),
    setUp: z
      .strictObject({
        done: z.number().int(),
        total: z.number().int(),
        what: z.string().meta({ description: 'The part under way: a copy, or the command.' }),
      })
      .optional()
      .meta({ description: 'How far the set-up of its worktree is; absent while none is under way.' }),
    branch: z.string().nullable().meta({ description: 'Its branch; after an end, where its work is.' }),
    diff: QuickDiff.nullable().meta({
      description:
        'Null: not known, because it has no worktree yet, git cannot read it, or git has not read it yet. In a list: as it was read last if git takes longer than 2 s.',
    }),
    outcome: QuickOutcome.nullable(),
    outcomeAt: Time.nullable(),
  })
  .meta({ id: 'QuickBot' });
export type QuickBot = z.infer<typeof QuickBot>;

export const QuickRun = z
  .strictObject({
    id: z.string().meta({ description: 'The id of its run; /flow and the board show it by this id.' }),
    title: z.string(),
    prompt: z.string(),
    repository: z.string(),
    baseBranch: z.string().nullable(),
    baseCommit: z.string(),
    startedAt: Time,
    status: RunStatus,
    savedAs: z.string().nullable().meta({ description: 'The team that it was saved as.' }),
    bots: z.array(QuickBot),
  })
  .meta({ id: 'QuickRun' });
export type QuickRun = z.infer<typeof QuickRun>;

export const quickRunChoices = defineRoute({
  ...own,
  op: 'quickRunChoices',
  summary: 'Lists what a new run can be started with: repositories, agent programs, hosted models',
  method: 'GET',
  path: `${base}/quick-runs/choices`,
  scope: 'agents:read',
  owner: { none: 'facts of the computer, for its owner' },
  answers: { 200: QuickChoices },
});

export const listQuickRuns = defineRoute({
  ...own,
  op: 'listQuickRuns',
  summary: 'Lists runs that were started from a prompt, newest first',
  method: 'GET',
  path: `${base}/quick-runs`,
  scope: 'agents:read',
  owner: 'collection',
  query: z.strictObject({ ...Paging }),
  answers: { 200: z.strictObject({ runs: z.array(QuickRun), nextCursor: z.string().nullable() }) },
});

export const getQuickRun = defineRoute({
  ...own,
  op: 'getQuickRun',
  summary: 'Reads a run that was started from a prompt, with its bots, diffs and outcomes',
  method: 'GET',
  path: `${base}/quick-runs/:id`,
  scope: 'agents:read',
  ...runParam,
  answers: { 200: QuickRun },
});

export const quickRunDiff = defineRoute({
  ...own,
  op: 'quickRunDiff',
  summary:
    'Reads what one bot of a run changed, also after an outcome: as it was merged, kept or set aside; not_found once git has dropped the commits',
  method: 'GET',
  path: `${base}/quick-runs/:id/diff`,
  scope: 'agents:read',
  ...runParam,
  query: z.strictObject({ bot: z.string().min(1).max(64).meta({ description: 'Its name in the run.' }) }),
  answers: { 200: WorktreeDiff.pick({ branch: true, base: true, head: true, files: true, patch: true, cut: true }) },
});

const QuickPlan = z.strictObject({
  title: z.string(),
  repository: z.string(),
  baseBranch: z.string().nullable(),
  baseCommit: z.string(),
  bots: z.array(QuickBot.pick({ name: true, harness: true, model: true, sandbox: true })),
});
export type QuickPlan = z.infer<typeof QuickPlan>;

export const startQuickRun = defineRoute({
  ...own,
  op: 'startQuickRun',
  summary:
    'Starts a run from a prompt: one bot for each entry of `who`, each in its own worktree; needs_person while files of the repository wait for a yes',
  method: 'POST',
  path: `${base}/quick-runs`,
  scope: 'bots:act',
  owner: { none: 'the folder belongs to the person whose computer it is' },
  idempotent: true,
  bodyLimit: Math.ceil((maxQuickImages * largestQuickImage * 4) / 3) + 1024 * 1024,
  body: z.strictObject({
    repository: z.string().min(1).max(4096).meta({ description: 'Absolute path of a folder in a git repository.' }),
    prompt: z.string().trim().min(1, 'a prompt').max(maxQuickPrompt),
    who: z.array(QuickWho).min(1).max(maxQuickBots),
    title: z.string().trim().min(1).max(200).optional().meta({ description: 'Default: the first line of the prompt.' }),
    images: z
      .array(
        z.strictObject({
          name: z.string().regex(/^[^/\\\p{Cc}]{1,100}\.(?:png|jpe?g|gif|webp)$/iu, 'a file name such as screen.png'),
          data: z.base64().meta({ description: 'At most 5 MiB, decoded.' }),
        }),
      )
      .max(maxQuickImages)
      .optional()
      .meta({ description: 'The prompt names them as files that the bots can read.' }),
    sandbox: SandboxMode.optional().meta({
      description:
        'Of the bots in terminals. Absent: for each the strictest in which its program can run on this computer.',
    }),
    budget: WorkBudget.optional().meta({ description: 'Of the run: all its bots together.' }),
    dryRun: z.boolean().optional(),
  }),
  answers: { 201: QuickRun, 200: z.strictObject({ dryRun: z.literal(true), plan: QuickPlan }) },
});

export const endQuickRun = defineRoute({
  ...own,
  op: 'endQuickRun',
  summary:
    'Ends the work of one bot of a run: merges its branch, keeps it, or discards bot, worktree and branch; `kept` after `discarded` brings the branch back',
  method: 'POST',
  path: `${base}/quick-runs/:id/outcome`,
  scope: 'bots:act',
  ...runParam,
  body: z.strictObject({
    bot: z.string().min(1).max(64).meta({ description: 'Its name in the run.' }),
    outcome: QuickOutcome,
    dryRun: z.boolean().optional(),
  }),
  answers: {
    200: z.union([
      z.strictObject({ run: QuickRun, steps: z.array(z.string()) }),
      z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ steps: z.array(z.string()) }) }),
    ]),
  },
});

export const saveQuickRun = defineRoute({
  ...own,
  op: 'saveQuickRun',
  summary: 'Saves the bots of a run as a team of the workspace',
  method: 'POST',
  path: `${base}/quick-runs/:id/save`,
  scope: 'bots:act',
  ...runParam,
  body: z.strictObject({ team: TeamName, dryRun: z.boolean().optional() }),
  answers: {
    200: z.strictObject({
      team: z.string(),
      file: z.string().meta({ description: 'Relative to the workspace.' }),
      text: z.string(),
      applied: z.boolean(),
    }),
  },
});

export const quickRunRoutes = [
  quickRunChoices,
  listQuickRuns,
  startQuickRun,
  getQuickRun,
  quickRunDiff,
  endQuickRun,
  saveQuickRun,
] as const;
