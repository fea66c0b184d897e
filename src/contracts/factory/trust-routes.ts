/** Routes of a workspace's files that decide what may run: the waiting ones, and their person's answer. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { area, base, errors, people } from './route-parts.ts';

export const trustHash = z.string().regex(/^[0-9a-f]{64}$/, 'the 64 digits that `gantry trust` shows');

export const WaitingFile = z
  .strictObject({
    path: z.string().meta({ description: 'Relative to the workspace; absolute where it lies elsewhere.' }),
    kind: z.enum(['policy', 'team', 'template', 'settings']),
    change: z.enum(['new', 'changed', 'removed']),
    sha256: z.string().meta({ description: 'Of the content that waits; "none" where the file was removed.' }),
    refused: z.boolean().meta({ description: 'Its person said no to exactly this content.' }),
    words: z.array(z.string()).meta({ description: 'What changes, a sentence each.' }),
    diff: z
      .string()
      .nullable()
      .meta({ description: 'Against what was agreed to before; null where it may hold secrets or is too long.' }),
    loads: z
      .array(z.strictObject({ bot: z.string(), name: z.string(), value: z.string() }))
      .meta({ description: 'Variables that make every program of a bot load or run something: agreed to by name.' }),
  })
  .meta({ id: 'WaitingFile' });
export type WaitingFile = z.infer<typeof WaitingFile>;

export const WorkspaceTrust = z
  .strictObject({
    workspace: z.string(),
    hash: z.string().nullable().meta({ description: 'Of all that waits together; null where nothing does.' }),
    files: z.array(WaitingFile),
  })
  .meta({ id: 'WorkspaceTrust' });
export type WorkspaceTrust = z.infer<typeof WorkspaceTrust>;

export const getTrust = defineRoute({
  op: 'getTrust',
  area,
  errors,
  summary: 'Files that say what may run and wait for their person’s yes, with what changes',
  method: 'GET',
  path: `${base}/workspace/trust`,
  auth: people,
  scope: 'agents:read',
  owner: { none: 'one workspace an engine' },
  answers: { 200: WorkspaceTrust },
});

/** Only a person: no bot and no key agrees to what bots and programs may run. */
export const answerTrust = defineRoute({
  op: 'answerTrust',
  area,
  errors,
  summary: 'A person’s yes or no to exactly what getTrust showed',
  method: 'POST',
  path: `${base}/workspace/trust`,
  auth: ['owner', 'user', 'link'],
  scope: null,
  owner: { none: 'one workspace an engine' },
  body: z.strictObject({
    answer: z.enum(['yes', 'no']),
    hash: trustHash.meta({ description: 'The hash that getTrust gave: what has changed since is not answered.' }),
    files: z.array(z.string()).min(1).max(2000).optional().meta({ description: 'Only these; default all.' }),
    names: z
      .array(z.string())
      .max(200)
      .optional()
      .meta({ description: 'Variables in `loads` that the person agreed to by name.' }),
  }),
  answers: {
    200: z.strictObject({
      answered: z.array(z.string()),
      waits: z.array(z.string()).meta({ description: 'Files that still wait.' }),
    }),
  },
});

export const trustRoutes = [getTrust, answerTrust] as const;
