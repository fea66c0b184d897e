/** The files of a bot's folder, for its person to look at: the worktree, or the folder that its team file names. Reading only. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id } from '../common/values.ts';
import { area, base, errors } from './route-parts.ts';

/** Entries of a folder that are listed. */
export const maxEntries = 2000;
/** Bytes of a file that are read. */
export const maxFileText = 1_000_000;

/** Files of the person: no key and no bot. */
const own = {
  area,
  errors,
  method: 'GET',
  auth: ['owner', 'user', 'link'],
  scope: null,
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'agent', list: 'gantry agents ls' },
} as const;

const Path = z.string().max(4096).meta({ description: 'Relative to the root, or absolute inside it.' });

export const FolderEntry = z.strictObject({
  name: z.string(),
  kind: z
    .enum(['folder', 'file', 'other'])
    .meta({ description: '"other": a link, a named pipe or the like; a link is followed only inside the root.' }),
});

export type FolderEntry = z.infer<typeof FolderEntry>;

export const agentFiles = defineRoute({
  ...own,
  op: 'agentFiles',
  summary: 'Lists one folder of the bot’s worktree, or of its folder without one',
  path: `${base}/agents/:id/files`,
  query: z.strictObject({ path: Path.optional() }),
  answers: {
    200: z
      .strictObject({
        root: z.string().meta({ description: 'The worktree, or the bot’s folder.' }),
        path: z.string().meta({ description: 'Relative to the root; empty for the root itself.' }),
        entries: z.array(FolderEntry),
        more: z.boolean().meta({ description: `True: there are more than the ${maxEntries} that are listed.` }),
      })
      .meta({ id: 'FolderList' }),
  },
});

export const agentFileText = defineRoute({
  ...own,
  op: 'agentFileText',
  summary: 'Reads the beginning of one file as text, and says if it is cut or binary',
  path: `${base}/agents/:id/files/text`,
  query: z.strictObject({ path: Path.min(1) }),
  answers: {
    200: z
      .strictObject({
        path: z.string(),
        size: z.number().int().meta({ description: 'Bytes of the whole file.' }),
        text: z.string().meta({ description: 'Empty if it is binary.' }),
        cut: z.boolean().meta({ description: `True: only the first ${maxFileText} bytes were read.` }),
        binary: z.boolean(),
      })
      .meta({ id: 'FileText' }),
  },
});

export const agentFilePlace = defineRoute({
  ...own,
  op: 'agentFilePlace',
  summary: 'Finds the file that a path printed by the bot names: from its folder, then from the root',
  path: `${base}/agents/:id/files/place`,
  query: z.strictObject({ path: Path.min(1) }),
  answers: {
    200: z.strictObject({
      path: z.string().nullable().meta({ description: 'Relative to the root; null if there is no such file.' }),
      worktree: z
        .boolean()
        .meta({ description: 'The files are a worktree of the bot, so that its changes can be read.' }),
    }),
  },
});

export const fileRoutes = [agentFiles, agentFileText, agentFilePlace] as const;
