/**
 * The wire between the cloud's half of hosted computers and the root helper that makes them on this machine: JSON lines on a Unix socket (0600, owned
 * by the configured user). Requests have an `id` and are answered with the same `id`, in any order; requests for one computer wait for each other.
 * Both ends import this file and nothing else of each other.
 */
import { z } from 'zod';
import { HostedComputerId } from '../../contracts/hosted-computers/computer.ts';

/** The default folder of computers, and its socket there. */
export const defaultFolder = '/var/lib/gantry-computers';
export const socketIn = (folder: string): string => `${folder}/host.sock`;

/** Limit of one line in bytes; a longer one is a fault of the other end, which is disconnected. */
export const maxLineLength = 256 * 1024;
/** A start that takes longer fails with `timeout`. Milliseconds. */
export const startsWithin = 30_000;

const computer = HostedComputerId;

/** Seven days: a timer of Node cannot wait longer than about 24. */
const longestLife = 7 * 24 * 3600_000;
/** What a computer is made with. Null: the helper's own limit, which is also the highest. */
export const HostSpec = z.strictObject({
  /** A repeated create with the same key is answered as the first one. */
  key: z.string().min(1).max(200),
  /** Mebibytes. */
  memory: z.number().int().min(1).nullable(),
  processes: z.number().int().min(1).nullable(),
  /** `shell`: it has no screen and no browser, and runs commands. */
  toolset: z.enum(['desktop', 'shell']),
  /** `none`: its cable is never connected. */
  egress: z.enum(['public', 'none']),
  /** It is stopped this long after each start. Milliseconds; null: it is not. */
  lifetime: z.number().int().min(1000).max(longestLife).nullable(),
});
export type HostSpec = z.infer<typeof HostSpec>;

/** The place of a change among those of one run of the helper, which begin at 1. */
export const Cursor = z.strictObject({ run: z.string().min(1).max(40), number: z.number().int().min(0) });
export type Cursor = z.infer<typeof Cursor>;

export const HostRequest = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('capabilities') }),
  z.strictObject({ op: z.literal('figures') }),
  /** Creates a computer's folder, user and addresses. It is `stopped` then, or a warm one that runs. Clouds of an older Gantry send no `spec`. */
  z.strictObject({ op: z.literal('create'), computer, spec: HostSpec.optional() }),
  /** Answered once its program listens; also for a running one, and for a frozen one, which is thawed. */
  z.strictObject({ op: z.literal('start'), computer }),
  z.strictObject({ op: z.literal('freeze'), computer }),
  z.strictObject({ op: z.literal('thaw'), computer }),
  /** Ends all its processes; its files stay. Also for a stopped one. */
  z.strictObject({ op: z.literal('stop'), computer }),
  /** Ends it and removes it with all its files. Also for one that does not exist: nothing of it remains. */
  z.strictObject({ op: z.literal('delete'), computer }),
  z.strictObject({ op: z.literal('inspect'), computer }),
  z.strictObject({ op: z.literal('list') }),
  /** Answered with the changes after the cursor; from then on this connection is sent each as an event. Null: from now on. */
  z.strictObject({ op: z.literal('watch'), since: Cursor.nullable() }),
]);
export type HostRequest = z.infer<typeof HostRequest>;
export const HostRequestLine = z.object({ id: z.number().int().min(1) });

export const hostStates = ['stopped', 'starting', 'running', 'frozen'] as const;
export const HostedState = z.strictObject({
  computer: z.string(),
  state: z.enum(hostStates),
  /** Why it stopped, unless that was requested: it ended on its own. */
  why: z.string().nullable(),
  /**
   * Where its program is offered connections to dial on (kit/link/offer.ts), and what proves the offers. A start makes a new token.
   */
  channel: z.strictObject({ socket: z.string(), token: z.string() }).nullable(),
  /** Since when it is in this state, by the helper's clock. Milliseconds since 1970. */
  since: z.number(),
});
export type HostedState = z.infer<typeof HostedState>;

export const HostChange = z.strictObject({
  number: z.number().int().min(1),
  computer: z.string(),
  state: z.enum([...hostStates, 'gone']),
  why: z.string().nullable(),
  /** Milliseconds since 1970, by the helper's clock. */
  at: z.number(),
});
export type HostChange = z.infer<typeof HostChange>;

const HostChanges = z.strictObject({
  run: z.string(),
  /** The newest change; 0: none yet. */
  number: z.number().int().min(0),
  /** The helper no longer has all changes after the cursor: it was restarted, or they were too many. `changes` is empty then. */
  missed: z.boolean(),
  changes: z.array(HostChange),
});
export type HostChanges = z.infer<typeof HostChanges>;

export const HostCapabilities = z.strictObject({
  /** Null: computers can be made here. Otherwise the reason, in a sentence that names what is missing. */
  refused: z.string().nullable(),
  /** How outgoing traffic of a computer is restricted: by the helper, outside of the computer. A helper that cannot enforce it refuses. */
  egress: z.enum(['enforced', 'none']),
  freeze: z.enum(['cgroup2', 'cgroup1', 'signals']),
  /** The mechanism that limits each computer. */
  limits: z.strictObject({ memory: z.boolean(), processes: z.boolean() }),
  /** Whether computers can reach IPv6 addresses. */
  ipv6: z.boolean(),
  screen: z.strictObject({ width: z.number().int(), height: z.number().int() }),
  /** How many computers may exist here. */
  most: z.number().int(),
  /** How many run already for the next creates; absent: none are kept so. */
  warm: z.strictObject({ desktop: z.number().int(), shell: z.number().int() }).optional(),
});
export type HostCapabilities = z.infer<typeof HostCapabilities>;

/** Not among the capabilities, of which clouds of an older Gantry know each. */
const HostFigures = z.strictObject({
  /** What a computer has at most. Mebibytes; processes and threads. */
  memory: z.number().int(),
  processes: z.number().int(),
  /** When it was last proven from inside of a computer what it reaches, by the helper's clock. Milliseconds since 1970; null: not yet. */
  provenAt: z.number().nullable(),
  /** How many computers there are, without those that are kept warm. */
  computers: z.number().int(),
});
export type HostFigures = z.infer<typeof HostFigures>;

/**
 * bad_request: the line makes no sense · not_found, exists: about the computer · not_running: freeze or thaw of a stopped one · full: no more may
 * exist here · not_here: this machine cannot make computers · not_isolated: the isolation could not be set up or is not as it should be, so it was
 * not started · timeout: it did not begin to answer · unsupported: no such computer can be made here · failed: the rest.
 */
const hostFaults = [
  'bad_request',
  'not_found',
  'exists',
  'not_running',
  'full',
  'not_here',
  'not_isolated',
  'timeout',
  'unsupported',
  'failed',
] as const;
export const HostFault = z.strictObject({ code: z.enum(hostFaults), message: z.string() });
export type HostFault = z.infer<typeof HostFault>;

export interface HostValues {
  readonly capabilities: HostCapabilities;
  readonly figures: HostFigures;
  readonly create: HostedState;
  readonly start: HostedState;
  readonly freeze: HostedState;
  readonly thaw: HostedState;
  readonly stop: HostedState;
  readonly delete: null;
  readonly inspect: HostedState;
  readonly list: readonly HostedState[];
  readonly watch: HostChanges;
}

/** Schemas of {@link HostValues}, for readers of answers. */
export const hostValues = {
  capabilities: HostCapabilities,
  figures: HostFigures,
  create: HostedState,
  start: HostedState,
  freeze: HostedState,
  thaw: HostedState,
  stop: HostedState,
  delete: z.null(),
  inspect: HostedState,
  list: z.array(HostedState),
  watch: HostChanges,
} as const satisfies { [Op in keyof HostValues]: z.ZodType };

export const HostAnswerLine = z.union([
  z.strictObject({ id: z.number().int(), ok: z.literal(true), value: z.unknown() }),
  z.strictObject({ id: z.number().int(), ok: z.literal(false), fault: HostFault }),
  /** Sent to every connection that watches. */
  z.strictObject({ event: z.literal('changed'), change: HostChange }),
  /** A helper of an older Gantry sends it to everybody. */
  z.strictObject({ event: z.literal('ended'), computer: z.string(), why: z.string() }),
]);
export type HostAnswerLine = z.infer<typeof HostAnswerLine>;

/** A cursor as the driver hands it out. */
export const cursorText = ({ run, number }: Cursor): string => `${run}.${number}`;

/** One that no driver handed out is of no run: everything since was missed. */
export function cursorIn(text: string): Cursor {
  const [, run = '?', number = '0'] = /^(\w{1,40})\.(\d{1,15})$/.exec(text) ?? [];
  return { run, number: Number(number) };
}
