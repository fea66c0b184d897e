/** Routes of conversations that harnesses keep themselves, and of adopting one as a bot. Only for the owner: they are private. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Time } from '../common/values.ts';
import { harnessesWith } from './agent.ts';
import { area, base, errors } from './route-parts.ts';
import { BotSlug, TeamName } from './team-file.ts';

/** Harnesses whose own conversations can be listed and continued. */
export const adoptable = harnessesWith('adoptable');
export const Adoptable = z.enum(adoptable);
export type Adoptable = z.infer<typeof Adoptable>;

/** The person, also from a browser: no key and no bot. */
const own = ['owner', 'user', 'link'] as const;

const SessionId = z.string().regex(/^[A-Za-z0-9_-]{4,128}$/, 'letters, digits, "_" and "-", 4 to 128');

export const KeptSession = z.strictObject({
  harness: Adoptable,
  id: SessionId,
  title: z
    .string()
    .meta({ description: 'The harness’s name for it, else the first 200 characters of its first prompt.' }),
  cwd: z.string(),
  lastUsed: Time,
  openBy: z
    .strictObject({
      pid: z.int(),
      bot: z.string().nullable().meta({ description: 'The bot in whose pane it runs.' }),
      sure: z
        .boolean()
        .meta({ description: 'False: the harness runs in that folder, and this is its latest conversation.' }),
    })
    .nullable()
    .meta({ description: 'The process that has it open, if known.' }),
});
export type KeptSession = z.infer<typeof KeptSession>;

export const listKeptSessions = defineRoute({
  op: 'listKeptSessions',
  area,
  errors,
  summary: 'Lists conversations that harnesses keep on this computer, latest first',
  method: 'GET',
  path: `${base}/sessions`,
  auth: own,
  scope: 'agents:read',
  owner: { none: 'files of the person, only for the owner' },
  query: z.strictObject({
    harness: Adoptable.optional().meta({ description: 'Only of this agent program.' }),
    cwd: z.string().min(1).max(4096).optional().meta({ description: 'Only those of this folder.' }),
  }),
  answers: {
    200: z.strictObject({
      sessions: z.array(KeptSession).max(200).meta({ description: 'At most 200; narrow it by folder.' }),
    }),
  },
});

export const adoptKeptSession = defineRoute({
  op: 'adoptKeptSession',
  area,
  errors,
  summary: 'Adopts a conversation as a bot: adds it to a team and starts it there',
  method: 'POST',
  path: `${base}/sessions/adopt`,
  auth: own,
  scope: 'bots:act',
  owner: { none: 'files of the person, only for the owner' },
  idempotent: true,
  body: z.strictObject({
    harness: Adoptable,
    id: SessionId,
    as: BotSlug.optional().meta({
      description: 'Name of the bot (default: the harness, with a number if that name is taken).',
    }),
    team: TeamName.optional().meta({ description: 'Team of the bot (default: adopted); created if missing.' }),
    takeOver: z.boolean().optional().meta({ description: 'End the process that has the conversation open.' }),
    dryRun: z.boolean().optional(),
  }),
  answers: {
    200: z.strictObject({
      session: KeptSession,
      bot: z.string().meta({ description: '`<bot>@<team>`' }),
      file: z.string().meta({ description: 'The team file that it is added to.' }),
      lines: z.string().meta({ description: 'What is added to it.' }),
      ends: z.int().nullable().meta({ description: 'The process that is ended first.' }),
      applied: z.boolean(),
    }),
  },
});

export const adoptRoutes = [listKeptSessions, adoptKeptSession] as const;
