/** Requests of a paired computer to its cloud about itself, signed by its device. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Time } from '../common/values.ts';
import { Version } from './computers.ts';

const area = 'link';
const errors = 'plain' as const;
const base = '/api/v1/runtime';
const own = {
  area,
  errors,
  auth: ['device'],
  scope: null,
  owner: { none: 'the signature is the computer’s own' },
} as const;

export const rotateDevice = defineRoute({
  ...own,
  op: 'rotateDevice',
  summary: 'Creates a new device token, shown once; the one that signed this stays valid for an hour',
  method: 'POST',
  path: `${base}/rotate`,
  body: z.strictObject({}),
  answers: { 200: z.strictObject({ deviceToken: z.string() }) },
});

export const unpairDevice = defineRoute({
  ...own,
  op: 'unpairDevice',
  summary: 'Ends the computer’s own pairing',
  method: 'DELETE',
  path: `${base}/pairing`,
  answers: { 204: z.undefined() },
});

export const createDeviceToken = defineRoute({
  ...own,
  op: 'createDeviceToken',
  summary:
    'Creates a bearer token for routes of another computer, which have queries and cannot be signed; valid for five minutes',
  method: 'POST',
  path: `${base}/tokens`,
  body: z.strictObject({}),
  answers: { 200: z.strictObject({ token: z.string(), expiresAt: Time }) },
});

export const describeDevice = defineRoute({
  ...own,
  op: 'describeDevice',
  summary: 'Reports what runs on the computer; a new device token counts from its first use, which this may be',
  method: 'PUT',
  path: `${base}/computer`,
  body: z.strictObject({ version: Version }),
  answers: { 204: z.undefined() },
});

export const deviceRoutes = [describeDevice, rotateDevice, unpairDevice, createDeviceToken] as const;
