/**
 * A computer's life: made, started, put to sleep, woken, stopped, deleted, and repaired after a crash. The database first records the intended state,
 * the driver carries it out, and the database records the result; each step holds the turn of its computer. Must not know HTTP.
 */
import { isSpecial } from './bounds.ts';
import { DriverFault } from './driver.ts';
import { createLifeSteps, type LifeStepsDeps } from './life-steps.ts';
import { awake, type ComputerRow, notRunning, refusedSpec, starting, unavailable } from './model.ts';
import type { NewComputer, Room } from './store.ts';
import type { Turns } from './turns.ts';

/** Why one sleeps. `idle`: only if no call came since; its minutes end there at the latest. */
type SleepReason =
  | { readonly idle: { readonly since: number; readonly until: number } }
  | { readonly cap: { readonly spentCents: number; readonly capCents: number } };

export interface Lifecycle {
  /** Throws 503 `computer_unavailable` with the reason if none can be made, 400 if not one as asked for; nothing of it remains then. */
  create(computer: Omit<NewComputer, 'sleepKeeps'>, room: Room): Promise<ComputerRow>;
  start(id: string, room: Room): Promise<ComputerRow>;
  /** Throws 409 or 503 if it does not sleep. */
  wake(id: string, room: Room): Promise<ComputerRow>;
  stop(id: string): Promise<ComputerRow>;
  remove(id: string): Promise<ComputerRow>;
  /** False: not now. */
  sleep(id: string, reason: SleepReason): Promise<boolean>;
  /** Makes cloud and driver agree about one of which the driver said that it ended or is gone. */
  check(id: string, at: number): Promise<void>;
  /** Makes cloud and driver agree about each computer that this cloud created. Only a replica that reaches the driver can. */
  reconcile(): Promise<void>;
}

export function createLifecycle(deps: LifeStepsDeps & { readonly turns: Turns }): Lifecycle {
  const { store, computers, turns, driver, ways, log } = deps;
  const { move, there, failed, mended, halt, begin, wake, clear, reachable, gone } = createLifeSteps(deps);

  /** `goneAt`: when its driver lost it, if that is known. */
  async function reconcileOne(row: ComputerRow, goneAt?: number): Promise<void> {
    if (row.phase === 'stopped' || row.phase === 'error') return;
    if (row.phase !== 'running' && row.phase !== 'sleeping') return void (await mended(row.id));
    const found = await driver.inspect(row.id);
    if (found === null || found.state === 'stopped') {
      const why = found?.why ?? 'It no longer exists.';
      const until = found?.since ?? goneAt;
      ways.forget(row.id);
      await move(row.id, 'fail', { data: { why }, ...(until === undefined ? {} : { until }) });
    } else if (row.phase === 'sleeping' && found.state === 'running') await driver.sleep(row.id);
    else if (row.phase === 'running' && found.state === 'sleeping') await driver.wake(row.id);
  }

  return {
    async create(computer, room) {
      const { refused, egress, sleep } = await driver.capabilities();
      if (refused !== null) throw unavailable(refused, 'Ask your administrator.');
      if (egress !== 'enforced') {
        throw unavailable(
          `The driver ${driver.name} cannot keep computers out of private networks, so it makes none.`,
          'Ask your administrator.',
        );
      }
      const { id } = await computers.create({ ...computer, sleepKeeps: sleep }, room);
      return turns.take(id, async () => {
        try {
          return await begin(id);
        } catch (fault) {
          const { cause } = fault as Error;
          const code = cause instanceof DriverFault ? cause.code : null;
          await gone(id, code === 'exists' ? 'others' : 'ours');
          if (code !== 'unsupported' || !isSpecial(computer)) throw fault;
          const why = (cause as DriverFault).message;
          throw refusedSpec('unsupported', why, 'Ask for less, or leave it out for what is usual here.');
        }
      });
    },
    start: (id, room) =>
      turns.take(id, async () => {
        await reachable(id);
        const row = await mended(id);
        if (row.phase === 'running') return row;
        return row.phase === 'sleeping' ? wake(id, room) : begin(id, room);
      }),
    wake: (id, room) =>
      turns.take(id, async () => {
        const row = await there(id);
        if (row.phase === 'running') return row;
        if (row.phase === 'sleeping') {
          await reachable(id);
          return wake(id, room);
        }
        throw awake.includes(row.phase) ? starting(id) : notRunning(id, row.phase);
      }),
    stop: (id) =>
      turns.take(id, async () => {
        await reachable(id);
        if ((await mended(id)).phase !== 'stopped') {
          await move(id, 'halt');
          await halt(id);
        }
        return there(id);
      }),
    remove: (id) => turns.take(id, () => gone(id)),
    async sleep(id, reason) {
      // One that nobody reaches sleeps when it is back.
      if ((await driver.away(id)) !== null) return false;
      const prices = await deps.prices();
      const slept = await turns.tryTake(id, async () => {
        const row = await store.write(function* (tx) {
          const now = yield* computers.find(tx, id);
          if (now?.phase !== 'running' || (yield* computers.underWay(tx, id))) return null;
          if ('cap' in reason) {
            const { spentCents, capCents } = reason.cap;
            yield* computers.append(tx, id, 'spend_cap.reached', { spent_cents: spentCents, cap_cents: capCents });
            return yield* computers.move(tx, id, 'sleep', { prices, data: { why: 'spend_cap' } });
          }
          if (now.usedAt > reason.idle.since) return null;
          const until = Math.max(reason.idle.until, now.usedAt);
          return yield* computers.move(tx, id, 'sleep', { prices, until, data: { why: 'idle' } });
        });
        if (row === null) return false;
        try {
          await driver.sleep(id);
        } catch (fault) {
          const { message } = await failed(id, fault);
          log.warn('A hosted computer could not be put to sleep.', { computer: id, fault: message });
        }
        return true;
      });
      return slept ?? false;
    },
    async check(id, at) {
      // What was told may be over: it may have been started again since.
      await turns.tryTake(id, async () => {
        const row = await computers.get(id);
        if (row !== null && row.phase !== 'deleted') await reconcileOne(row, at);
      });
    },
    async reconcile() {
      for (const row of await computers.there()) {
        await turns
          .tryTake(row.id, async () => reconcileOne(await there(row.id)))
          .catch((fault: Error) => {
            log.warn('A hosted computer could not be put right.', { computer: row.id, fault: fault.message });
          });
      }
      // Goes by the computers made here and never by the driver's list: another cloud's computers may be there, too.
      for (const id of await computers.left()) await turns.tryTake(id, () => clear(id));
    },
  };
}
