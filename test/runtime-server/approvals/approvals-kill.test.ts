/** A computer that is killed −9 at any moment between question, answer and effect: each answer acts once, or not at all. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { runKillLoop, seededRandom } from '../../support/kill-loop.ts';
import { startVictim, type Victim } from '../../support/victim.ts';

const asker = fileURLToPath(new URL('../../support/victims/asker.ts', import.meta.url));

test('killed at any step, an answer has its effect exactly once, and what was said to be applied is there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-asker-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const random = seededRandom(7);
  const applied = new Set<string>();
  const keys = new Map<string, string>();
  /** The person answers once, however often it is brought. */
  const answeredAt = new Map<string, string>();
  let gone = 0;

  const effects = () => {
    const database = new Database(join(folder, 'runtime.db'), { readonly: true });
    const rows = database
      .prepare<[], { key: string; n: number }>('SELECT key, count(*) AS n FROM effect GROUP BY key')
      .all();
    database.close();
    return new Map(rows.map(({ key, n }) => [key, n]));
  };
  const start = async (): Promise<Victim> => {
    const victim = startVictim({ command: [process.execPath, asker, folder] });
    victim.onLine((line) => {
      const [verb, id = '', word = ''] = line.split(' ');
      if (verb === 'said') {
        if (word === 'applied') applied.add(id);
        else gone += 1;
      }
      if (verb !== 'asked') return;
      keys.set(id, word);
      const at = answeredAt.get(id) ?? new Date().toISOString();
      answeredAt.set(id, at);
      // As the lane brings it: sometimes late, often twice.
      const bring = () => victim.child.stdin?.write(`answer ${id} ${at}\n`);
      setTimeout(bring, random() * 60);
      if (random() < 0.5) setTimeout(bring, random() * 60);
    });
    victim.child.stdin?.on('error', () => {});
    // Killed only once answers flow, however busy the machine is.
    await victim.until((line) => line.startsWith('said '));
    return victim;
  };

  const { kills, problems } = await runKillLoop<Victim>({
    rounds: 4,
    random,
    killAfter: [0, 250],
    start,
    drive: async (_victim, signal) => {
      while (!signal.aborted) await delay(10);
    },
    check: async () => {
      const found = effects();
      const doubled = [...found].filter(([, n]) => n !== 1).map(([key, n]) => `${key} has ${n} effects`);
      const lost = [...applied]
        .filter((id) => !found.has(keys.get(id)!))
        .map((id) => `${id} was applied and is not there`);
      return [...doubled, ...lost];
    },
    end: (victim) => victim.kill(),
  });
  expect([kills, problems]).toEqual([4, []]);
  // It was worth looking: answers were applied, and some arrived a second time.
  expect(applied.size).toBeGreaterThan(4);
  expect(effects().size).toBeGreaterThanOrEqual(applied.size);
  expect(gone).toBe(0);
});
