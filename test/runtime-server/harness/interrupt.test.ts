/** When a turn counts as interrupted, for every harness: only once the bot was seen out of it. */
import { expect, test } from 'vitest';
import type { AgentState } from '../../../src/contracts/factory/agent.ts';
import type { BotState } from '../../../src/runtime-server/harness/harness.ts';
import { interruptTurn } from '../../../src/runtime-server/harness/interrupt.ts';

function botIn(first: AgentState) {
  let state = first;
  const listeners = new Set<(state: BotState) => void>();
  const now = () => ({ state }) as BotState;
  let timeIsOver = () => {};
  return {
    becomes(next: AgentState) {
      state = next;
      for (const listener of [...listeners]) listener(now());
    },
    timeIsOver: () => timeIsOver(),
    listening: () => listeners.size,
    interrupt: (act: () => Promise<void> = async () => {}) =>
      interruptTurn(
        (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
        now,
        {
          after(_ms, effect) {
            timeIsOver = effect;
            return () => {
              timeIsOver = () => {};
            };
          },
        },
        act,
      ),
  };
}

test.each(['working', 'checking', 'needs_you', 'starting'] as const)(
  'a bot that is %s when the time is over was not interrupted',
  async (state) => {
    const bot = botIn('working');
    const interrupted = bot.interrupt();
    bot.becomes(state);
    bot.timeIsOver();
    expect(await interrupted).toBe(false);
    expect(bot.listening()).toBe(0);
  },
);

test.each(['idle', 'offline', 'failed'] as const)('one that was seen %s was, however short', async (state) => {
  const bot = botIn('working');
  const interrupted = bot.interrupt();
  bot.becomes(state);
  bot.becomes('working');
  bot.timeIsOver();
  expect(await interrupted).toBe(true);
  expect(bot.listening()).toBe(0);
});

test('keys that cannot be written are no interruption, and leave nobody waiting', async () => {
  const bot = botIn('working');
  await expect(bot.interrupt(() => Promise.reject(new Error('The pane is gone.')))).rejects.toThrow(
    'The pane is gone.',
  );
  expect(bot.listening()).toBe(0);
});
