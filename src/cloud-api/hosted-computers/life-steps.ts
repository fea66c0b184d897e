/**
 * Single steps in a computer's life. Each is called with the computer's turn held: the database records the intended state, the driver carries it out, and
 * the database records the result. Must not know who asked for it.
 */
import type { Dial } from '../../kit/link/offer.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { type ComputerSpec, DriverFault, type HostedDriver } from './driver.ts';
import type { Prices } from './meters.ts';
import { type ComputerRow, type Move, starting, unavailable, unknownComputer } from './model.ts';
import type { ComputerStore, MoveFacts, Room } from './store.ts';
import type { Ways } from './ways.ts';

const cutOff = 'Gantry stopped while the computer was starting.';

/** The row's key: another cloud's computer may have the same id, but not since the same millisecond. */
function specOf(row: ComputerRow): ComputerSpec {
  const { id, createdAt, image, memory, processes, toolset, egress, lifetime } = row;
  return { computer: id, key: `${id}.${createdAt}`, image, limits: { memory, processes }, toolset, egress, lifetime };
}

export interface LifeStepsDeps {
  readonly store: SharedStore;
  readonly computers: ComputerStore;
  readonly driver: HostedDriver;
  readonly ways: Pick<Ways, 'dial' | 'forget'>;
  readonly prices: () => Promise<Prices>;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}

export function createLifeSteps(deps: LifeStepsDeps) {
  const { store, computers, driver, ways, log } = deps;

  async function move(id: string, name: Move, facts: Omit<MoveFacts, 'prices'> = {}): Promise<ComputerRow | null> {
    const prices = await deps.prices();
    return store.write((tx) => computers.move(tx, id, name, { prices, ...facts }));
  }

  async function there(id: string): Promise<ComputerRow> {
    const row = await computers.get(id);
    if (row === null || row.phase === 'deleted') throw unknownComputer(id);
    return row;
  }

  /** A refusal of the driver becomes the computer's end state, and the response to the caller. */
  async function failed(id: string, fault: unknown): Promise<Error> {
    const why = (fault as Error).message;
    ways.forget(id);
    await move(id, 'fail', { data: { why } });
    return unavailable(`The computer ${id} is in error: ${why}`, 'Start it again, or delete it.');
  }

  /** Nobody else works on it while its turn is held: a step that seems to be under way was cut off. */
  async function mended(id: string): Promise<ComputerRow> {
    const row = await there(id);
    if (row.phase === 'provisioning') return (await move(id, 'fail', { data: { why: cutOff } })) ?? row;
    if (row.phase === 'stopping') {
      await halt(id);
      return there(id);
    }
    if (row.phase !== 'starting') return row;
    const state = await driver.inspect(id);
    if (state?.state !== 'running') return (await move(id, 'fail', { data: { why: state?.why ?? cutOff } })) ?? row;
    return (await move(id, 'ready')) ?? row;
  }

  async function halt(id: string): Promise<void> {
    try {
      await driver.stop(id);
    } catch (fault) {
      if (!(fault instanceof DriverFault) || fault.code !== 'not_found') throw await failed(id, fault);
    }
    ways.forget(id);
    await move(id, 'halted');
  }

  /** One that runs and does not dial is stopped: nobody can call it, and its minutes are not counted. */
  async function up(row: ComputerRow, byDriver: (dial: Dial) => Promise<unknown>): Promise<void> {
    let runs = false;
    try {
      await ways.dial(row, async (dial) => {
        await byDriver(dial);
        runs = true;
      });
    } catch (fault) {
      if (runs) await driver.stop(row.id).catch(() => {});
      throw fault;
    }
  }

  /** Without `place` it has a place already: it is new, and is removed if this fails. */
  async function begin(id: string, room?: Room): Promise<ComputerRow> {
    const row = await move(id, 'begin', room === undefined ? {} : { room });
    if (row === null) throw starting(id);
    try {
      // A new one is made whatever has its name: a stranger's computer must not become this one.
      if (room === undefined || (await driver.inspect(id)) === null) await driver.create(specOf(row));
      await up(row, (dial) => driver.start(id, dial));
      return (await move(id, 'ready')) ?? row;
    } catch (fault) {
      const known = await failed(id, fault);
      if (room !== undefined) throw known;
      throw unavailable(`No computer could be made: ${(fault as Error).message}`, undefined, fault);
    }
  }

  async function wake(id: string, room: Room): Promise<ComputerRow> {
    const row = await move(id, 'wake', { room });
    if (row === null) throw starting(id);
    try {
      // The link of before may have been taken for dead while it slept.
      await up(row, (dial) => driver.wake(id, dial));
      return row;
    } catch (fault) {
      throw await failed(id, fault);
    }
  }

  /** A failed removal is tried again at every reconciliation, by any replica that reaches the driver. */
  async function clear(id: string): Promise<void> {
    try {
      await driver.delete(id);
      await computers.removed(id);
    } catch (fault) {
      log.warn('A hosted computer could not be removed yet.', { computer: id, fault: (fault as Error).message });
    }
  }

  /** Runs before anything is written: if the driver cannot be reached, nothing has happened and its computers are unchanged. */
  async function reachable(id: string): Promise<void> {
    const away = await driver.away(id);
    if (away !== null) throw unavailable(`The computer ${id} cannot be reached from here: ${away}`);
  }

  /** `others`: what its driver has by this name is another cloud's, and stays. */
  async function gone(id: string, whose: 'ours' | 'others' = 'ours'): Promise<ComputerRow> {
    const row = await move(id, 'delete');
    ways.forget(id);
    await (whose === 'ours' ? clear(id) : computers.removed(id));
    if (row === null) throw unknownComputer(id);
    return row;
  }

  return { move, there, failed, mended, halt, begin, wake, clear, reachable, gone };
}
