/** A service to try connectors with, which comes with Gantry: a shop whose event is an order. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { connectorMounts, connectorRoute } from './mount.ts';

const base = `${connectorMounts[0]}/sample` as const;
const text = z.string().min(1).max(200);

export const startSampleService = defineRoute({
  ...connectorRoute,
  op: 'startSampleService',
  summary:
    'Starts the sample shop on this computer, an MCP server with one tool and one event; running already, it stays',
  method: 'POST',
  path: base,
  owner: 'collection',
  answers: { 200: z.strictObject({ name: z.string(), url: z.string() }) },
});

export const placeSampleOrder = defineRoute({
  ...connectorRoute,
  op: 'placeSampleOrder',
  summary: 'Places an order at the sample shop, which posts the event order.placed to its subscribers',
  method: 'POST',
  path: `${base}/orders`,
  owner: 'collection',
  body: z.strictObject({ item: text, country: text }),
  answers: { 201: z.strictObject({ number: z.number().int() }) },
});

export const sampleRoutes = [startSampleService, placeSampleOrder] as const;
