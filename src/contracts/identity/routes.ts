/** How a browser gets in and what it may know about itself (security.md 1.4; issue 2 "Identity for one computer"). */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';

const area = 'identity';

/** What a person may use of what costs money (gaps.md F); set by `gantry admin`. */
export const plans = ['free', 'plus', 'super', 'ultra'] as const;
export const Plan = z.enum(plans);
export type Plan = z.infer<typeof Plan>;

const errors = 'plain' as const;

/** `/open?t=<one-time code>` → cookie → 303 to `/`. A spent or old code answers a page that says how to get a new one. */
export const openWithCode = defineRoute({
  op: 'openWithCode',
  area,
  errors,
  summary: 'Exchanges a one-time code for the session cookie',
  method: 'GET',
  path: '/open',
  auth: ['public'],
  scope: null,
  owner: { none: 'the code is the credential' },
  query: z.strictObject({ t: z.string().max(200).optional(), next: z.string().max(500).optional() }),
  kind: 'raw',
  answers: { 303: z.unknown(), 410: z.unknown() },
});

/** Makes a fresh one-time code; the CLI's `gantry open`. */
export const createOpenCode = defineRoute({
  op: 'createOpenCode',
  area,
  errors,
  summary: 'A new one-time address, valid for ten minutes',
  method: 'POST',
  path: '/api/v1/open-codes',
  auth: ['owner'],
  scope: null,
  owner: 'collection',
  body: z.strictObject({ next: z.string().max(500).optional().meta({ description: 'A local path to open.' }) }),
  answers: { 201: z.strictObject({ url: z.string(), expiresAt: z.string() }) },
});

export const getSession = defineRoute({
  op: 'getSession',
  area,
  errors,
  summary: 'Who this session is',
  method: 'GET',
  path: '/api/v1/session',
  auth: ['owner', 'user'],
  scope: null,
  owner: 'collection',
  answers: {
    200: z.strictObject({
      user: z.string(),
      name: z.string(),
      plan: Plan,
      mode: z.enum(['embedded', 'headless']),
      via: z.string(),
      computer: z.strictObject({ id: z.string(), name: z.string() }).nullable().meta({
        description: 'The computer of the same program; null at a cloud of many people.',
      }),
      version: z.string(),
      csrf: z.string().meta({ description: 'To be sent as x-platform-csrf with every write of a cookie session.' }),
    }),
  },
});

export const endSession = defineRoute({
  op: 'endSession',
  area,
  errors,
  summary: 'Signs this browser out',
  method: 'DELETE',
  path: '/api/v1/session',
  auth: ['owner', 'user'],
  scope: null,
  owner: 'collection',
  answers: { 204: z.undefined() },
});

export const identityRoutes = [openWithCode, createOpenCode, getSession, endSession] as const;
