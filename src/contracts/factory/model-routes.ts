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
      .meta({ description: 'Before the slash of a model: `anthropic`, or the name of a server of one’s own.' }),
    where: z.string().meta({ description: 'What is asked, such as api.anthropic.com.' }),
    key: z.enum(['environment', 'kept', 'missing', 'not_needed']),
    from: z.enum(['vendor', 'settings.json', 'kept']),
  })
  .meta({ id: 'ModelPlace' });
export type ModelPlace = z.infer<typeof ModelPlace>;

export const ServerHeard = z
  .strictObject({
    ok: z.boolean().meta({ description: 'It answered with a list of models.' }),
    words: z.string().meta({ description: 'What it said, or why it said nothing, and what to do.' }),
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
  summary: 'Where models can be asked, and whether each place has its key',
  method: 'GET',
  path: `${base}/models`,
  answers: { 200: z.strictObject({ places: z.array(ModelPlace) }) },
});

export const keepModelPlace = defineRoute({
  ...own,
  op: 'keepModelPlace',
  summary: 'Keeps the key of a vendor, or a server of one’s own with its address; a key is sealed and never answered',
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
      .meta({ description: 'Without a name, a password, a query or a fragment.' }),
    wire: z.enum(modelWires).optional().meta({ description: 'What the server speaks; openai where none is given.' }),
    check: z.boolean().optional().meta({
      description:
        'Asks the server of the address for its models first, and keeps nothing where it does not list them.',
    }),
    dryRun: z.boolean().optional(),
  }),
  answers: {
    200: z.strictObject({
      place: ModelPlace,
      applied: z.boolean(),
      heard: ServerHeard.nullable().meta({ description: 'null: nobody was asked.' }),
    }),
  },
});

export const forgetModelPlace = defineRoute({
  ...own,
  op: 'forgetModelPlace',
  summary: 'Forgets a key or a server that was kept',
  method: 'DELETE',
  path: `${base}/models/:name`,
  params,
  answers: { 200: z.strictObject({ forgotten: z.literal(true) }) },
});

export const modelRoutes = [listModelPlaces, keepModelPlace, forgetModelPlace] as const;
