/**
 * Two computers whose clocks are off, in opposite directions, and a cloud whose clock is right, all as their commands start them: they
 * pair, keep their links, ask for approvals and reach each other, and everybody who should is told how far off they are.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Approval } from '../../src/contracts/approvals/approval.ts';
import type { Agent } from '../../src/contracts/factory/agent.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { run } from '../cli/support.ts';
import { startPeople } from '../cloud-api/identity/support.ts';
import { computersOf, type Installation, pairUp, signIn, startInstallation } from './paired-support.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const off = (ms: number) => ({ ...systemClock, now: () => systemClock.now() + ms });

interface Check {
  readonly name: string;
  readonly state: string;
  readonly detail: string;
}

test.each([
  { hereMs: 10 * minute, here: '10 min ahead of', thereMs: -day, there: '24 h behind' },
  { hereMs: -10 * minute, here: '10 min behind', thereMs: day, there: '24 h ahead of' },
])(
  'with clocks $here and $there the cloud’s, pairing, links, approvals and bots elsewhere work, and the skew is told',
  async (skew) => {
    const people = await startPeople();
    const [here, there, ada] = await Promise.all([
      startInstallation({ clock: off(skew.hereMs) }),
      startInstallation({ clock: off(skew.thereMs) }),
      signIn(people),
    ]);
    await pairUp(here, people, ada);
    const { computerId: far = '' } = await pairUp(there, people, ada);
    await ada.call('PATCH', `/api/v1/computers/${far}`, { body: { name: 'Attic' } });

    // The person is told on the computer, by the command and on the page of computers.
    for (const [installation, words] of [
      [here, skew.here],
      [there, skew.there],
    ] as const) {
      await expect
        .poll(async () => clockOf(installation))
        .toMatchObject({
          state: 'warn',
          detail: expect.stringContaining(`This computer’s clock is ${words} http`),
        });
      const printed = await run({ GANTRY_HOME: installation.home, PATH: process.env.PATH ?? '' }, ['pair']);
      expect(printed.out).toContain(`${words} its cloud's: set the time of this computer`);
    }
    const told = await computersOf(ada);
    expect(Math.abs((told.find(({ id }) => id === far)?.clockAheadMs ?? 0) - skew.thereMs)).toBeLessThan(minute);

    // A question is alive at home for as long as it waits where it was asked.
    for (const installation of [here, there]) {
      const body = { tool: 'shell', member: 'exec', command: 'git push origin main', waitSeconds: 40 };
      const asked = installation.engine('POST', '/api/factory/gate', { body });
      const pending = async () =>
        ((await ada.call('GET', '/api/factory/approvals?state=pending')).json as never as { approvals: Approval[] })
          .approvals;
      await expect.poll(async () => (await pending()).length).toBe(1);
      const [question] = await pending();
      expect(Date.parse(question?.expiresAt ?? '')).toBeGreaterThan(systemClock.now());
      await ada.call('POST', `/api/factory/approvals/${question?.id}/resolve`, { body: { decision: 'approve' } });
      expect((await asked).json).toMatchObject({ verdict: 'allow' });
    }

    // A ticket that the cloud signs is good at a computer whose clock says it is not yet, or no longer.
    const folder = join(here.home, 'ws', '.gantry', 'teams', 'crew');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'team.yaml'), 'bots:\n  - {bot: web, harness: shell}\n');
    await here.agree();
    const up = await here.engine('POST', '/api/factory/teams/crew/up', { body: { on: 'Attic' } });
    expect([up.status, up.json]).toMatchObject([200, { applied: true }]);
    const web = async () => (await here.engine('GET', '/api/factory/agents/web@crew')).json as never as Agent;
    await expect.poll(web).toMatchObject({ state: 'idle', runner: `remote:${far}`, stale: false });
    // How long it has been idle is told in this computer's time.
    const sinceHere = Date.parse((await web()).since) - skew.hereMs - systemClock.now();
    expect(Math.abs(sinceHere)).toBeLessThan(minute);
    const sent = await here.engine('POST', '/api/factory/send', { body: { to: 'web@crew', text: 'echo on time' } });
    expect(sent.json).toMatchObject({ via: 'peer', state: 'verified' });
    await here.engine('POST', '/api/factory/teams/crew/down');
  },
  120_000,
);

async function clockOf(installation: Installation): Promise<Check | undefined> {
  const { checks } = (await installation.engine('GET', '/api/factory/doctor')).json as never as { checks: Check[] };
  return checks.find(({ name }) => name === 'Clock');
}
