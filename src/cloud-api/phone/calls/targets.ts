/**
 * Whom a bot may hand calls to: a list that a person maintains for a bot. Each new entry is also a consent to be called, logged for each of the bot's
 * numbers. Owns `phone_transfer_target`; must not know calls.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { BotConfig, TransferTarget } from '../../../contracts/phone/calls.ts';
import { maxTransferTargets } from '../../../contracts/phone/values.ts';
import type { Principal } from '../../../kit/http/types.ts';
import type { Op, SharedReader, SharedTx } from '../../../kit/store/shared-store.ts';
import { refusedDestination } from '../e164.ts';
import type { Consents, Numbers } from '../ports.ts';
import { targetSource } from './consents.ts';

export interface Targets {
  read(tx: SharedReader, userId: string, botId: string): Op<BotConfig>;
  /** Absent: the list stays. Throws 400 for more than 20 entries or a number that cannot be called. */
  replace(tx: SharedTx, by: Principal, botId: string, targets: readonly TransferTarget[] | undefined): Op<BotConfig>;
  isTarget(tx: SharedReader, userId: string, botId: string, e164: string): Op<boolean>;
}

export function createTargets({
  numbers,
  consents,
  countries,
}: {
  readonly numbers: Pick<Numbers, 'ofBot'>;
  readonly consents: Pick<Consents, 'record'>;
  readonly countries: readonly string[];
}): Targets {
  function* read(tx: SharedReader, userId: string, botId: string): Op<BotConfig> {
    const sql = 'SELECT e164, label FROM phone_transfer_target WHERE user_id = ? AND bot_id = ? ORDER BY place';
    const rows = yield* tx.all<TransferTarget>(sql, userId, botId);
    return { botId, transferTargets: rows.map(({ e164, label }) => ({ e164, label })) };
  }

  /** Each number once, at its first place, with its last entry's fields. */
  function checked(targets: readonly TransferTarget[]): readonly TransferTarget[] {
    const labels = new Map<string, string>();
    for (const { e164, label } of targets) {
      const refused = refusedDestination(e164, countries);
      if (refused !== null) throw bad(refused, 'Give a phone number that may be called.');
      labels.set(e164, label);
    }
    if (labels.size > maxTransferTargets) {
      throw bad(`There are ${labels.size} numbers.`, `Give at most ${maxTransferTargets}.`);
    }
    return [...labels].map(([e164, label]) => ({ e164, label }));
  }

  function* approve(tx: SharedTx, by: Principal, botId: string, { e164, label }: TransferTarget): Op<void> {
    const who = by.keyId === undefined ? by.kind : `${by.kind} ${by.keyId}`;
    const evidence = `Approved as a transfer target of the bot ${botId}, ${JSON.stringify(label)}, by ${who}.`;
    for (const { id: numberId } of yield* numbers.ofBot(tx, by.userId, botId)) {
      yield* consents.record(tx, { numberId, e164, source: targetSource, evidence });
    }
  }

  return {
    read,
    *replace(tx, by, botId, given) {
      const before = yield* read(tx, by.userId, botId);
      if (given === undefined) return before;
      const targets = checked(given);
      const known = new Set(before.transferTargets.map(({ e164 }) => e164));
      yield* tx.run('DELETE FROM phone_transfer_target WHERE user_id = ? AND bot_id = ?', by.userId, botId);
      for (const [place, target] of targets.entries()) {
        const sql = 'INSERT INTO phone_transfer_target (user_id, bot_id, e164, label, place) VALUES (?, ?, ?, ?, ?)';
        yield* tx.run(sql, by.userId, botId, target.e164, target.label, place);
        if (!known.has(target.e164)) yield* approve(tx, by, botId, target);
      }
      return { botId, transferTargets: [...targets] };
    },
    *isTarget(tx, userId, botId, e164) {
      const sql = 'SELECT 1 AS found FROM phone_transfer_target WHERE user_id = ? AND bot_id = ? AND e164 = ?';
      return (yield* tx.get(sql, userId, botId, e164)) !== undefined;
    },
  };
}

function bad(fact: string, action: string): AppError {
  return new AppError('usage', fact, action, { wireCode: 'bad_request' });
}
