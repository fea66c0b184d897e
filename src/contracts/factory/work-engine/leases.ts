/**
 * Leases: an exclusive claim on a path of the workspace or on a name, for a limited time, with a fence. Advisory: a bot that does
 * not ask is not stopped.
 */
import { z } from 'zod';
import { defineRoute } from '../../common/route.ts';
import { QueryFlag, Time } from '../../common/values.ts';
import { area, base, errors } from '../route-parts.ts';
import { act, dryRun, look, oneOf, Party, planned } from './parts.ts';

export const leaseKinds = ['path', 'name'] as const;
export const Lease = z
  .strictObject({
    id: z.string(),
    kind: z.enum(leaseKinds),
    key: z.string().meta({ description: 'The path from the workspace root, or the name.' }),
    holder: Party,
    note: z.string().nullable(),
    fence: z.number().int().meta({ description: 'Grows with every claim: a lower number is stale.' }),
    claimedAt: Time,
    expiresAt: Time,
  })
  .meta({ id: 'WorkspaceLease' });
export type Lease = z.infer<typeof Lease>;

export const defaultLeaseSeconds = 600;
const ttlSeconds = z.number().int().min(1).max(86_400).optional().meta({ description: 'Default 600.' });

export const LeaseRequest = z
  .strictObject({
    path: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .meta({ description: 'In the workspace; a folder includes everything in it.' }),
    name: z.string().min(1).max(200).optional(),
    ttlSeconds,
    note: z.string().max(500).optional(),
    dryRun,
  })
  .refine((body) => (body.path === undefined) !== (body.name === undefined), 'give either path or name');
export type LeaseRequest = z.infer<typeof LeaseRequest>;

const plan = planned({ kind: z.enum(leaseKinds), key: z.string(), holder: Party, ttlSeconds: z.number().int() });

export const listLeases = defineRoute({
  op: 'listLeases',
  area,
  errors,
  summary: 'Lists live leases by key',
  ...look,
  path: `${base}/leases`,
  owner: 'collection',
  query: z.strictObject({ holder: Party.optional() }),
  answers: { 200: z.strictObject({ leases: z.array(Lease) }) },
});

export const claimLease = defineRoute({
  op: 'claimLease',
  area,
  errors,
  summary: 'Claims a path or a name; a second claim by the holder renews it. 409 names who holds it and until when',
  ...act,
  path: `${base}/leases`,
  owner: 'collection',
  idempotent: true,
  body: LeaseRequest,
  answers: { 201: Lease, 200: z.union([Lease, plan]) },
});

export const renewLease = defineRoute({
  op: 'renewLease',
  area,
  errors,
  summary: 'Renews a lease; 409 once it has expired',
  ...act,
  path: `${base}/leases/:id/renew`,
  ...oneOf('lease'),
  body: z.strictObject({ ttlSeconds, dryRun }),
  answers: { 200: z.union([Lease, plan]) },
});

export const releaseLease = defineRoute({
  op: 'releaseLease',
  area,
  errors,
  summary: 'Releases a lease; the person may end anybody’s',
  ...act,
  method: 'DELETE',
  path: `${base}/leases/:id`,
  ...oneOf('lease'),
  query: z.strictObject({ dryRun: QueryFlag }),
  answers: { 200: z.union([z.strictObject({ released: Lease }), plan]) },
});
