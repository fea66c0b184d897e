/**
 * Pairing by a short code, a small form of RFC 8628: the computer shows a code, a signed-in person approves it, and the computer
 * gets its signing key once.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Time } from '../common/values.ts';
import { ComputerName, Version } from './computers.ts';

const area = 'link';
const errors = 'plain' as const;
const base = '/api/v1/pairings';

/** The page where a person types the code. */
export const pairPage = '/pair';

/** Characters that are easy to tell apart and spell no word (RFC 8628, 6.1). */
export const userCodeLetters = 'BCDFGHJKLMNPQRSTVWXZ';
/** As people type it: any case, with or without the dash. */
export const UserCode = z
  .string()
  .max(20)
  .transform((text) => text.toUpperCase().replace(/[\s-]/g, ''));

export const ComputerId = z.string().regex(/^computer_[0-9A-Z]{26}$/, 'a computer’s id');

/** A public Ed25519 key that peer tickets are checked with (RFC 8037). */
export const TicketKey = z
  .strictObject({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'a public key: 43 characters of base64url'),
    kid: z.string().min(1).max(64),
    alg: z.literal('EdDSA').optional(),
    use: z.literal('sig').optional(),
  })
  .meta({ id: 'TicketKey' });
export type TicketKey = z.infer<typeof TicketKey>;

export const beginPairing = defineRoute({
  op: 'beginPairing',
  area,
  errors,
  summary: 'Gives a computer a pairing code, valid for ten minutes',
  method: 'POST',
  path: base,
  auth: ['public'],
  scope: null,
  owner: { none: 'nothing is owned before a person approves' },
  bodyLimit: 4096,
  body: z.strictObject({ computerId: ComputerId, name: ComputerName, version: Version }),
  answers: {
    201: z.strictObject({
      deviceCode: z.string().meta({ description: 'Secret: anybody who has it gets the computer’s token.' }),
      userCode: z.string().meta({ description: 'For the person: `ABCD-EFGH`.' }),
      verificationUri: z.string(),
      verificationUriComplete: z.string(),
      expiresAt: Time,
      expiresIn: z
        .number()
        .int()
        .optional()
        .meta({ description: 'Seconds until then; use this where the computer’s clock differs.' }),
      interval: z.number().int().meta({ description: 'Seconds between two polls.' }),
    }),
  },
});

export const PairingGrant = z.strictObject({
  status: z.literal('approved'),
  computerId: z.string(),
  cloudId: z.string(),
  user: z.strictObject({ id: z.string(), name: z.string() }),
  deviceToken: z.string(),
  homeCredential: z.string().meta({ description: 'Signs in the person at this computer.' }),
  ticketKeys: z.array(TicketKey),
});
export type PairingGrant = z.infer<typeof PairingGrant>;

export const pollPairing = defineRoute({
  op: 'pollPairing',
  area,
  errors,
  summary:
    'Polls whether the code was approved; the computer’s credentials are returned once. 410: denied, expired or already returned',
  method: 'POST',
  path: `${base}/token`,
  auth: ['public'],
  scope: null,
  owner: { none: 'the device code is the credential' },
  bodyLimit: 4096,
  body: z.strictObject({ deviceCode: z.string().min(1).max(200) }),
  answers: { 200: z.union([z.strictObject({ status: z.literal('pending') }), PairingGrant]) },
});

export const Pairing = z
  .strictObject({
    code: z.string(),
    computerId: z.string(),
    name: z.string(),
    version: z.string(),
    from: z.string().meta({ description: 'The address that asked, to compare with your own.' }),
    differs: z
      .boolean()
      .optional()
      .meta({ description: 'The browser that reads this has a different address from the computer that asked.' }),
    here: z.string().optional().meta({ description: 'The address of this browser.' }),
    requestedAt: Time,
    expiresAt: Time,
    remainingMs: z.number().int().min(0).optional(),
    status: z.enum(['pending', 'approved', 'denied']),
    known: z.boolean().meta({ description: 'It is already paired with this account and gets new keys.' }),
  })
  .meta({ id: 'Pairing' });
export type Pairing = z.infer<typeof Pairing>;

const params = z.strictObject({ code: UserCode });
const person = {
  area,
  errors,
  auth: ['owner', 'user'],
  scope: null,
  params,
  owner: { none: 'a signed-in person who reads the code off the computer may take it; wrong ones are counted' },
  answers: { 200: Pairing },
} as const;

export const readPairing = defineRoute({
  ...person,
  op: 'readPairing',
  summary: 'Reads which computer shows this code. Five wrong codes in ten minutes: 429',
  method: 'GET',
  path: `${base}/:code`,
});

export const approvePairing = defineRoute({
  ...person,
  op: 'approvePairing',
  summary: 'Approves the computer; only from a signed-in browser. 409: it belongs to another account',
  method: 'POST',
  path: `${base}/:code/approve`,
});

export const denyPairing = defineRoute({
  ...person,
  op: 'denyPairing',
  summary: 'Denies the computer',
  method: 'POST',
  path: `${base}/:code/deny`,
});

export const pairingRoutes = [beginPairing, pollPairing, readPairing, approvePairing, denyPairing] as const;
