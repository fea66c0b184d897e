/** A person's actions on a number they have: correct its port, move it to another bot or computer, give it up. Must not know the carrier. */
import type { PortDetails } from '../../../contracts/phone/number.ts';
import type { Come } from './come.ts';
import {
  badRequest,
  cannotMoveThere,
  isPorted,
  type NumberRow,
  toHeld,
  unknownNumber,
  unknownRuntime,
} from './model.ts';
import { openDetails, sealDetails } from './port-work.ts';
import type { Work, WorkDeps } from './work.ts';

export interface Stay {
  /** Throws 404 if there is no port. */
  port(id: string, how: 'read again' | { readonly details: PortDetails }): Promise<NumberRow>;
  move(
    userId: string,
    id: string,
    to: { readonly botId: string; readonly runtimeId?: string | undefined; readonly botName?: string | undefined },
  ): Promise<{ readonly row: NumberRow; readonly previousBotId: string }>;
  release(id: string): Promise<void>;
}

/** How long the carrier is asked while its person waits. */
const askedMs = 5_000;
/** A port is read from the carrier at most this often, however many people look. */
const readEveryMs = 3_000;

export function createStay(deps: WorkDeps & { readonly work: Work; readonly come: Pick<Come, 'until'> }): Stay {
  const { store, rows, work, sealer, resync } = deps;

  async function there(id: string): Promise<NumberRow> {
    const row = await rows.get(id);
    if (row === null || row.phase === 'gone' || row.phase === 'releasing') throw unknownNumber(id);
    return row;
  }

  return {
    async port(id, how) {
      const row = await there(id);
      if (row.portState === null)
        throw badRequest(`${row.e164} was bought here, not ported.`, 'See the number itself.');
      if (row.phase === 'failed' || isPorted(row)) return row;
      if (how !== 'read again') {
        if (Object.keys(how.details).length === 0) throw badRequest('details is empty.', 'Give what is missing.');
        await store.write(function* (tx) {
          const now = (yield* rows.read(tx, id)) ?? row;
          const details = { ...openDetails(sealer, now), ...how.details };
          yield* rows.note(tx, id, { portDetails: sealDetails(sealer, id, details), problem: null });
        });
      }
      const { lookedAt: before, portDetails: waits } = await there(id);
      const age = before === null ? null : deps.clock.now() - before;
      // Below zero: the clock was set back.
      if (how === 'read again' && waits === null && age !== null && age >= 0 && age < readEveryMs) return there(id);
      work.wake(id);
      const isRead = ({ lookedAt, portDetails, phase }: NumberRow) =>
        (lookedAt !== null && lookedAt !== before && portDetails === null) || phase === 'failed';
      return deps.come.until(id, isRead, askedMs);
    },
    async move(userId, id, { botId, runtimeId, botName }) {
      if (botId.trim() === '') throw badRequest('botId is empty.', 'Name the bot that the number goes to.');
      const before = await there(id);
      const target = runtimeId === undefined ? null : await deps.computers.find(userId, runtimeId);
      if (runtimeId !== undefined && target === null) throw unknownRuntime(runtimeId);
      if (target?.kind === 'hosted') throw cannotMoveThere(target.id);
      return store.write(function* (tx) {
        const now = yield* rows.read(tx, id);
        if (now === null || !['buying', 'porting', 'held'].includes(now.phase)) throw unknownNumber(before.id);
        const to = { runtimeId: target?.id ?? now.runtimeId, botId, botName: botName ?? null };
        yield* rows.assign(tx, id, to);
        const row = (yield* rows.read(tx, id))!;
        const was = { runtimeId: now.runtimeId, botId: now.botId };
        for (const { moved } of deps.hooks()) if (moved !== undefined) yield* moved(tx, toHeld(row), was);
        yield* resync.tell(tx, row.runtimeId);
        if (was.runtimeId !== row.runtimeId) yield* resync.tell(tx, was.runtimeId);
        return { row, previousBotId: now.botId };
      });
    },
    async release(id) {
      await store.write(function* (tx) {
        if ((yield* rows.move(tx, id, 'putAway')) !== null) return;
        const row = yield* rows.move(tx, id, 'release');
        if (row === null) throw unknownNumber(id);
        for (const { released } of deps.hooks()) if (released !== undefined) yield* released(tx, toHeld(row));
        yield* work.drop(tx, id);
        yield* work.begin(tx, row, 'release');
        yield* resync.tell(tx, row.runtimeId);
      });
    },
  };
}
