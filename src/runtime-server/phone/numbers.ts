/**
 * The numbers of this computer, and the bot of each, as its home cloud reports them. Read at the start, when the home cloud changes, when the cloud
 * reports a change, and when an unknown number is asked for. Must not know texts.
 */
import { z } from 'zod';
import { listNumbers } from '../../contracts/phone/number.ts';
import type { Store } from '../../kit/store/store.ts';

interface KnownNumber {
  readonly id: string;
  readonly e164: string;
  readonly botId: string;
}

export interface PhoneNumbers {
  /** As it was last read; null: not this computer's then. */
  known(id: string): Promise<KnownNumber | null>;
  /** Reads them again. Throws while the cloud cannot be asked; the known ones stay. */
  read(signal: AbortSignal): Promise<void>;
}

export interface NumbersDeps {
  readonly store: Store;
  /** As this computer's device. */
  readonly call: (request: {
    readonly method: string;
    readonly path: string;
    readonly body: unknown;
    readonly signal: AbortSignal;
  }) => Promise<{ readonly status: number; readonly body: unknown }>;
}

/** A newer cloud may send more fields. */
const Listed = z.object({
  numbers: z.array(z.object({ id: z.string(), e164: z.string(), botId: z.string() })),
});

export function createPhoneNumbers({ store, call }: NumbersDeps): PhoneNumbers {
  async function ask(signal: AbortSignal): Promise<readonly KnownNumber[]> {
    const { method, path } = listNumbers;
    const { status, body } = await call({ method, path, body: undefined, signal });
    // A cloud without a carrier has no numbers.
    if (status === 503 && (body as { error?: unknown } | null)?.error === 'phone_not_configured') return [];
    const read = Listed.safeParse(body);
    if (status !== 200 || !read.success) throw new Error(`The cloud answered ${status} for this computer's numbers.`);
    return read.data.numbers;
  }

  return {
    async known(id) {
      const sql = 'SELECT id, e164, bot_id AS botId FROM phone_number WHERE id = ?';
      return (await store.read((tx) => tx.get<{ id: string; e164: string; botId: string }>(sql, id))) ?? null;
    },
    async read(signal) {
      const numbers = await ask(signal);
      await store.write((tx) => {
        tx.run('DELETE FROM phone_number');
        for (const { id, e164, botId } of numbers) {
          tx.run('INSERT INTO phone_number (id, e164, bot_id) VALUES (?, ?, ?)', id, e164, botId);
        }
      });
    },
  };
}
