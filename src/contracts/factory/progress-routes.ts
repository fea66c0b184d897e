/** How far a call under way is, for its caller. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { ProgressKey, WorkProgress } from '../common/work-progress.ts';
import { area, base, errors, people } from './route-parts.ts';

export const readProgress = defineRoute({
  op: 'readProgress',
  area,
  errors,
  summary:
    'Reads how far a call is that was sent with the header `Gantry-Progress`; null before it begins and once it has ended',
  method: 'GET',
  path: `${base}/progress/:progressKey`,
  auth: people,
  scope: 'any',
  owner: { none: 'the caller chose the key, and only its own calls are found by it' },
  params: z.strictObject({ progressKey: ProgressKey }),
  answers: { 200: z.strictObject({ progress: WorkProgress.nullable() }) },
});

export const progressRoutes = [readProgress] as const;
