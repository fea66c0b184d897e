/** Shared parts of the work engine's route tables, beside `../route-parts.ts`. */
import { z } from 'zod';
import { Id } from '../../common/values.ts';
import { readers } from '../route-parts.ts';

/** Looks. */
export const look = { method: 'GET', auth: readers, scope: 'agents:read' } as const;
/** Changes the caller's own objects; bots may, too. */
export const act = { method: 'POST', auth: readers, scope: 'bots:act' } as const;
/** Only the person: no key, no bot. */
export const inPerson = { auth: ['owner', 'user', 'link'], scope: null } as const;

const lists = {
  mail: 'gantry orchestration mail',
  peer: 'gantry orchestration peers',
  ownPeer: 'gantry orchestration peers',
  ticket: 'gantry workspace tickets',
  trigger: 'gantry workspace triggers',
  plan: 'gantry workspace plans',
  lease: 'gantry workspace leases',
  agentRun: 'GET /api/factory/agent-runs',
} as const;

export const oneOf = <const N extends keyof typeof lists>(noun: N) =>
  ({ params: z.strictObject({ id: Id }), owner: { param: 'id', noun, list: lists[noun] } }) as const;

export const dryRun = z.boolean().optional();
/** A dry run's answer: the result, and the ledger rows that would record it. */
export const planned = <T extends z.ZodRawShape>(plan: T) =>
  z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ ...plan, records: z.array(z.string()) }) });

/** A bot's address, or `owner` for the person. */
export const Party = z.string().min(1).max(200);
