/** A computer that slept for a day, and one whose clock was set back: what waited goes on, nothing is lost, and the record stays whole. */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { startDesk } from './paired-support.ts';

const day = 24 * 60 * 60_000;

test('after a day of sleep, and after the clock was set back two days, messages arrive and streams go on', async () => {
  let ahead = 0;
  // As in a sleep: the wall clock jumps, timers and the steady clock do not.
  const clock = { now: () => systemClock.now() + ahead, monotonic: () => systemClock.monotonic() };
  const desk = await startDesk({ clock });
  expect((await desk.engine('POST', '/api/factory/workspace/demo', { body: {} })).status).toBe(200);
  expect((await desk.engine('POST', '/api/factory/teams/demo/up', { body: {} })).status).toBe(200);
  const leave = new AbortController();
  const stream = await desk.engineStream('/api/factory/events', leave.signal);
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  let heard = '';
  const listening = (async () => {
    for (;;) {
      const { value, done } = await reader.read().catch(() => ({ value: undefined, done: true }));
      if (done) return;
      heard += value;
    }
  })();
  const send = async (text: string) => {
    const sent = await desk.engine('POST', '/api/factory/send', { body: { to: 'tester@demo', text, raw: true } });
    return sent.json as never as { id: string; state: string };
  };
  await expect.poll(async () => (await send('echo before')).state, { timeout: 20_000 }).toBe('verified');

  for (const jump of [day, -2 * day]) {
    ahead += jump;
    const sent = await send(`echo after ${jump}`);
    expect(sent.state).toBe('verified');
    await expect.poll(() => heard, { timeout: 10_000 }).toContain(sent.id);
    // A question is asked, waits, and is answered.
    const asked = await desk.engine('POST', '/api/factory/gate', {
      body: { tool: 'deploy', reason: 'after the jump', waitSeconds: 0 },
    });
    expect(asked.status).toBeLessThan(300);
    const browser = await desk.web('GET', '/api/v1/session');
    expect(browser.status).toBe(200);
  }
  const ids = [...heard.matchAll(/^id: ?(\d+)/gm)].map((match) => Number(match[1]));
  expect(ids.length).toBeGreaterThan(2);
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  expect((await desk.engine('GET', '/api/factory/ledger/verify')).json).toMatchObject({ ok: true });
  leave.abort();
  await listening;
}, 60_000);
