/**
 * Computer hosts on further machines, which dial their cloud and make hosted computers for it. Only for administrators, as everything in
 * identity/admin.ts. Must not know drivers.
 */
import { z } from 'zod';
import { defineRoute, type Route } from '../common/route.ts';
import { QueryFlag, Time } from '../common/values.ts';

const shared = {
  area: 'hosted-computers',
  errors: 'plain',
  auth: ['internal', 'owner', 'key'],
  scope: 'admin',
  owner: { none: 'computer hosts are of everybody' },
} as const;

const Name = z.string().trim().min(1).max(120);

export const ComputerHost = z
  .strictObject({
    id: z.string(),
    name: Name,
    addedAt: Time,
    linked: z.boolean().meta({ description: 'Whether it is connected now.' }),
    computers: z.number().int().meta({ description: 'How many hosted computers it has.' }),
  })
  .meta({ id: 'ComputerHost' });
export type ComputerHost = z.infer<typeof ComputerHost>;

export const adminListHosts = defineRoute({
  ...shared,
  op: 'adminListHosts',
  summary: 'Lists the computer hosts that may join, in the order in which they get computers',
  method: 'GET',
  path: '/api/v1/admin/computer-hosts',
  answers: { 200: z.strictObject({ hosts: z.array(ComputerHost) }) },
});

export const adminAddHost = defineRoute({
  ...shared,
  op: 'adminAddHost',
  summary: 'Adds a computer host, and answers the token with which it joins',
  method: 'POST',
  path: '/api/v1/admin/computer-hosts',
  body: z.strictObject({ name: Name, dryRun: z.boolean().optional() }),
  answers: {
    201: z.union([
      z.strictObject({
        id: z.string(),
        name: Name,
        token: z.string().meta({ description: 'For `gantry computer-host --join`. Good until the host is removed.' }),
      }),
      z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ name: Name }) }),
    ]),
  },
});

export const adminRemoveHost = defineRoute({
  ...shared,
  op: 'adminRemoveHost',
  summary: 'Removes a computer host: its token ends, and computers that it still has are lost',
  method: 'DELETE',
  path: '/api/v1/admin/computer-hosts/:id',
  params: z.strictObject({ id: z.string().min(1).max(80) }),
  query: z.strictObject({ dryRun: QueryFlag }),
  answers: {
    200: z.union([
      ComputerHost,
      z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ name: Name, computers: z.number().int() }) }),
    ]),
  },
});

export const hostRoutes = [adminListHosts, adminAddHost, adminRemoveHost] as const satisfies readonly Route[];
