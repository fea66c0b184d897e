/** Health of a cloud: for load balancers and supervisors. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';

export const cloudHealth = defineRoute({
  op: 'cloudHealth',
  area: 'identity',
  errors: 'plain',
  summary:
    'Checks whether this cloud and its database work; 503 unavailable while the database is unreachable or cannot be written',
  method: 'GET',
  path: '/api/v1/health',
  auth: ['public'],
  scope: null,
  owner: { none: 'says nothing about anybody' },
  answers: { 200: z.strictObject({ ok: z.literal(true) }) },
});
