/** Peers: programs on this computer that register, send heartbeats, and receive messages. */
import { z } from 'zod';
import { defineRoute } from '../../common/route.ts';
import { QueryFlag, Time } from '../../common/values.ts';
import { area, base, errors } from '../route-parts.ts';
import { act, dryRun, look, oneOf, Party, planned } from './parts.ts';

export const PeerName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'lowercase letters, digits and . _ -, at most 64');
export const defaultPeerSeconds = 60;

export const Peer = z
  .strictObject({
    id: z.string(),
    name: PeerName,
    about: z.string().nullable(),
    owner: Party.meta({ description: 'Who registered it: the address of a bot, or "owner".' }),
    live: z.boolean().meta({ description: 'Whether it reported within its time.' }),
    ttlSeconds: z.number().int(),
    registeredAt: Time,
    lastSeenAt: Time,
    waiting: z.number().int().meta({ description: 'How many messages it has not acknowledged.' }),
  })
  .meta({ id: 'Peer' });
export type Peer = z.infer<typeof Peer>;
export const PeerMessage = z.strictObject({ id: z.string(), from: Party, text: z.string(), at: Time });
export type PeerMessage = z.infer<typeof PeerMessage>;

export const listPeers = defineRoute({
  op: 'listPeers',
  area,
  errors,
  summary: 'Lists registered programs, live ones first',
  ...look,
  path: `${base}/peers`,
  owner: 'collection',
  answers: { 200: z.strictObject({ peers: z.array(Peer) }) },
});

export const registerPeer = defineRoute({
  op: 'registerPeer',
  area,
  errors,
  summary: 'Registers a program by name; its owner may register it again; 409 while somebody else has the name',
  ...act,
  path: `${base}/peers`,
  owner: 'collection',
  idempotent: true,
  body: z.strictObject({
    name: PeerName,
    about: z.string().max(500).optional(),
    ttlSeconds: z.number().int().min(5).max(3600).optional().meta({ description: 'Default 60.' }),
    dryRun,
  }),
  answers: { 201: Peer, 200: planned({ name: z.string(), owner: Party }) },
});

export const beatPeer = defineRoute({
  op: 'beatPeer',
  area,
  errors,
  summary: 'Reports that a program is alive, acknowledges messages up to `ack`, and returns those that wait',
  ...act,
  path: `${base}/peers/:id/heartbeat`,
  ...oneOf('ownPeer'),
  body: z.strictObject({ ack: z.string().max(200).optional() }),
  answers: { 200: z.strictObject({ peer: Peer, messages: z.array(PeerMessage) }) },
});

export const sendToPeer = defineRoute({
  op: 'sendToPeer',
  area,
  errors,
  summary: 'Leaves a message for a program, which gets it with its next heartbeat; 409 if it is not live',
  ...act,
  path: `${base}/peers/:id/send`,
  ...oneOf('peer'),
  idempotent: true,
  body: z.strictObject({ text: z.string().min(1).max(65_536), dryRun }),
  answers: {
    201: z.strictObject({ id: z.string(), to: z.string(), at: Time }),
    200: planned({ to: z.string(), from: Party }),
  },
});

export const removePeer = defineRoute({
  op: 'removePeer',
  area,
  errors,
  summary: 'Removes a program and the messages that wait for it',
  ...act,
  method: 'DELETE',
  path: `${base}/peers/:id`,
  ...oneOf('ownPeer'),
  query: z.strictObject({ dryRun: QueryFlag }),
  answers: {
    200: z.union([z.strictObject({ removed: Peer }), planned({ name: z.string(), waiting: z.number().int() })]),
  },
});
