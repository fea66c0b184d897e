/** Routes of teams. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { QueryFlag } from '../common/values.ts';
import { InvalidTeam, Team, TeamPlanStep } from './agent.ts';
import { area, base, errors, people, readers } from './route-parts.ts';
import { SandboxMode, TeamName } from './team-file.ts';

const teamParam = {
  params: z.strictObject({ name: TeamName }),
  owner: { param: 'name', noun: 'team', list: 'gantry teams ls' },
} as const;

export const listTeams = defineRoute({
  op: 'listTeams',
  area,
  errors,
  summary: 'Lists the teams of the workspace, and those whose file has problems',
  method: 'GET',
  path: `${base}/teams`,
  auth: readers,
  scope: 'agents:read',
  owner: 'collection',
  answers: {
    200: z.strictObject({
      teams: z.array(Team),
      invalid: z.array(InvalidTeam),
      note: z.string().optional().meta({ description: 'Present if the workspace has more teams than Gantry reads.' }),
    }),
  },
});

export const SandboxQuestion = z
  .strictObject({
    file: z.string().meta({ description: 'Relative to the workspace.' }),
    suggests: SandboxMode.meta({ description: 'The strictest in which all its bots can run on this computer.' }),
    why: z
      .string()
      .nullable()
      .meta({ description: 'Why none stricter, as half a sentence; null: it is the strictest.' }),
  })
  .meta({ id: 'SandboxQuestion' });
export type SandboxQuestion = z.infer<typeof SandboxQuestion>;

export const teamUp = defineRoute({
  op: 'teamUp',
  area,
  errors,
  summary: 'Starts the bots of a team; running bots are not changed',
  method: 'POST',
  path: `${base}/teams/:name/up`,
  auth: people,
  scope: 'bots:act',
  ...teamParam,
  body: z.strictObject({
    preset: z.string().optional().meta({ description: 'A preset of the team file.' }),
    on: z.string().optional().meta({ description: 'Another paired computer, by its name or id.' }),
    sandbox: SandboxMode.optional().meta({
      description: 'What its bots in terminals run in from now on. Is written into a team file that does not say.',
    }),
    dryRun: z.boolean().optional(),
  }),
  answers: {
    200: z.strictObject({
      plan: z.array(TeamPlanStep),
      applied: z.boolean(),
      sandbox: SandboxQuestion.optional().meta({
        description:
          'Of a dry run: the team file does not say what its bots run in. They run in none unless `sandbox` is given.',
      }),
    }),
  },
});

export const teamDown = defineRoute({
  op: 'teamDown',
  area,
  errors,
  summary: 'Stops the bots of a team',
  method: 'POST',
  path: `${base}/teams/:name/down`,
  auth: people,
  scope: 'bots:act',
  ...teamParam,
  query: z.strictObject({
    dryRun: QueryFlag,
    here: QueryFlag.meta({ description: 'Does not stop bots on other computers.' }),
  }),
  answers: {
    200: z.union([
      z.strictObject({
        stopped: z.array(z.string()),
        letGo: z
          .array(z.string())
          .optional()
          .meta({ description: 'Bots on computers that can no longer be reached: they may keep running there.' }),
      }),
      z.strictObject({ dryRun: z.literal(true), plan: z.array(TeamPlanStep) }),
    ]),
  },
});

export const checkTeam = defineRoute({
  op: 'checkTeam',
  area,
  errors,
  summary: 'Lists every problem of a team file with path and line',
  method: 'GET',
  path: `${base}/teams/:name/check`,
  auth: readers,
  scope: 'agents:read',
  ...teamParam,
  answers: { 200: z.strictObject({ team: z.string(), ok: z.boolean(), problems: InvalidTeam.shape.problems }) },
});
