/** How a started Gantry ends: every way a person or a supervisor may ask. */
import { expect, test } from 'vitest';
import { createEnding, type Ending, echo, type Reason, secondChance } from '../../src/cli/start/ending.ts';

function place(options: { live?: number; interactive?: boolean; stopBots?: boolean } = {}) {
  let now = 0;
  const said: string[] = [];
  const closed: boolean[] = [];
  let timers: { at: number; task: () => void }[] = [];
  const ending: Ending = createEnding({
    interactive: options.interactive ?? true,
    stopBots: options.stopBots ?? false,
    names: { gantry: 'npx gantry', start: 'npm start' },
    liveBots: () => options.live ?? 0,
    close: async (stopBots) => {
      closed.push(stopBots);
    },
    say: (text) => said.push(text),
    now: () => now,
    after(ms, task) {
      const timer = { at: now + ms, task };
      timers.push(timer);
      return () => {
        timers = timers.filter((one) => one !== timer);
      };
    },
  });
  const pass = async (ms: number): Promise<void> => {
    now += ms;
    for (const timer of timers.filter((one) => one.at <= now)) timer.task();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { ending, said, closed, pass, ask: (reason: Reason) => ending.ask(reason) };
}

test('Ctrl-C without live bots ends everything at once', async () => {
  const { ask, ending, closed, said } = place();
  ask('SIGINT');
  expect(await ending.ended).toBe(0);
  expect(closed).toEqual([false]);
  expect(said).toEqual(['Gantry has stopped.']);
});

test('Ctrl-C with live bots names them and leaves them when nothing more is pressed', async () => {
  const { ask, pass, ending, closed, said } = place({ live: 3 });
  ask('SIGINT');
  await pass(secondChance - 1);
  expect(said).toEqual(['3 bots keep running; Ctrl-C again within 4 s stops them too']);
  expect(closed).toEqual([]);
  await pass(1);
  expect(await ending.ended).toBe(0);
  expect(closed).toEqual([false]);
  expect(said.at(-1)).toBe('3 bots still running. To see them again: npm start. To stop them: npx gantry stop --all');
});

test('a second Ctrl-C in time stops the bots, too', async () => {
  const { ask, pass, ending, closed, said } = place({ live: 1 });
  ask('SIGINT');
  await pass(1_000);
  ask('SIGINT');
  await ending.ended;
  expect(closed).toEqual([true]);
  expect(said).toEqual([
    '1 bot keeps running; Ctrl-C again within 4 s stops it too',
    'Stopping 1 bot …',
    'Gantry has stopped.',
  ]);
});

test('one Ctrl-C that npm passes on a second time is one', async () => {
  const { ask, pass, ending, closed } = place({ live: 3 });
  ask('SIGINT');
  await pass(echo);
  ask('SIGINT');
  await pass(secondChance);
  await ending.ended;
  expect(closed).toEqual([false]);
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s without a terminal leaves bots running', async (reason) => {
  const { ask, ending, closed, said } = place({ live: 2, interactive: false });
  ask(reason);
  await ending.ended;
  expect(closed).toEqual([false]);
  expect(said.at(-1)).toContain('2 bots still running');
});

test.each(['SIGTERM', 'SIGHUP', 'window'] as const)(
  '%s at a terminal leaves bots running without waiting',
  async (reason) => {
    const { ask, ending, closed } = place({ live: 2 });
    ask(reason);
    await ending.ended;
    expect(closed).toEqual([false]);
  },
);

test.each([
  ['SIGINT', true],
  ['SIGTERM', false],
] as const)('--stop-bots stops them at the first %s', async (reason, interactive) => {
  const { ask, ending, closed } = place({ live: 2, interactive, stopBots: true });
  ask(reason);
  await ending.ended;
  expect(closed).toEqual([true]);
});

test('an error while closing reaches who waits', async () => {
  const ending = createEnding({
    interactive: false,
    stopBots: false,
    names: { gantry: 'g', start: 's' },
    liveBots: () => 0,
    close: () => Promise.reject(new Error('stuck')),
    say: () => {},
    now: () => 0,
    after: () => () => {},
  });
  ending.ask('SIGTERM');
  await expect(ending.ended).rejects.toThrow('stuck');
});
