/** Settings of models: keys of vendors that a person gave here, and servers of their own. A key goes in and never comes out. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { modelAddressProblem } from './model-address.ts';
import { area, base, errors } from './route-parts.ts';

export const modelWires = ['anthropic', 'openai', 'google'] as const;

export const ModelPlace = z
  .strictObject({
    name: z
      .string()
      .meta({ description: 'The part of a model name before the slash: `anthropic`, or the name of your own server.' }),
    where: z.string().meta({ description: 'Where requests go, such as api.anthropic.com.' }),
    key: z.enum(['environment', 'kept', 'missing', 'not_needed']),
    from: z.enum(['vendor', 'settings.json', 'kept']),
  })
  .meta({ id: 'ModelPlace' });
export type ModelPlace = z.infer<typeof ModelPlace>;

export const ServerHeard = z
  .strictObject({
    ok: z.boolean().meta({ description: 'True: it answered with a list of models.' }),
    words: z.string().meta({ description: 'What it answered, or why it did not and what to do.' }),
  })
  .meta({ id: 'ServerHeard' });
export type ServerHeard = z.infer<typeof ServerHeard>;

export const ModelPlaceName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'small letters and digits, such as ollama');

/** Only a person: anybody who sets an address could have the person’s key sent there. */
const own = {
  area,
  errors,
  auth: ['owner', 'user', 'link'],
  scope: null,
  owner: { none: 'one person a computer' },
} as const;
const params = z.strictObject({ name: ModelPlaceName });

export const listModelPlaces = defineRoute({
  ...own,
  op: 'listModelPlaces',
  summary: 'Lists model providers and whether each has its key',
  method: 'GET',
  path: `${base}/models`,
  answers: { 200: z.strictObject({ places: z.array(ModelPlace) }) },
});

export const keepModelPlace = defineRoute({
  ...own,
  op: 'keepModelPlace',
  summary: 'Saves the key of a vendor, or your own server with its address; keys are sealed and never returned',
  method: 'PUT',
  path: `${base}/models/:name`,
  params,
  body: z.strictObject({
    key: z
      .string()
      .regex(/^\S{8,500}$/, 'a key without blanks')
      .optional(),
    baseUrl: z
      .url({ protocol: /^https?$/, abort: true, error: ({ input }) => modelAddressProblem(String(input)) ?? undefined })
      .max(500)
      .refine((text) => modelAddressProblem(text) === null, {
        error: ({ input }) => modelAddressProblem(String(input)) ?? undefined,
      })
      .optional()
      .meta({ description: 'Without user name, password, query or fragment.' }),
    wire: z.enum(modelWires).optional().meta({ description: 'The API that the server speaks; default openai.' }),
    check: z.boolean().optional().meta({
      description: 'Asks the server for its models first, and saves nothing if it does not list them.',
    }),
    dryRun: z.boolean().optional(),
  }),
  answers: {
    200: z.strictObject({
      place: ModelPlace,
      applied: z.boolean(),
      heard: ServerHeard.nullable().meta({ description: 'null: the server was not asked.' }),
    }),
  },
});

export const forgetModelPlace = defineRoute({
  ...own,
  op: 'forgetModelPlace',
  summary: 'Deletes a saved key or server',
  method: 'DELETE',
  path: `${base}/models/:name`,
  params,
  answers: { 200: z.strictObject({ forgotten: z.literal(true) }) },
});

export const modelRoutes = [listModelPlaces, keepModelPlace, forgetModelPlace] as const;
