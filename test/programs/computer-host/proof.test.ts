/** When a computer host tries what its computers reach, and what follows. The attempts themselves are real in isolation.test.ts. */
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createProof, script, type Target } from '../../../src/programs/computer-host/proof.ts';
import { createTestClock } from '../../support/test-clock.ts';

const hour = 3_600_000;

function open() {
  const clock = createTestClock();
  const tried: number[] = [];
  const stopped: string[] = [];
  const faults: string[] = [];
  const state = { reached: [] as string[], fails: null as Error | null, anyone: null as number | null };
  const proof = createProof({
    async reach(slot) {
      tried.push(slot);
      if (state.fails !== null) throw state.fails;
      return state.reached;
    },
    anyone: () => state.anyone,
    stopAll: async (why) => void stopped.push(why),
    clock,
    timers: clock,
    log: { error: (message, facts) => void faults.push(`${message} ${JSON.stringify(facts)}`) },
  });
  onTestFinished(() => proof.close());
  return { clock, proof, state, tried, stopped, faults };
}

test('the first computer is tried before it is answered for, the next ones are not, and every hour one that runs is', async () => {
  const { clock, proof, state, tried, stopped } = open();
  expect(proof.provenAt()).toBeNull();
  await Promise.all([proof.once(3), proof.once(4)]);
  const first = clock.now();
  await proof.once(5);
  expect([tried, proof.provenAt()]).toEqual([[3], first]);
  state.anyone = 7;
  await clock.advance(hour);
  await expect.poll(() => tried).toEqual([3, 7]);
  await proof.once(8);
  expect(proof.provenAt()).toBe(first + hour);
  expect([tried, stopped]).toEqual([[3, 7], []]);
});

test('without one that runs, the next start is tried again after an hour', async () => {
  const { clock, proof, tried } = open();
  await proof.once(1);
  await clock.advance(hour);
  expect(tried).toEqual([1]);
  await proof.once(2);
  expect(tried).toEqual([1, 2]);
});

test('where an address answers all computers are stopped, and each start is refused until one is proven', async () => {
  const { clock, proof, state, tried, stopped, faults } = open();
  await proof.once(1);
  Object.assign(state, { reached: ['192.168.0.1'], anyone: 1 });
  await clock.advance(hour);
  const why = 'From inside of a computer 192.168.0.1 answers, which no computer may reach.';
  await expect.poll(() => stopped).toEqual([why]);
  await expect.poll(() => faults.at(-1)).toContain('Computers are not proven to be isolated.');
  for (const slot of [2, 3])
    await expect(proof.once(slot)).rejects.toMatchObject({ code: 'not_isolated', message: why });
  state.reached = [];
  await proof.once(4);
  await proof.once(5);
  expect(tried).toEqual([1, 1, 2, 3, 4]);
});

test('a start is refused, and nothing is stopped, where it cannot be tried', async () => {
  const { proof, state, stopped } = open();
  state.fails = new Error('setpriv is not there');
  await expect(proof.once(1)).rejects.toMatchObject({
    code: 'not_isolated',
    message: 'It could not be tried what a computer reaches: setpriv is not there',
  });
  expect(stopped).toEqual([]);
});

test('what runs in the computer says which addresses answer, and no others', async () => {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const targets: readonly Target[] = [
    ['127.0.0.1', port],
    ['127.0.0.2', port],
  ];
  expect(
    JSON.parse(execFileSync(process.execPath, ['-e', script, JSON.stringify(targets)], { encoding: 'utf8' })),
  ).toEqual(['127.0.0.1']);
});
