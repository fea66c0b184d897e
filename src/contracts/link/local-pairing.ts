/**
 * The pairing of this computer, for the person who sits at it: served on its own listeners, never over a link and never by a
 * cloud of many people.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { QueryFlag, Time } from '../common/values.ts';

const area = 'link';
const errors = 'plain' as const;
const path = '/api/v1/pairing';
const own = { area, errors, path, auth: ['owner'], scope: null, owner: 'collection' } as const;

export const LocalPairing = z
  .strictObject({
    state: z.enum(['unpaired', 'waiting', 'paired']),
    cloudUrl: z.string().optional(),
    userCode: z
      .string()
      .optional()
      .meta({ description: 'While it waits: the code that the person types at `verificationUri`.' }),
    verificationUri: z.string().optional(),
    verificationUriComplete: z.string().optional(),
    expiresAt: Time.optional(),
    user: z.strictObject({ id: z.string(), name: z.string() }).optional(),
    computerId: z.string().optional(),
    link: z.strictObject({ linked: z.boolean(), since: Time }).optional(),
    clockBehindMs: z
      .number()
      .int()
      .optional()
      .meta({ description: 'How far this computer’s clock is behind its cloud’s, once known; below 0: ahead.' }),
    problem: z
      .string()
      .optional()
      .meta({ description: 'Why the last pairing failed, the pairing file is not used, or the link is down.' }),
  })
  .meta({ id: 'LocalPairing' });
export type LocalPairing = z.infer<typeof LocalPairing>;

const Plan = z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ cloudUrl: z.string() }) });

export const readLocalPairing = defineRoute({
  ...own,
  op: 'readLocalPairing',
  summary: 'Reads whether this computer is paired and whether its cloud can be reached',
  method: 'GET',
  answers: { 200: LocalPairing },
});

export const startLocalPairing = defineRoute({
  ...own,
  op: 'startLocalPairing',
  summary: 'Asks a cloud for a code. 409: already paired, or approvals wait here (named)',
  method: 'POST',
  body: z.strictObject({
    cloudUrl: z.string().min(1).max(500).meta({ description: 'https, or http on this computer or a private network.' }),
    dryRun: z.boolean().optional(),
  }),
  answers: { 200: z.union([LocalPairing, Plan]) },
});

export const endLocalPairing = defineRoute({
  ...own,
  op: 'endLocalPairing',
  summary: 'Ends the pairing or the wait for it; the cloud is notified when it can be reached',
  method: 'DELETE',
  query: z.strictObject({ dryRun: QueryFlag }),
  answers: { 200: z.union([LocalPairing, Plan]) },
});

export const localPairingRoutes = [readLocalPairing, startLocalPairing, endLocalPairing] as const;
