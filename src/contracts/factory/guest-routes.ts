/** Bots that other computers of the person brought here, as the person at this computer sees them. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { AgentState, HarnessName, PaneRef } from './agent.ts';
import { area, base, errors, people } from './route-parts.ts';

export const Guest = z
  .strictObject({
    agentId: z.string(),
    address: z.string().meta({ description: '"bot@team" on the computer that started it.' }),
    user: z.string().meta({ description: 'The user of the ticket that started it.' }),
    harness: HarnessName.nullable(),
    state: AgentState,
    stateReason: z.string().nullable(),
    pane: PaneRef.nullable(),
  })
  .meta({ id: 'Guest' });
export type Guest = z.infer<typeof Guest>;

const all = { area, errors, auth: people, owner: 'collection' } as const;

export const listGuests = defineRoute({
  ...all,
  op: 'listGuests',
  summary: 'Lists bots that other computers started here',
  method: 'GET',
  path: `${base}/guests`,
  scope: 'agents:read',
  answers: { 200: z.strictObject({ guests: z.array(Guest) }) },
});

export const stopGuests = defineRoute({
  ...all,
  op: 'stopGuests',
  summary: 'Stops all bots that other computers started here',
  method: 'POST',
  path: `${base}/guests/down`,
  scope: 'bots:act',
  body: z.strictObject({ dryRun: z.boolean().optional() }),
  answers: {
    200: z.union([
      z.strictObject({ stopped: z.array(z.string()) }),
      z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ stop: z.array(z.string()) }) }),
    ]),
  },
});
