/**
 * The code by which a sole proprietor proves to have the mobile phone: sent automatically once, again on request, a few times in ten minutes. Each
 * code is valid for a day and a few attempts. Only the carrier knows it.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { Op, SharedTx } from '../../../kit/store/shared-store.ts';
import { CarrierFault } from '../carrier/port.ts';
import { maskNumber } from '../e164.ts';
import type { Bench } from './bench.ts';
import type { RegistrationRow } from './model.ts';

export interface Codes {
  /** Sends nothing if a code was sent, or was being sent when the program ended: the person then requests another. Throws the carrier's faults. */
  sendFirst(row: RegistrationRow): Promise<void>;
  /** Throws 429 `rate_limited`, and the carrier's faults. */
  sendAgain(row: RegistrationRow): Promise<void>;
  /** Throws 400 `wrong_pin` for a code that is wrong, too old or tried too often, and the carrier's faults. */
  check(row: RegistrationRow, pin: string): Promise<void>;
}

const maxSent = 3;
const sentWithinMs = 10 * 60_000;
const maxTries = 5;
/** At the carrier. */
const goodForMs = 24 * 60 * 60_000;
const pinForm = /^\d{4,10}$/;

interface CodeRow {
  readonly id: string;
  readonly askedAt: number;
  readonly tries: number;
}

/** `{pin}` stands for the code. */
const words = (row: RegistrationRow) => ({
  code: `${row.form.brandName.slice(0, 60)}: your code to register texting is {pin}. Nobody will ask you for it.`,
  success: `${row.form.brandName.slice(0, 60)}: your mobile is confirmed.`,
});

export function createCodes({ store, clock, ids, carrier, registrations }: Bench): Codes {
  const now = () => clock.now();

  function* newest(tx: Parameters<typeof registrations.find>[0], registrationId: string): Op<CodeRow | null> {
    const sql = `SELECT id, asked_at AS "askedAt", tries FROM phone_registration_code
      WHERE registration_id = ? ORDER BY asked_at DESC, id DESC LIMIT 1`;
    return (yield* tx.get<CodeRow>(sql, registrationId)) ?? null;
  }

  function* insert(tx: SharedTx, row: RegistrationRow): Op<string> {
    const id = ids.next('code');
    const sql =
      'INSERT INTO phone_registration_code (id, registration_id, mobile, asked_at, tries) VALUES (?, ?, ?, ?, 0)';
    yield* tx.run(sql, id, row.id, row.form.mobilePhone ?? '', now());
    return id;
  }

  /** Throws 429 if too many were sent to that mobile, for whichever registration. */
  function* checkRate(tx: SharedTx, mobile: string): Op<void> {
    const sql = `SELECT asked_at AS at FROM phone_registration_code WHERE mobile = ? AND asked_at > ? ORDER BY asked_at`;
    const sent = yield* tx.all<{ at: number }>(sql, mobile, now() - sentWithinMs);
    if (sent.length < maxSent) return;
    const fact = `${sent.length} codes were sent to ${maskNumber(mobile)} within ten minutes.`;
    throw new AppError('refused', fact, 'Wait a few minutes, then ask for another.', {
      status: 429,
      wireCode: 'rate_limited',
      retryAfter: ((sent.at(-maxSent)?.at ?? now()) + sentWithinMs - now()) / 1000,
    });
  }

  async function send(row: RegistrationRow, codeId: string): Promise<void> {
    try {
      await carrier.registry.sendCode(row.brandId ?? '', words(row));
    } catch (fault) {
      // Nothing was sent, so it does not count.
      if (fault instanceof CarrierFault && fault.kind !== 'unknown') {
        await store.write((tx) => tx.run('DELETE FROM phone_registration_code WHERE id = ?', codeId));
      }
      throw fault;
    }
  }

  return {
    async sendFirst(row) {
      const codeId = await store.write(function* (tx): Op<string | null> {
        return (yield* newest(tx, row.id)) === null ? yield* insert(tx, row) : null;
      });
      if (codeId !== null) await send(row, codeId);
    },
    async sendAgain(row) {
      const codeId = await store.write(function* (tx): Op<string> {
        yield* checkRate(tx, row.form.mobilePhone ?? '');
        return yield* insert(tx, row);
      });
      await send(row, codeId);
    },
    async check(row, pin) {
      if (!pinForm.test(pin)) throw wrongPin('A code has four to ten digits.', 'Enter it as it was texted.');
      const code = await store.write(function* (tx): Op<CodeRow | null> {
        const code = yield* newest(tx, row.id);
        if (code === null || code.tries >= maxTries || code.askedAt + goodForMs <= now()) return code;
        yield* tx.run('UPDATE phone_registration_code SET tries = tries + 1 WHERE id = ?', code.id);
        return code;
      });
      if (code === null) throw wrongPin('No code was sent yet.', 'Ask for one.');
      if (code.askedAt + goodForMs <= now()) throw wrongPin('That code is older than a day.', 'Ask for a new one.');
      if (code.tries >= maxTries) {
        throw wrongPin(`That code was tried ${maxTries} times and no longer works.`, 'Ask for a new one.');
      }
      try {
        await carrier.registry.checkCode(row.brandId ?? '', pin);
      } catch (fault) {
        if (!(fault instanceof CarrierFault)) throw fault;
        if (fault.kind === 'wrong_pin') {
          const left = maxTries - code.tries - 1;
          const action =
            left === 0 ? 'Ask for a new one.' : `Try again: ${left === 1 ? 'one try is' : `${left} tries are`} left.`;
          throw wrongPin('That is not the code that was texted, or it has expired.', action);
        }
        // The code was not compared.
        if (fault.kind === 'service') {
          await store.write((tx) =>
            tx.run('UPDATE phone_registration_code SET tries = tries - 1 WHERE id = ? AND tries > 0', code.id),
          );
        }
        throw fault;
      }
    },
  };
}

function wrongPin(fact: string, action: string): AppError {
  return new AppError('usage', fact, action, { wireCode: 'wrong_pin' });
}
