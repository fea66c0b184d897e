/**
 * The computers of a person, as a cloud knows them. A computer is named by its own id (`computer_…`) or by the cloud's id for it
 * (`cc_…`).
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';

const area = 'link';
const errors = 'computers' as const;
const base = '/api/v1/computers';

/** People decide by it, so it must not contain characters that hide or reorder text. */
export const ComputerName = z
  .string()
  .trim()
  .min(1)
  .max(120)
  // Joiners stay: emoji and some scripts are written with them.
  .regex(
    /^[^\p{Cc}\p{Cs}\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]*$/u,
    'a name without control characters or invisible ones',
  );
export const Version = z.string().min(1).max(60);

export const Computer = z
  .strictObject({
    id: z.string().meta({ description: 'Created by the computer itself.' }),
    cloudId: z.string(),
    name: z.string(),
    state: z.enum(['linked', 'away']),
    since: Time.meta({ description: 'Since when it is linked or offline.' }),
    default: z.boolean().meta({ description: 'Used when a call names no computer.' }),
    pairedAt: Time,
    version: z.string(),
    clockAheadMs: z
      .number()
      .int()
      .optional()
      .meta({ description: 'How far its clock was ahead of this cloud’s at its last report; below 0: behind.' }),
    embedded: z.boolean().meta({ description: 'The computer that this server runs on; it needs no pairing.' }),
  })
  .meta({ id: 'Computer' });
export type Computer = z.infer<typeof Computer>;

const owner = { param: 'id', noun: 'computer', list: 'GET /api/v1/computers' } as const;
const params = z.strictObject({ id: Id });

export const listComputers = defineRoute({
  op: 'listComputers',
  area,
  errors,
  summary: 'Lists the caller’s computers, the default first, then by name',
  method: 'GET',
  path: base,
  // Its own computers' names, by a device access token: how `teams up --on <name>` finds one.
  auth: ['owner', 'user', 'key', 'device'],
  scope: 'agents:read',
  owner: 'collection',
  answers: { 200: z.strictObject({ computers: z.array(Computer) }) },
});

export const updateComputer = defineRoute({
  op: 'updateComputer',
  area,
  errors,
  summary: 'Renames a computer, or makes it the default',
  method: 'PATCH',
  path: `${base}/:id`,
  auth: ['owner', 'user'],
  scope: null,
  params,
  owner,
  body: z.strictObject({
    name: ComputerName.optional(),
    default: z.literal(true).optional().meta({ description: 'The previous default no longer is.' }),
  }),
  answers: { 200: Computer },
});

export const revokeComputer = defineRoute({
  op: 'revokeComputer',
  area,
  errors,
  summary: 'Ends a pairing: revokes its keys and home credential, and ends its link and every stream over it',
  method: 'DELETE',
  path: `${base}/:id`,
  auth: ['owner', 'user'],
  scope: null,
  params,
  owner,
  answers: { 204: z.undefined() },
});

export const computerRoutes = [listComputers, updateComputer, revokeComputer] as const;
