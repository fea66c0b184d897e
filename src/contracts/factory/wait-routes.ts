/** Waits for the state of a bot, a step or a run (`gantry wait`). */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id } from '../common/values.ts';
import { Waited, waitQuery } from '../common/waiting.ts';
import { area, base, errors, readers } from './route-parts.ts';

export const waitFor = defineRoute({
  op: 'waitFor',
  area,
  errors,
  summary: 'Answers when a bot, a step or a run has a state, needs its person or has ended, or when the time is over',
  method: 'GET',
  path: `${base}/wait/:id`,
  auth: readers,
  scope: 'agents:read',
  owner: { none: 'looked up among the caller’s own; anything else is not found' },
  params: z.strictObject({
    id: Id.meta({ description: 'Address or id of a bot, or the id of a node or a run.' }),
  }),
  query: z.strictObject({
    run: Id.optional().meta({ description: 'The run that the step belongs to.' }),
    ...waitQuery,
  }),
  answers: { 200: Waited },
});

export const waitRoutes = [waitFor] as const;
