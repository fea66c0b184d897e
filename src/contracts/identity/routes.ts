/**
 * How a person signs in and where they are signed in: a one-time address on their own computer, an OpenID provider at a cloud of
 * many people. Both use this table; a route that a mode does not have says so.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';
import { adminRoutes } from './admin.ts';
import { cloudHealth } from './health.ts';
import { keyRoutes } from './keys.ts';
import { Plan } from './plan.ts';
import { protectedResource, protectedResourceOf } from './resource.ts';

const area = 'identity';
const errors = 'plain' as const;

/** `/open?t=<one-time code>` → cookie → 303 to `/`. A used or old code returns a page that says how to get a new one. */
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
  summary: 'Creates a one-time sign-in address, valid for ten minutes',
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
  summary: 'Reads who is signed in',
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
        description: 'The computer of the same program; null at a multi-user cloud.',
      }),
      version: z.string(),
      demoPhone: z
        .literal(true)
        .optional()
        .meta({ description: 'The phone carrier is simulated: no text or call is real.' }),
      phone: z.literal(true).optional().meta({
        description: 'A carrier is configured here, so numbers can be bought. A paired computer asks its home.',
      }),
      csrf: z.string().meta({ description: 'Send it as x-platform-csrf with every write of a cookie session.' }),
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

/** Leads to the OpenID provider; `next` is a local path to come back to. */
export const login = defineRoute({
  op: 'login',
  area,
  errors,
  summary: 'Starts a sign-in at the OpenID provider',
  method: 'GET',
  path: '/login',
  auth: ['public'],
  scope: null,
  owner: { none: 'nobody is signed in yet' },
  query: z.strictObject({ next: z.string().max(500).optional() }),
  kind: 'raw',
  answers: { 303: z.unknown(), 404: z.unknown(), 502: z.unknown() },
});

/** The provider sends the browser back here. Every error is a page that explains it. */
export const loginCallback = defineRoute({
  op: 'loginCallback',
  area,
  errors,
  summary: 'Completes a sign-in: checks the provider’s answer and sets the session cookie',
  method: 'GET',
  path: '/login/callback',
  auth: ['public'],
  scope: null,
  owner: { none: 'the code of the provider is the credential' },
  query: z.looseObject({}).meta({ description: 'From the provider: code, state, iss, or error.' }),
  kind: 'raw',
  answers: { 303: z.unknown(), 400: z.unknown(), 403: z.unknown(), 404: z.unknown(), 502: z.unknown() },
});

/** Where somebody is signed in: a browser, or their paired computer for its own server (`home`). */
export const SignIn = z
  .strictObject({
    id: z.string(),
    kind: z.enum(['browser', 'home']),
    device: z.string().meta({ description: 'Browser and system as reported by the browser, or the computer.' }),
    createdAt: Time,
    usedAt: Time.meta({ description: 'Updated at most once an hour.' }),
    current: z.boolean(),
  })
  .meta({ id: 'SignIn' });
export type SignIn = z.infer<typeof SignIn>;

export const listSessions = defineRoute({
  op: 'listSessions',
  area,
  errors,
  summary: 'Lists your sessions, newest first',
  method: 'GET',
  path: '/api/v1/sessions',
  auth: ['owner', 'user'],
  scope: null,
  owner: 'collection',
  answers: { 200: z.strictObject({ sessions: z.array(SignIn) }) },
});

/** The session of a paired computer ends with its pairing, not here. */
export const revokeSession = defineRoute({
  op: 'revokeSession',
  area,
  errors,
  summary: 'Signs another browser out',
  method: 'DELETE',
  path: '/api/v1/sessions/:id',
  auth: ['owner', 'user'],
  scope: null,
  owner: { param: 'id', noun: 'session', list: 'GET /api/v1/sessions' },
  params: z.strictObject({ id: Id }),
  answers: { 204: z.undefined() },
});

export const identityRoutes = [
  openWithCode,
  createOpenCode,
  getSession,
  endSession,
  login,
  loginCallback,
  listSessions,
  revokeSession,
  ...keyRoutes,
  cloudHealth,
  protectedResource,
  protectedResourceOf,
  ...adminRoutes,
] as const;
