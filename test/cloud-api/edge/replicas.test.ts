/** Several replicas on one PostgreSQL queue each event once between them, and what one of them leaves the others bring. */
import { expect, test } from 'vitest';
import { engines } from '../../support/engines.ts';
import { newSecret, type Receiver, startReceiver } from './receiver.ts';
import { app, openWorld, until } from './support.ts';

// A file of SQLite has one process.
const shared = engines.find(({ name }) => name === 'postgres');

test.runIf(shared !== undefined).each([true, false])(
  'each event comes once and in order while replicas come and go (woken by each other: %s)',
  async (listen) => {
    const place = await shared!.place();
    const [receiver, other] = [await startReceiver(), await startReceiver()];
    const [first, second] = [await openWorld({ place, listen }), await openWorld({ place, listen })];
    // Answered by one, used by all.
    const { result } = await second.subscribe(receiver);
    await first.subscribe(other, { by: { ...app, clientId: 'app_2' } });
    for (let n = 0; n < 60; n += 1) {
      await (n % 2 === 0 ? first : second).run(`run_${n}`);
      if (n === 20) {
        receiver.secrets.push(newSecret());
        expect((await first.subscribe(receiver)).result.id).toBe(result.id);
      }
      // Its deliveries are under way, its claims may be too.
      if (n === 30) await second.edge.close();
    }
    const taken = ({ events }: Receiver) => events().map(({ body }) => (body.data as { runId: string }).runId);
    await until(() => [receiver, other].every((one) => new Set(taken(one)).size === 60));
    for (const one of [receiver, other]) {
      const { events } = one;
      const ids = taken(one);
      // What a replica was sending when it was closed and was not answered in time comes again, by its id and where it belongs.
      expect(ids.filter((id, index) => id !== ids[index - 1])).toEqual(
        Array.from({ length: 60 }, (_, n) => `run_${n}`),
      );
      expect(ids.length).toBeLessThanOrEqual(61);
      expect(events().every(({ signedWith }) => signedWith.length > 0)).toBe(true);
    }
    const newest = receiver.secrets.at(-1)!;
    expect(receiver.events().at(-1)?.signedWith).toContain(newest);
    expect(first.warnings).toEqual([]);
  },
);
