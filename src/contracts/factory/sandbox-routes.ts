/** What the sandbox of a bot holds, tried from inside. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { area, base, errors, people } from './route-parts.ts';
import { TeamName } from './team-file.ts';

export const sandboxTopics = ['files', 'network', 'processes', 'keys', 'spending'] as const;
/** From most to least; `set` and `open` are of limits. */
export const sandboxFindings = ['change', 'read', 'see', 'reach', 'nothing', 'set', 'open'] as const;

export const SandboxRow = z.strictObject({
  topic: z.enum(sandboxTopics),
  what: z.string().meta({ description: 'A path, a destination, or what is meant, in words.' }),
  found: z.enum(sandboxFindings).meta({
    description: 'What a program can do there; "set": a limit or account is named; "open": it has no limit.',
  }),
  note: z.string().nullable(),
});
export type SandboxRow = z.infer<typeof SandboxRow>;

export const TriedSandbox = z
  .strictObject({
    agentId: z.string(),
    agent: z.string().meta({ description: 'Address.' }),
    sandbox: z.string().meta({ description: '"none", or the mode of its sandbox.' }),
    trouble: z.string().nullable().meta({ description: 'Why it could not be tried; null: it was.' }),
    rows: z.array(SandboxRow),
  })
  .meta({ id: 'TriedSandbox' });
export type TriedSandbox = z.infer<typeof TriedSandbox>;

export const trySandbox = defineRoute({
  op: 'trySandbox',
  area,
  errors,
  summary:
    'Tries from inside what each bot of a team can reach, read, change and spend: a small program runs in its sandbox and changes nothing',
  method: 'GET',
  path: `${base}/teams/:name/sandbox`,
  auth: people,
  scope: 'bots:act',
  params: z.strictObject({ name: TeamName }),
  owner: { param: 'name', noun: 'team', list: 'gantry teams ls' },
  query: z.strictObject({
    bot: z.string().max(64).optional().meta({ description: 'Only this bot of the team, by its short name.' }),
    hosts: z
      .string()
      .max(2000)
      .optional()
      .meta({ description: 'Destinations to try besides, as host:port, separated by commas.' }),
  }),
  answers: { 200: z.strictObject({ bots: z.array(TriedSandbox) }) },
});
