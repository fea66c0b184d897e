/** The vault: secrets by name, put into the environment of bots that name them, never shown again. */
import { z } from 'zod';
import { defineRoute } from '../../common/route.ts';
import { QueryFlag, Time } from '../../common/values.ts';
import { area, base, errors } from '../route-parts.ts';
import { dryRun, inPerson } from './parts.ts';

export const SecretName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'letters, digits and "_", at most 64, not beginning with a digit');
/** In team.yaml: `env: { NPM_TOKEN: "vault:NPM_TOKEN" }`. */
export const secretReference = /^vault:(.*)$/s;

const place = {
  host: z.string().min(1).max(253).meta({ description: 'Such as api.example.org.' }),
  port: z.number().int().min(1).max(65_535),
};

/** A header of requests over TLS. */
const HeaderDestination = z
  .strictObject({
    ...place,
    header: z.string().regex(/^[a-z0-9-]{1,64}$/, 'lowercase letters, digits and "-", at most 64'),
    form: z.enum(['raw', 'bearer', 'basic']).meta({
      description: 'raw: the whole header. bearer: behind Bearer or token. basic: user or password.',
    }),
    methods: z
      .array(z.string().regex(/^[A-Z]{3,10}$/, 'a method such as GET'))
      .max(10)
      .nullable()
      .meta({ description: 'HTTP methods; null: any.' }),
  })
  .meta({ id: 'HeaderDestination' });
/** An SSH key: an agent outside of the sandbox signs in to that host with it. */
const SshDestination = z.strictObject({ ...place, form: z.literal('ssh') }).meta({ id: 'SshDestination' });

/** The one place that gets the value: for bots in a closed sandbox, which hold a placeholder instead. */
export const SecretDestination = z
  .discriminatedUnion('form', [HeaderDestination, SshDestination])
  .meta({ id: 'SecretDestination' });
export type SecretDestination = z.infer<typeof SecretDestination>;

const bots = z.array(z.string()).meta({ description: 'Addresses of bots whose team file uses it.' });
export const Secret = z
  .strictObject({
    name: z.string(),
    updatedAt: Time,
    usedBy: bots,
    destination: SecretDestination.optional().meta({ description: 'Absent: every bot that names it gets the value.' }),
  })
  .meta({ id: 'Secret' });
export type Secret = z.infer<typeof Secret>;

export const listSecrets = defineRoute({
  op: 'listSecrets',
  area,
  errors,
  summary: 'Lists the names of secrets and who uses them; values are never shown',
  method: 'GET',
  ...inPerson,
  path: `${base}/vault`,
  owner: 'collection',
  answers: {
    200: z.strictObject({
      secrets: z.array(Secret),
      missing: z
        .array(z.strictObject({ name: z.string(), usedBy: bots }))
        .meta({ description: 'Names that team files use but the vault does not have.' }),
    }),
  },
});

export const setSecret = defineRoute({
  op: 'setSecret',
  area,
  errors,
  summary: 'Saves a sealed secret; running bots keep the old one until they restart',
  method: 'PUT',
  ...inPerson,
  path: `${base}/vault/:name`,
  params: z.strictObject({ name: SecretName }),
  owner: { none: 'a name of the caller’s own vault, made by this' },
  body: z.strictObject({ value: z.string().min(1).max(65_536), destination: SecretDestination.optional(), dryRun }),
  answers: {
    200: z.strictObject({ dryRun: z.literal(true).optional(), name: z.string(), replaces: z.boolean(), usedBy: bots }),
  },
});

export const removeSecret = defineRoute({
  op: 'removeSecret',
  area,
  errors,
  summary: 'Deletes a secret',
  method: 'DELETE',
  ...inPerson,
  path: `${base}/vault/:name`,
  params: z.strictObject({ name: SecretName }),
  owner: { param: 'name', noun: 'secret', list: 'gantry vault ls' },
  query: z.strictObject({ dryRun: QueryFlag }),
  answers: { 200: z.strictObject({ dryRun: z.literal(true).optional(), name: z.string(), usedBy: bots }) },
});
