/**
 * A hosted computer as the cloud keeps it: its phases and transitions as data, its wire shape, and the refusals of the
 * area. Pure. Must not know SQL, HTTP or drivers.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { HostedComputer, HostedEvent, HostedStatus } from '../../contracts/hosted-computers/computer.ts';
import { iso } from '../../kit/clock/clock.ts';

export type Phase = HostedStatus | 'sleeping';
export type Move = 'begin' | 'ready' | 'sleep' | 'wake' | 'halt' | 'halted' | 'fail' | 'delete';

/** For each move: the phases that allow it, the phase it leads to, and its event. */
export const moves: Readonly<
  Record<Move, { readonly from: readonly Phase[]; readonly to: Phase; readonly event: HostedEvent['type'] | null }>
> = {
  begin: { from: ['provisioning', 'stopped', 'error'], to: 'starting', event: null },
  ready: { from: ['starting'], to: 'running', event: 'computer.started' },
  sleep: { from: ['running'], to: 'sleeping', event: 'computer.sleeping' },
  wake: { from: ['sleeping'], to: 'running', event: 'computer.woken' },
  halt: { from: ['starting', 'running', 'sleeping', 'error'], to: 'stopping', event: null },
  halted: { from: ['stopping'], to: 'stopped', event: 'computer.stopped' },
  fail: {
    from: ['provisioning', 'starting', 'running', 'sleeping', 'stopping'],
    to: 'error',
    event: 'computer.failed',
  },
  delete: {
    from: ['provisioning', 'starting', 'running', 'sleeping', 'stopping', 'stopped', 'error'],
    to: 'deleted',
    event: 'computer.deleted',
  },
};

/** The phases that take a place of the pool and of their key. */
export const awake: readonly Phase[] = ['provisioning', 'starting', 'running'];
/** The phases in which a driver has the computer. */
export const kept: readonly Phase[] = moves.delete.from;

/** The phases as SQL text; they are constants of ours, never input. */
export const phaseIn = (phases: readonly Phase[]) => `phase IN (${phases.map((phase) => `'${phase}'`).join(', ')})`;

/** Times in milliseconds since the epoch. */
export interface ComputerRow {
  readonly id: string;
  readonly projectId: string;
  /** The project's owner. */
  readonly userId: string;
  readonly keyId: string | null;
  readonly accountId: string | null;
  readonly name: string;
  readonly metadata: string;
  readonly toolset: HostedComputer['toolset'];
  readonly egress: HostedComputer['egress'];
  /** Null: the driver's usual one. */
  readonly image: string | null;
  /** Mebibytes; null: the driver's usual limit. */
  readonly memory: number | null;
  /** Null: the driver's usual limit. */
  readonly processes: number | null;
  /** Milliseconds after each start; null: none. */
  readonly lifetime: number | null;
  /** What it keeps while it sleeps, as its driver said when it was made. */
  readonly sleepKeeps: HostedComputer['sleep_keeps'];
  readonly phase: Phase;
  /** How often it was started; a new start invalidates the known way to it. */
  readonly starts: number;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly usedAt: number;
  /** Up to when its minutes are counted; null while none are. */
  readonly meteredAt: number | null;
  readonly nextEvent: number;
}

export function toComputer(row: ComputerRow): HostedComputer {
  const { id, name, phase } = row;
  return {
    id,
    object: 'computer',
    name,
    status: phase === 'sleeping' ? 'running' : phase,
    sleeping: phase === 'sleeping',
    sleep_keeps: row.sleepKeeps,
    toolset: row.toolset,
    egress: row.egress,
    image: row.image,
    memory_mib: row.memory,
    processes: row.processes,
    lifetime_seconds: row.lifetime === null ? null : row.lifetime / 1000,
    account_id: row.accountId,
    key_id: row.keyId,
    created_at: iso(row.createdAt),
    started_at: row.startedAt === null ? null : iso(row.startedAt),
    metadata: JSON.parse(row.metadata) as Record<string, unknown>,
  };
}

export function disabled(): AppError {
  const fact = 'Hosted computers are not turned on for this project.';
  return new AppError('not_found', fact, 'Ask your administrator to turn them on.', {
    wireCode: 'hosted_driver_disabled',
  });
}

export function unknownComputer(id: string): AppError {
  const fact = `There is no computer ${JSON.stringify(id.slice(0, 200))}.`;
  return new AppError('not_found', fact, 'List them: GET /v1/computers', { wireCode: 'computer_not_found' });
}

export function unavailable(
  why: string,
  action = 'Try again later, or ask your administrator.',
  cause?: unknown,
): AppError {
  return new AppError('transport', why, action, { wireCode: 'computer_unavailable', cause });
}

/** What was asked for is more, or something else, than its driver or its operator allows. */
export function refusedSpec(
  wireCode: 'image_not_allowed' | 'lifetime_too_long' | 'unsupported',
  why: string,
  action: string,
) {
  return new AppError('usage', why, action, { wireCode });
}

export function starting(id: string): AppError {
  return new AppError('transport', `The computer ${id} is starting.`, 'Ask again in a second.', {
    wireCode: 'computer_starting',
    retryAfter: 1,
  });
}

export function notRunning(id: string, phase: Phase): AppError {
  const action = phase === 'stopping' ? 'Start it once it is stopped.' : 'Start it first.';
  const is = phase === 'error' ? 'in error' : phase;
  return new AppError('refused', `The computer ${id} is ${is}.`, action, {
    status: 409,
    wireCode: 'computer_not_running',
  });
}

export function spendCapReached(capCents: number): AppError {
  const fact = `The project has reached its spend cap of ${capCents} cents for this month.`;
  return new AppError('refused', fact, 'Wait for the next month, or ask your administrator for more.', {
    wireCode: 'spend_cap_reached',
  });
}

export function tooMany(what: 'computers awake' | 'calls under way', limit: number): AppError {
  const fact = `This key has ${limit} ${what}, the most that a key of this project may have.`;
  const action = what === 'calls under way' ? 'Wait for one to end.' : 'Stop one, or let it sleep.';
  return new AppError('refused', fact, action, { status: 429, wireCode: 'concurrency_limit', retryAfter: 1 });
}

export function poolFull(running: number): AppError {
  return unavailable(`All ${running} hosted computers that may run at once are running.`, 'Try again later.');
}
