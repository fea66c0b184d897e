/** A computer that slept for a day, and one whose clock was set back: what waited goes on, nothing is lost, and the record stays whole. */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { startInstallation } from './paired-support.ts';

const day = 24 * 60 * 60_000;

test('after a day of sleep, and after the clock was set back two days, messages arrive and streams go on', async () => {
  let ahead = 0;
  // As in a sleep: the wall clock jumps, timers and the steady clock do not.
  const clock = { now: () => systemClock.now() + ahead, monotonic: () => systemClock.monotonic() };
  const installation = await startInstallation({ clock });
  expect((await installation.engine('POST', '/api/factory/workspace/demo', { body: {} })).status).toBe(200);
  expect((await installation.engine('POST', '/api/factory/teams/demo/up', { body: {} })).status).toBe(200);
  const leave = new AbortController();
  const stream = await installation.engineStream('/api/factory/events', leave.signal);
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  let heard = '';
  const listening = (async () => {
    for (;;) {
      const { value, done } = await reader.read().catch(() => ({ value: undefined, done: true }));
      if (done) return;
      heard += value;
    }
  })();
  /** The bot may still be busy with the line before, which makes a send wait in its queue: what counts is that each arrives. */
  const arrives = async (text: string) => {
    const sent = await installation.engine('POST', '/api/factory/send', {
      body: { to: 'tester@demo', text, raw: true },
    });
    const { id } = sent.json as never as { id: string };
    const state = async () => {
      const read = await installation.engine('GET', '/api/factory/deliveries?agent=tester@demo');
      const { deliveries } = read.json as never as { deliveries: { id: string; state: string }[] };
      return deliveries.find((delivery) => delivery.id === id)?.state;
    };
    await expect.poll(state).toBe('verified');
    return id;
  };
  await arrives('echo before');

  for (const jump of [day, -2 * day]) {
    ahead += jump;
    const id = await arrives(`echo after ${jump}`);
    await expect.poll(() => heard).toContain(id);
    // A question is asked, waits, and is answered.
    const asked = await installation.engine('POST', '/api/factory/gate', {
      body: { tool: 'deploy', reason: 'after the jump', waitSeconds: 0 },
    });
    expect(asked.status).toBeLessThan(300);
    const browser = await installation.web('GET', '/api/v1/session');
    expect(browser.status).toBe(200);
  }
  const ids = [...heard.matchAll(/^id: ?(\d+)/gm)].map((match) => Number(match[1]));
  expect(ids.length).toBeGreaterThan(2);
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  expect((await installation.engine('GET', '/api/factory/ledger/verify')).json).toMatchObject({ ok: true });
  leave.abort();
  await listening;
}, 60_000);
