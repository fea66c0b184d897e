/** The kill loop finds a planted loss, and finds none where store, ledger and lanes keep their promises. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { type Killable, runKillLoop, seededRandom } from './kill-loop.ts';
import { scratchFolder } from './scratch.ts';
import { startVictim, type Victim } from './victim.ts';

const writer = new URL('victims/ledger-writer.ts', import.meta.url).pathname;

/** Before it may be killed: how fast it is says nothing. */
const rowsOfEach = 9;

async function startWriter(folder: string, mode: string): Promise<Victim> {
  const victim = startVictim({ command: [process.execPath, writer, folder, mode] });
  let rows = 0;
  await victim.until((line) => {
    if (line.startsWith('ack ')) rows += 1;
    return rows === rowsOfEach;
  });
  return victim;
}

/** Kills a writer again and again; answers what was lost and the folder it wrote to. */
async function killWriter(mode: string, rounds: number) {
  const folder = scratchFolder();
  const acknowledged = new Set<string>();
  const take = (victim: Victim) => {
    for (const line of victim.lines) if (line.startsWith('ack ')) acknowledged.add(line.slice(4));
  };
  const lost = () => {
    const database = new Database(join(folder, 'x.db'), { readonly: true });
    const kept = new Set(database.prepare("SELECT substr(subject, 5) FROM ledger WHERE type = 'added'").pluck().all());
    database.close();
    return [...acknowledged].filter((key) => !kept.has(key)).map((key) => `${key} was acknowledged and is gone`);
  };
  const result = await runKillLoop<Victim>({
    rounds,
    random: seededRandom(7),
    killAfter: [5, 120],
    start: () => startWriter(folder, mode),
    drive: async (victim, signal) => {
      while (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, 5));
      await victim.ended;
      take(victim);
    },
    check: async () => lost(),
    end: async (victim) => {
      victim.child.stdin?.write('stop\n');
      await victim.until((line) => line === 'drained');
      await victim.ended;
      take(victim);
    },
  });
  return { ...result, folder, acknowledged };
}

test('no acknowledged row is lost, and lanes send everything in order, twice only where the first outcome is unknown', async () => {
  const { problems, kills, folder, acknowledged } = await killWriter('honest', 12);
  expect({ problems, kills }).toEqual({ problems: [], kills: 12 });
  expect(acknowledged.size).toBeGreaterThanOrEqual(12 * rowsOfEach);

  const database = new Database(join(folder, 'x.db'), { readonly: true });
  const keys = (type: string) =>
    database.prepare('SELECT substr(subject, 5) FROM ledger WHERE type = ? ORDER BY seq').pluck().all(type) as string[];
  const [added, noted] = [keys('added'), keys('sent')];
  database.close();
  expect([...noted].sort()).toEqual([...added].sort());

  const sent = readFileSync(join(folder, 'sent'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
  const first = sent.filter(([, , how]) => how === 'first').map(([, id]) => id);
  expect(new Set(first).size).toBe(first.length);
  for (const lane of ['a', 'b', 'c']) {
    const order = [...new Set(sent.filter(([name]) => name === lane).map(([, id]) => id as string))];
    expect(order).toEqual(added.filter((key) => order.includes(key)));
  }
}, 60_000);

test('a program that acknowledges before it writes is found out', async () => {
  const { problems } = await killWriter('hasty', 4);
  expect(problems.length).toBeGreaterThan(0);
  expect(problems[0]).toMatch(/^kill \d: row_\w+ was acknowledged and is gone$/);
}, 60_000);

test('a program that cannot be driven proves nothing and fails the loop', async () => {
  const idle: Killable = { pid: 0, kill: async () => {} };
  const loop = runKillLoop({
    rounds: 1,
    random: () => 0.5,
    killAfter: [20, 20],
    start: async () => idle,
    drive: () => Promise.reject(new Error('refused')),
    check: async () => [],
    end: async () => {},
  });
  await expect(loop).rejects.toThrow('Driving failed before kill 1');
});
