/**
 * The wire between the cloud's half of hosted computers and the root helper that makes them on this machine: JSON lines on a Unix
 * socket (0600, of the user that the helper was told of). Requests have an `id` and are answered with the same `id`, in any order;
 * requests for one computer wait for each other. Both ends import this file and nothing else of each other.
 */
import { z } from 'zod';
import { HostedComputerId } from '../contracts/hosted-computers/computer.ts';

/** Where computers lie unless the helper was told otherwise, and its socket in there. */
export const usualFolder = '/var/lib/gantry-computers';
export const socketIn = (folder: string): string => `${folder}/host.sock`;

/** Bytes of one line; more is a fault of the other end, which is hung up on. */
export const longestLine = 256 * 1024;
/** A start that takes longer fails with `timeout`. Milliseconds. */
export const startsWithin = 30_000;

const computer = HostedComputerId;
export const HostRequest = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('capabilities') }),
  /** Makes what is kept of a computer: its folder, its user, its addresses. It is `stopped` then. */
  z.strictObject({ op: z.literal('create'), computer }),
  /** Answered once its engine can be called; also of one that already runs, and of a frozen one, which is thawed. */
  z.strictObject({ op: z.literal('start'), computer }),
  z.strictObject({ op: z.literal('freeze'), computer }),
  z.strictObject({ op: z.literal('thaw'), computer }),
  /** Ends all that runs in it; its files stay. Also of one that is stopped. */
  z.strictObject({ op: z.literal('stop'), computer }),
  /** Ends and removes it with everything on it. Also of one that is not there: there is nothing of it afterwards. */
  z.strictObject({ op: z.literal('delete'), computer }),
  z.strictObject({ op: z.literal('inspect'), computer }),
  z.strictObject({ op: z.literal('list') }),
]);
export type HostRequest = z.infer<typeof HostRequest>;
export const HostRequestLine = z.object({ id: z.number().int().min(1) });

export const hostStates = ['stopped', 'starting', 'running', 'frozen'] as const;
export const HostedState = z.strictObject({
  computer: z.string(),
  state: z.enum(hostStates),
  /** Why it is stopped, where nobody asked for that: it ended by itself. */
  why: z.string().nullable(),
  /**
   * How its engine is reached: HTTP on this Unix socket, as a link (kit/http/principals.ts): `authorization: Bearer <token>` with the
   * headers of whom it is for. A start gives a new token.
   */
  channel: z.strictObject({ socket: z.string(), token: z.string() }).nullable(),
  /** Since when it is in this state, as of the helper's clock. Milliseconds since 1970. */
  since: z.number(),
});
export type HostedState = z.infer<typeof HostedState>;

export const HostCapabilities = z.strictObject({
  /** Null: computers can be made here. Else why not, in a sentence that names what is missing. */
  refused: z.string().nullable(),
  /** How what leaves a computer is held: by the helper, outside of the computer. A helper that cannot enforce it refuses. */
  egress: z.enum(['enforced', 'none']),
  freeze: z.enum(['cgroup2', 'cgroup1', 'signals']),
  /** Which limits hold each computer. */
  limits: z.strictObject({ memory: z.boolean(), processes: z.boolean() }),
  /** Whether computers reach IPv6 addresses. */
  ipv6: z.boolean(),
  screen: z.strictObject({ width: z.number().int(), height: z.number().int() }),
  /** How many computers may be kept here. */
  most: z.number().int(),
});
export type HostCapabilities = z.infer<typeof HostCapabilities>;

/**
 * bad_request: the line makes no sense · not_found, exists: of the computer · not_running: freeze or thaw of one that is stopped ·
 * full: no more can be kept here · not_here: this machine cannot make computers · not_isolated: what holds a computer apart could not
 * be put up or is not what it should be, so it was not started · timeout: it did not begin to answer · failed: the rest.
 */
export const hostFaults = [
  'bad_request',
  'not_found',
  'exists',
  'not_running',
  'full',
  'not_here',
  'not_isolated',
  'timeout',
  'failed',
] as const;
export const HostFault = z.strictObject({ code: z.enum(hostFaults), message: z.string() });
export type HostFault = z.infer<typeof HostFault>;

export interface HostValues {
  readonly capabilities: HostCapabilities;
  readonly create: HostedState;
  readonly start: HostedState;
  readonly freeze: HostedState;
  readonly thaw: HostedState;
  readonly stop: HostedState;
  readonly delete: null;
  readonly inspect: HostedState;
  readonly list: readonly HostedState[];
}

/** Schemas of {@link HostValues}, for whoever reads answers. */
export const hostValues = {
  capabilities: HostCapabilities,
  create: HostedState,
  start: HostedState,
  freeze: HostedState,
  thaw: HostedState,
  stop: HostedState,
  delete: z.null(),
  inspect: HostedState,
  list: z.array(HostedState),
} as const satisfies { [Op in keyof HostValues]: z.ZodType };

export const HostAnswerLine = z.union([
  z.strictObject({ id: z.number().int(), ok: z.literal(true), value: z.unknown() }),
  z.strictObject({ id: z.number().int(), ok: z.literal(false), fault: HostFault }),
  /** To every connection, when a computer ended by itself. */
  z.strictObject({ event: z.literal('ended'), computer: z.string(), why: z.string() }),
]);
export type HostAnswerLine = z.infer<typeof HostAnswerLine>;
