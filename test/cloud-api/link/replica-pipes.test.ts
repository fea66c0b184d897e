/** Pipes through another replica, which is a program of its own here, and what becomes of them when it stands still. */
import { type IncomingMessage, request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import type { Reach } from '../../../src/cloud-api/link/elsewhere.ts';
import { createLinkAgent } from '../../../src/cloud-api/link/link.ts';
import { createReplicaPipes } from '../../../src/cloud-api/link/replica-pipes.ts';
import { quietMs } from '../../../src/cloud-api/link/replica-watch.ts';
import { createSharedLink } from '../../../src/cloud-api/link/shared-link.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { startVictim } from '../../support/victim.ts';

const victim = new URL('../../support/victims/replica.ts', import.meta.url).pathname;
const internalToken = 'token'.repeat(10);
const clock = { now: () => Date.now() };
/** Looks more often than it waits for an answer: that may be slow. */
const timers = {
  after: (ms: number, effect: () => void) => systemTimers.after(ms === quietMs ? ms / 10 : ms / 2, effect),
};

async function world() {
  const replica = startVictim({ command: [process.execPath, victim, 'replica_b', internalToken] });
  const address = `http://127.0.0.1:${await replica.until((line) => /^\d+$/.test(line))}`;
  const pid = replica.child.pid ?? 0;
  onTestFinished(async () => {
    process.kill(pid, 'SIGCONT');
    process.kill(pid, 'SIGKILL');
    await replica.ended;
  });
  const suspected: string[] = [];
  const there: Reach = { linked: true, since: 1, replica: 'replica_b', address, epoch: 1, credential: 'c' };
  const pipes = createReplicaPipes({ internalToken, clock, timers });
  const link = createSharedLink({
    dialIns: {
      open: () => Promise.reject(new Error('It is not linked here.')),
      state: () => ({ linked: false, since: 0 }),
      credential: () => null,
      onChange: () => () => {},
    },
    elsewhere: {
      find: async () => (suspected.length > 0 ? { linked: false, since: 1 } : there),
      suspect: (replica) => void suspected.push(replica),
    },
    replicas: {
      changed: async () => {},
      onChange: () => () => {},
      wait: async () => {},
    },
    pipes,
    clock,
    timers,
  });
  onTestFinished(() => link.close());
  const agent = createLinkAgent(link, 'computer_a');
  onTestFinished(() => agent.destroy());
  const ask = (path: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      request({ agent, path, headers: { host: 'engine' } }, resolve)
        .on('error', reject)
        .end();
    });
  const whole = async (path: string) => {
    let text = '';
    for await (const part of await ask(path)) text += String(part);
    return text;
  };
  return {
    ask,
    whole,
    suspected,
    pipes,
    target: { replica: 'replica_b', address },
    kill: (how: NodeJS.Signals) => process.kill(pid, how),
  };
}

test('who waits for an answer through a replica that stands still is told, and so is who asks then', async () => {
  const { ask, whole, suspected, kill } = await world();
  const stream = await ask('/events');
  const cut = new Promise((resolve) => stream.once('error', resolve));
  stream.resume();
  // Its connection lies ready for the next one.
  expect(await whole('/')).toBe('{}');
  kill('SIGSTOP');
  await expect(whole('/')).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  await cut;
  expect(suspected).toEqual(['replica_b']);
  await expect(whole('/')).rejects.toMatchObject({ code: 'transport' });
});

test('one that only has nothing to say keeps its connections', async () => {
  const { ask, suspected } = await world();
  const stream = await ask('/events');
  let over = false;
  stream.once('close', () => {
    over = true;
  });
  stream.resume();
  // It is asked several times meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect([over, suspected]).toEqual([false, []]);
});

test('whether a replica is there, it must prove, as that one and with the token', async () => {
  const { pipes, target } = await world();
  expect(await pipes.isThere(target)).toBe(true);
  expect(await pipes.isThere({ ...target, replica: 'replica_c' })).toBe(false);
  const stranger = createReplicaPipes({ internalToken: 'another'.repeat(10), clock, timers });
  expect(await stranger.isThere(target)).toBe(false);
});
