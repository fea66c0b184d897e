/**
 * The pool that all projects share: how many hosted computers may be awake at once, and when they sleep. Only for administrators, as everything in
 * identity/admin.ts. Must not know drivers.
 */
import { z } from 'zod';
import { defineRoute, type Route } from '../common/route.ts';
import { Egress, maxIdleSeconds, SleepKeeps, Wall, Warm } from './computer.ts';

const shared = {
  area: 'hosted-computers',
  errors: 'plain',
  auth: ['internal', 'owner', 'key'],
  scope: 'admin',
  owner: { none: 'the pool is of everybody' },
  path: '/api/v1/admin/pool',
} as const;

const Running = z.number().int().min(0).max(10_000);
const Idle = z.number().int().min(10).max(maxIdleSeconds).meta({ description: 'Idle time in seconds.' });

export const Pool = z
  .strictObject({
    running: Running.meta({ description: 'How many may be awake at once, across all projects.' }),
    idleSeconds: Idle,
    awake: z.number().int().meta({ description: 'How many are awake now.' }),
    driver: z.strictObject({
      name: z.string(),
      refused: z.string().nullable().meta({ description: 'Why no computer can be created here; null: one can.' }),
      wall: Wall,
      sleepKeeps: SleepKeeps.meta({ description: 'What a sleeping computer keeps.' }),
      egress: Egress,
      warm: Warm,
    }),
  })
  .meta({ id: 'HostedPool' });
export type Pool = z.infer<typeof Pool>;

export const adminGetPool = defineRoute({
  ...shared,
  op: 'adminGetPool',
  summary: 'Reads the pool of hosted computers',
  method: 'GET',
  answers: { 200: Pool },
});

export const adminSetPool = defineRoute({
  ...shared,
  op: 'adminSetPool',
  summary: 'Changes the pool; fields left out stay the same',
  method: 'PATCH',
  body: z.strictObject({ running: Running.optional(), idleSeconds: Idle.optional(), dryRun: z.boolean().optional() }),
  answers: {
    200: z.union([
      Pool,
      z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ running: Running, idleSeconds: Idle }) }),
    ]),
  },
});

export const poolRoutes = [adminGetPool, adminSetPool] as const satisfies readonly Route[];
