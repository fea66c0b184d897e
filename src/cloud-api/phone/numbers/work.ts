/**
 * The work at the carrier for a number, step by step: one lane for each number, so that only one replica works on it at a time, and another continues
 * when that one is killed. Each step can be repeated; those that cost money are {@link PaidSteps}. Must not know HTTP.
 */
import type { LaneItem, SharedLaneOutcome, SharedLanes } from '../../../kit/lane/lane.ts';
import type { Op, SharedTx } from '../../../kit/store/shared-store.ts';
import type { PaidSteps } from '../carrier/paid-steps.ts';
import { CarrierFault } from '../carrier/port.ts';
import type { PartDeps } from '../part.ts';
import type { NumberHooks } from '../ports.ts';
import type { Addresses } from './address.ts';
import { orNull, surely } from './faults.ts';
import { type NumberRow, toHeld } from './model.ts';
import type { Resync } from './resync.ts';
import type { NumberStore } from './store.ts';

export interface WorkDeps extends PartDeps {
  readonly rows: NumberStore;
  readonly steps: PaidSteps;
  readonly addresses: Addresses;
  readonly resync: Resync;
  /** The hooks of the other parts. */
  readonly hooks: () => readonly NumberHooks[];
}

const jobs = ['buy', 'port', 'release'] as const;
type Job = (typeof jobs)[number];

export type DoJob = (row: NumberRow, item: LaneItem, signal: AbortSignal) => Promise<SharedLaneOutcome>;

export interface Work {
  readonly begin: (tx: SharedTx, row: Pick<NumberRow, 'id' | 'userId'>, job: Job) => Op<void>;
  /** Drops the waiting work of a number. */
  drop(tx: SharedTx, id: string): Op<void>;
  /** Something happened: waiting work looks now. */
  wake(id: string): void;
  /** `does`: how each job is done. Work that was begun before waits for it. */
  start(does: Readonly<Record<Job, DoJob>>): Promise<void>;
  close(): Promise<void>;
}

/** After the 1st, 2nd … attempt; orders take seconds, ports take weeks. */
const workBackoffMs = [2_000, 5_000, 15_000, 60_000, 300_000, 1_800_000];

export function createWork(deps: Pick<WorkDeps, 'openLanes' | 'rows' | 'log' | 'clock'>): Work {
  let doers: Readonly<Record<Job, DoJob>> | null = null;
  const lanes: SharedLanes = deps.openLanes({ name: 'numbers', send, backoffMs: workBackoffMs });

  async function send(item: LaneItem, signal: AbortSignal): Promise<SharedLaneOutcome> {
    const row = await deps.rows.get(item.lane);
    const job = jobs.find((name) => name === (item.body as { job?: unknown }).job);
    if (doers === null) return { to: 'hold', reason: 'Gantry is starting.' };
    if (row === null || job === undefined) return { to: 'done' };
    try {
      return await doers[job](row, item, signal);
    } catch (fault) {
      if (!(fault instanceof CarrierFault)) throw fault;
      if (fault.kind !== 'unknown' && fault.kind !== 'service') {
        deps.log.warn('The carrier refuses what a number needs.', { number: row.id, job, fault: fault.message });
      }
      const { message: reason, retryAfter } = fault;
      if (retryAfter === null) return { to: 'retry', reason };
      return { to: 'retry', reason, at: deps.clock.now() + Math.max(1, retryAfter) * 1000 };
    }
  }

  return {
    *begin(tx, { id, userId }, job) {
      yield* lanes.append(tx, { lane: id, id: `${job} ${id}`, body: { job }, person: userId });
    },
    *drop(tx, id) {
      yield* lanes.clear(tx, id);
    },
    wake: (id) => lanes.wake(id),
    async start(does) {
      doers = does;
      await lanes.start();
    },
    close: () => lanes.close(),
  };
}

/** The messaging profile of a number: one each, so that the carrier's own opt-out list is the number's. */
export async function profileOf(deps: WorkDeps, row: NumberRow): Promise<string> {
  if (row.profileId !== null) return row.profileId;
  const { numbers } = deps.carrier;
  if (row.address === null) throw new Error(`The number ${row.id} has no relay address any more.`);
  const asked = {
    name: profileName(row),
    webhookUrl: deps.addresses.url(row.id, row.address),
    destinations: ['US', 'CA'],
  };
  const { id } = await deps.steps.run(`profile ${row.id}`, {
    find: () => surely(() => numbers.findProfile(asked.name)),
    act: () => numbers.createProfile(asked),
  });
  await deps.store.write((tx) => deps.rows.note(tx, row.id, { profileId: id }));
  return id;
}

const profileName = ({ id }: Pick<NumberRow, 'id'>) => `gantry ${id}`;

/** Removes it, even if we never heard that it was made. */
export async function endProfile(deps: WorkDeps, row: NumberRow): Promise<void> {
  const { numbers } = deps.carrier;
  const id =
    row.profileId ?? (await settled(deps, `profile ${row.id}`, () => numbers.findProfile(profileName(row))))?.id;
  if (id !== undefined) await orNull(() => numbers.deleteProfile(id));
}

/** The result of a paid step that may have been begun; never begins one. Null: certainly nothing was done. */
export function settled<T>(
  deps: Pick<WorkDeps, 'steps'>,
  key: string,
  find: () => Promise<T | null>,
): Promise<T | null> {
  return orNull(() =>
    deps.steps.run<T>(key, {
      find: () => surely(find),
      act: () => Promise.reject(new CarrierFault('not_found', 'It was never asked for.')),
    }),
  );
}

/** It never became ours: stores the reason for its person, and ends what it had. */
export function failed(
  deps: WorkDeps & { readonly begin: Work['begin'] },
  id: string,
  why: { readonly fault: NonNullable<NumberRow['fault']>; readonly problem: string; readonly facts?: object },
): SharedLaneOutcome {
  return {
    to: 'dead',
    reason: why.problem,
    *commit(tx) {
      const row = yield* deps.rows.move(tx, id, 'fail', { fault: why.fault, problem: why.problem, ...why.facts });
      if (row === null) return;
      for (const { released } of deps.hooks()) if (released !== undefined) yield* released(tx, toHeld(row));
      yield* deps.begin(tx, row, 'release');
      yield* deps.resync.tell(tx, row.runtimeId);
    },
  };
}
