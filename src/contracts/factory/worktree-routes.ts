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
export const maxPatchLength = 1_000_000;

export const ChangedFile = z.strictObject({
  path: z.string(),
  from: z.string().nullable().meta({ description: 'Its former path if it was renamed.' }),
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
      .meta({ description: 'Branch of the checkout that it would be merged into; null if none is checked out.' }),
    base: z.string().meta({ description: 'The last commit that both have; the diff begins there.' }),
    head: z.string(),
    ahead: z.number().int().meta({ description: 'How many commits only the bot’s branch has.' }),
    behind: z.number().int().meta({ description: 'How many commits it does not have yet.' }),
    uncommitted: z.number().int().meta({ description: 'How many files are changed or new but not committed.' }),
    files: z.array(ChangedFile),
    patch: z.string().meta({ description: 'Everything since `base`, committed or not, as a unified diff.' }),
    cut: z.boolean().meta({ description: 'True: the patch is longer than what is shown.' }),
  })
  .meta({ id: 'WorktreeDiff' });
export type WorktreeDiff = z.infer<typeof WorktreeDiff>;

export const agentDiff = defineRoute({
  op: 'agentDiff',
  area,
  errors,
  summary: 'Reads what the bot changed in its worktree; not_found for a bot without one',
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
  branch: z.string().meta({ description: 'The branch before the change.' }),
  into: z.string().nullable().meta({ description: 'After a merge: the branch that has the commits.' }),
  commits: z.number().int().meta({ description: 'How many commits are affected.' }),
  files: z.number().int(),
  keptAs: z.string().nullable().meta({
    description:
      'Where the work can still be found: the kept branch, or the ref of the discarded work. Null after a merge.',
  }),
  steps: z.array(z.string()).meta({ description: 'The steps, in words and in order.' }),
});
export type WorktreeEnding = z.infer<typeof Ending>;

const answers = {
  200: z.union([
    z.strictObject({ done: Ending.extend({ head: z.string().meta({ description: 'The resulting commit.' }) }) }),
    z.strictObject({ dryRun: z.literal(true), plan: Ending }),
  ]),
} as const;

const commit = z
  .string()
  .min(1)
  .max(5000)
  .optional()
  .meta({ description: 'Commit uncommitted changes with this message first; without it, they are refused.' });
const dryRun = z.boolean().optional();
const act = { method: 'POST', auth: people, scope: 'bots:act', area, errors, ...agentParam, answers } as const;

/** Beside the error of a merge that git cannot do without a decision, as `conflicts`: what a bot needs to know to resolve them. */
export const MergeConflicts = z.object({ into: z.string(), files: z.array(z.string()) });
export type MergeConflicts = z.infer<typeof MergeConflicts>;

export const mergeWorktree = defineRoute({
  ...act,
  op: 'mergeWorktree',
  summary:
    'Merges the bot’s branch into the checkout; refused on uncommitted changes there, and on conflicts, whose files stand beside the error',
  path: `${base}/agents/:id/merge`,
  body: z.strictObject({ commit, dryRun }),
});

export const keepWorktree = defineRoute({
  ...act,
  op: 'keepWorktree',
  summary: 'Keeps the branch for its person, and gives the bot a fresh one',
  path: `${base}/agents/:id/keep`,
  body: z.strictObject({
    as: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$/, 'a branch name of letters, digits and . _ - /')
      .optional()
      .meta({ description: 'Name of the branch (default: its current name).' }),
    commit,
    dryRun,
  }),
});

export const discardWorktree = defineRoute({
  ...act,
  op: 'discardWorktree',
  summary: 'Gives the bot a fresh branch; unmerged work is moved to refs/gantry/discarded, never deleted',
  path: `${base}/agents/:id/discard`,
  body: z.strictObject({ dryRun }),
});

export const restoreWorktree = defineRoute({
  ...act,
  op: 'restoreWorktree',
  summary:
    'Brings discarded work back into the bot’s worktree, what was uncommitted as files; refused while there is newer work',
  path: `${base}/agents/:id/restore`,
  body: z.strictObject({
    keptAs: z
      .string()
      .regex(/^refs\/gantry\/discarded\/[^\p{Cc}\s]{1,300}$/u, 'a ref below refs/gantry/discarded/')
      .optional()
      .meta({ description: 'As the discard named it (default: the newest of this bot).' }),
    dryRun,
  }),
});

export const worktreeRoutes = [agentDiff, mergeWorktree, keepWorktree, discardWorktree, restoreWorktree] as const;
