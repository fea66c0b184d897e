/**
 * Twenty hosted computers of the cloud that compose runs, in containers of the engine beside it: 14 of the toolset shell and 6 with a browser, claimed,
 * driven, put to sleep, woken and deleted, and meanwhile each part is killed twice. play.ts has brought the cloud up.
 */
import assert from 'node:assert/strict';
import type { Scenes } from '../scenes.ts';
import { seconds, until } from '../scenes.ts';

interface Answer {
  readonly id: string;
  readonly status: string;
  readonly sleeping: boolean;
  readonly is_error?: boolean;
  readonly content?: readonly { readonly type: string; readonly text?: string }[];
}

export interface Hosting {
  readonly shell: (text: string) => Promise<string>;
  /** `gantry admin`, in the cloud's container. */
  readonly admin: (words: string) => Promise<string>;
  /** As a program with one of the two keys. */
  readonly ask: <Result = Answer>(key: number, method: string, path: string, body?: unknown) => Promise<Result>;
  /** kill -9; resolves once it is back. */
  readonly kills: Readonly<Record<'cloud' | 'postgres' | 'engine', () => Promise<void>>>;
}

interface One {
  readonly id: string;
  readonly toolset: 'shell' | 'desktop';
  readonly number: number;
}

const minutes = 60_000;
/** Half of them at once for each key. */
const kinds = Array.from({ length: 20 }, (_, number): One['toolset'] => (number < 14 ? 'shell' : 'desktop'));
/** As many starts at once as two processors bear. */
const atOnce = 4;

async function inTurns<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  const turn = async () => {
    for (const [index, item] of waiting) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, turn));
  return results;
}

export async function playTwenty({ shell, admin, ask, kills }: Hosting, scene: Scenes['scene']): Promise<void> {
  const all: One[] = [];
  const keyOf = (one: Pick<One, 'number'>) => one.number % 2;
  const at = ({ id }: One, rest = '') => `/v1/computers/${id}${rest}`;
  const exec = async (one: One, command: string) => {
    const call = { toolset: 'shell', member: 'exec', input: { command, shell: true } };
    const { content } = await ask(keyOf(one), 'POST', at(one, '/toolset'), call);
    return content?.[0]?.text ?? '';
  };
  const drive = async (one: One) => {
    if (one.toolset === 'shell') {
      assert.equal(await exec(one, 'cat number'), `${one.number}\n`);
      return;
    }
    const call = { toolset: 'computer', member: 'screenshot', input: {} };
    const { is_error, content } = await ask(keyOf(one), 'POST', at(one, '/toolset'), call);
    assert.deepEqual([is_error, content?.some(({ type }) => type === 'image')], [false, true], one.id);
  };
  /** Each is called in the end, however often it takes while its cloud comes back. */
  const driveAll = () =>
    inTurns(all, (one) => until(`${one.id} is called`, () => drive(one).then(() => true), 2 * minutes));
  const running = async () =>
    (await shell('docker ps --filter name=cmp_ --format "{{.Status}}"')).split('\n').filter(Boolean);
  const paused = async () => (await running()).filter((status) => status.includes('Paused')).length;
  const killInOf = async (one: One) => {
    const pid = (
      await shell(`docker inspect --format '{{.State.Pid}}' $(docker ps -q --filter name=${one.id})`)
    ).trim();
    process.kill(Number(pid), 'SIGKILL');
    // One that is frozen dies when it is woken.
    await drive(one).catch(() => {});
    await until(
      `${one.id} is in error`,
      async () => (await ask(keyOf(one), 'GET', at(one))).status === 'error',
      minutes,
    );
    assert.equal((await ask(keyOf(one), 'POST', at(one, '/start'), {})).status, 'running');
  };
  const killAll = async (shells: One, desktop: One) => {
    for (const kill of Object.values(kills)) await kill();
    await until(
      'the cloud reaches its engine',
      async () => (await admin('pool')).includes('can make computers'),
      minutes,
    );
    for (const one of [shells, desktop]) await killInOf(one);
    return 'cloud, PostgreSQL, engine and two computers';
  };

  await scene('some computers are kept warm', async () => {
    await until('all are warm', async () => /warm.* 2 of desktop, 4 of shell/.test(await admin('pool')), 4 * minutes);
    return '2 of desktop, 4 of shell';
  });

  await scene('20 computers are claimed, and each is driven', async () => {
    const took: number[] = [];
    const began = performance.now();
    const wishes = kinds.map((toolset, number) => ({ toolset, number }));
    const made = await inTurns(wishes, async ({ toolset, number }) => {
      const from = performance.now();
      const { id } = await ask(number % 2, 'POST', '/v1/computers', { toolset });
      took.push(performance.now() - from);
      return { id, toolset, number };
    });
    all.push(...made);
    for (const one of all) if (one.toolset === 'shell') await exec(one, `echo ${one.number} > number`);
    await driveAll();
    const sorted = took.toSorted((a, b) => a - b).map(Math.round);
    return `all within ${seconds(began)}; creates took from ${sorted[0]} to ${sorted.at(-1)} ms`;
  });

  await scene('a first kill of each part, while they run', async () => {
    const killed = await killAll(all[0]!, all[19]!);
    await driveAll();
    return `${killed}; all 20 were called afterwards, with their files`;
  });

  await scene('all sleep, and what runs is frozen', async () => {
    await admin('pool set --running 20 --idle-minutes 1');
    await until('all sleep', async () => (await paused()) === 20, 5 * minutes);
    return `${await paused()} are paused`;
  });

  await scene('a second kill of each part, while they sleep', async () => {
    const killed = await killAll(all[1]!, all[18]!);
    await admin('pool set --running 20 --idle-minutes 10');
    await driveAll();
    return `${killed}; all 20 woke with their files`;
  });

  await scene('all are deleted, and nothing of them is left', async () => {
    await inTurns(all, (one) => ask(keyOf(one), 'DELETE', at(one)));
    await until('their containers are gone', async () => (await running()).length === 0, minutes);
    assert.equal((await shell('docker ps -aq --filter name=cmp_')).trim(), '');
    const names = (await shell('docker ps -a --filter name=warm_ --format "{{.Names}}"')).split('\n').filter(Boolean);
    const volumes = (await shell('docker volume ls -q')).split('\n').filter((name) => /^[0-9a-f]{64}$/.test(name));
    // Each that waits has two.
    assert.ok(volumes.length <= 2 * names.length, `${volumes.length} volumes of ${names.length} containers`);
    return `${names.length} wait for the next creates`;
  });
}
