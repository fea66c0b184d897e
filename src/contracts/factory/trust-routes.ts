/** Routes of a workspace's files that decide what may run: the waiting ones, and their person's answer. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { area, base, errors, people } from './route-parts.ts';

export const trustHash = z.string().regex(/^[0-9a-f]{64}$/, 'the 64 digits that `gantry trust` shows');

export const WaitingFile = z
  .strictObject({
    path: z.string().meta({ description: 'Relative to the workspace, or absolute if outside it.' }),
    kind: z.enum(['policy', 'team', 'template', 'settings']),
    change: z.enum(['new', 'changed', 'removed']),
    sha256: z.string().meta({ description: 'Hash of the waiting content; "none" if the file was removed.' }),
    refused: z.boolean().meta({ description: 'Whether its person said no to exactly this content.' }),
    words: z.array(z.string()).meta({ description: 'What changes, one sentence each.' }),
    diff: z
      .string()
      .nullable()
      .meta({ description: 'Compared with what was last agreed to; null if it may contain secrets or is too long.' }),
    loads: z.array(z.strictObject({ bot: z.string(), name: z.string(), value: z.string() })).meta({
      description: 'Variables that make every program of a bot load or run something; they must be agreed to by name.',
    }),
  })
  .meta({ id: 'WaitingFile' });
export type WaitingFile = z.infer<typeof WaitingFile>;

export const WorkspaceTrust = z
  .strictObject({
    workspace: z.string(),
    hash: z.string().nullable().meta({ description: 'Hash of everything that waits; null if nothing waits.' }),
    files: z.array(WaitingFile),
  })
  .meta({ id: 'WorkspaceTrust' });
export type WorkspaceTrust = z.infer<typeof WorkspaceTrust>;

export const getTrust = defineRoute({
  op: 'getTrust',
  area,
  errors,
  summary: 'Lists files that say what may run and wait for their person’s yes, with what changes',
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
  summary: 'Records a person’s yes or no to exactly what getTrust showed',
  method: 'POST',
  path: `${base}/workspace/trust`,
  auth: ['owner', 'user', 'link'],
  scope: null,
  owner: { none: 'one workspace an engine' },
  body: z.strictObject({
    answer: z.enum(['yes', 'no']),
    hash: trustHash.meta({ description: 'The hash from getTrust; refused if something has changed since.' }),
    files: z.array(z.string()).min(1).max(2000).optional().meta({ description: 'Only these; default all.' }),
    names: z
      .array(z.string())
      .max(200)
      .optional()
      .meta({ description: 'Variables in `loads` that the person agrees to by name.' }),
  }),
  answers: {
    200: z.strictObject({
      answered: z.array(z.string()),
      waits: z.array(z.string()).meta({ description: 'Files that still wait.' }),
    }),
  },
});

export const trustRoutes = [getTrust, answerTrust] as const;
