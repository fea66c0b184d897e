/** The figures of a server for Prometheus, for its operator, as `gantry admin` is. The same route on every server that has figures. */
import { z } from 'zod';
import { defineRoute, type Route } from '../common/route.ts';

export const getMetrics = defineRoute({
  op: 'getMetrics',
  area: 'metrics',
  summary: 'Figures of this server as Prometheus text',
  method: 'GET',
  path: '/metrics',
  auth: ['internal', 'owner', 'key'],
  scope: 'admin',
  owner: { none: 'figures of the whole server, without the id of anything' },
  kind: 'raw',
  media: ['text/plain'],
  answers: { 200: z.string() },
  errors: 'plain',
});

export const metricsRoutes = [getMetrics] as const satisfies readonly Route[];
