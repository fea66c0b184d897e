/** A bot's changes on its own branch, and their three ends: merged, kept, discarded (bots with `worktree: true`). */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id } from '../common/values.ts';
import { area, base, errors, people, readers } from './route-parts.ts';

const agentParam = {
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'agent', list: 'gantry agents ls' },
} as const;

/** More text than this is cut at the end of a line; characters. */
export const mostPatch = 1_000_000;

export const ChangedFile = z.strictObject({
  path: z.string(),
  from: z.string().nullable().meta({ description: 'Its former path, when it was renamed.' }),
  change: z.enum(['added', 'changed', 'removed', 'renamed']),
  added: z.number().int().nullable().meta({ description: 'Lines; null for a binary file.' }),
  removed: z.number().int().nullable(),
});

export const WorktreeDiff = z
  .strictObject({
    agent: z.string().meta({ description: 'Address.' }),
    path: z.string().meta({ description: 'Folder of the worktree.' }),
    branch: z.string(),
    into: z
      .string()
      .nullable()
      .meta({ description: 'Branch of the checkout that it would be merged into; null where none is checked out.' }),
    base: z.string().meta({ description: 'The commit that both have; the diff begins there.' }),
    head: z.string(),
    ahead: z.number().int().meta({ description: 'Commits that only the bot’s branch has.' }),
    behind: z.number().int().meta({ description: 'Commits that it does not have yet.' }),
    uncommitted: z.number().int().meta({ description: 'Files that are changed or new and in no commit.' }),
    files: z.array(ChangedFile),
    patch: z.string().meta({ description: 'Everything since `base`, committed or not, as a unified diff.' }),
    cut: z.boolean().meta({ description: 'The patch is longer than what is shown.' }),
  })
  .meta({ id: 'WorktreeDiff' });
export type WorktreeDiff = z.infer<typeof WorktreeDiff>;

export const agentDiff = defineRoute({
  op: 'agentDiff',
  area,
  errors,
  summary: 'What the bot changed in its worktree; not_found for a bot that has none',
  method: 'GET',
  path: `${base}/agents/:id/diff`,
  auth: readers,
  scope: 'agents:read',
  ...agentParam,
  answers: { 200: WorktreeDiff },
});

export const worktreeEnds = ['merge', 'keep', 'discard'] as const;
export type WorktreeEnd = (typeof worktreeEnds)[number];

const Ending = z.strictObject({
  agent: z.string(),
  branch: z.string().meta({ description: 'The branch as it was.' }),
  into: z.string().nullable().meta({ description: 'Of a merge: the branch that has it now.' }),
  commits: z.number().int().meta({ description: 'How many commits it is about.' }),
  files: z.number().int(),
  keptAs: z.string().nullable().meta({
    description:
      'Where the work can still be found: the branch kept, or the ref of what was set aside. Null after a merge.',
  }),
  steps: z.array(z.string()).meta({ description: 'What is done, in words and in order.' }),
});
export type WorktreeEnding = z.infer<typeof Ending>;

const answers = {
  200: z.union([
    z.strictObject({ done: Ending.extend({ head: z.string().meta({ description: 'The commit that it led to.' }) }) }),
    z.strictObject({ dryRun: z.literal(true), plan: Ending }),
  ]),
} as const;

const commit = z
  .string()
  .min(1)
  .max(5000)
  .optional()
  .meta({ description: 'Commits what is uncommitted under this message first; without it, such work is a refusal.' });
const dryRun = z.boolean().optional();
const act = { method: 'POST', auth: people, scope: 'bots:act', area, errors, ...agentParam, answers } as const;

export const mergeWorktree = defineRoute({
  ...act,
  op: 'mergeWorktree',
  summary: 'Merges the bot’s branch into the checkout; refused on conflict and where it has uncommitted changes',
  path: `${base}/agents/:id/merge`,
  body: z.strictObject({ commit, dryRun }),
});

export const keepWorktree = defineRoute({
  ...act,
  op: 'keepWorktree',
  summary: 'Leaves the branch to its person, and gives the bot a fresh one',
  path: `${base}/agents/:id/keep`,
  body: z.strictObject({
    as: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$/, 'a branch name of letters, digits and . _ - /')
      .optional()
      .meta({ description: 'Name of the branch (default: the one it has).' }),
    commit,
    dryRun,
  }),
});

export const discardWorktree = defineRoute({
  ...act,
  op: 'discardWorktree',
  summary: 'Gives the bot a fresh branch; what was not merged is set aside under refs/gantry/discarded, never deleted',
  path: `${base}/agents/:id/discard`,
  body: z.strictObject({ dryRun }),
});

export const worktreeRoutes = [agentDiff, mergeWorktree, keepWorktree, discardWorktree] as const;
