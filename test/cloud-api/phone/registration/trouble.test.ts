/** What is on our side or the carrier's never becomes the person's: `waiting:`, tried again in its time, and nothing is paid twice. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { business, isApproved, migrations, openPart, openRig, type Rig, registrationOf } from './support.ts';

const halfHour = 30 * 60_000;

/** Time goes on, and whoever looks after registrations looks. */
async function pass(rig: Rig, ms: number): Promise<void> {
  rig.clock.jump(ms);
  await rig.clock.advance(5_000);
}

describe.each(engines)('trouble at the carrier on $name', (engine) => {
  const ours = [
    ['no money for the brand', 'brand.create', 'no_funds', { on: 'brand' }],
    ['no money for the campaign', 'campaign.file', 'no_funds', { on: 'campaign' }],
    ['an account of too low a level', 'brand.create', 'level_1', { on: 'brand.create' }],
    ['an account of too low a level for campaigns', 'campaign.file', 'level_2', { on: 'campaign.file' }],
    ['too many requests', 'campaign.file', 'too_many', { on: 'campaign.file' }],
    ['a code that nobody knows', 'brand.create', 'refuse', { on: 'brand.create', status: 400, code: '77777' }],
  ] as const;
  test.each(ours)('%s waits, and goes on by itself after 30 minutes', async (_, _op, fault, more) => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail(fault, more);
    await rig.submit(id, business);
    const waiting = await rig.until(id, ({ nextRetryAt }) => nextRetryAt !== null);
    expect(waiting).toMatchObject({ state: 'pending', smsState: 'pending_registration', problems: [] });
    expect(waiting.rejectionReason).toMatch(/^waiting: /);
    const at = Date.parse(waiting.nextRetryAt ?? '');
    expect(at - rig.clock.now()).toBeGreaterThan(halfHour - 60_000);
    expect(rig.lines.some(({ message }) => message === 'A registration waits for the carrier.')).toBe(true);
    // Looking at it tries nothing.
    expect((await rig.read(id)).json).toMatchObject({ nextRetryAt: waiting.nextRetryAt });
    rig.part.start?.();
    await pass(rig, halfHour);
    const approved = await rig.until(id, isApproved);
    expect(approved.rejectionReason).toBe(undefined);
    expect(approved.nextRetryAt).toBe(null);
    expect([rig.charges('brand').length, rig.charges('campaign').length]).toEqual([1, 1]);
  });

  test('what stays like that waits on, is told once, and never becomes a rejection', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail('level_1', { on: 'brand.create', times: 6 });
    await rig.submit(id, business);
    rig.part.start?.();
    for (let round = 0; round < 5; round += 1) {
      rig.clock.jump(halfHour);
      const left = async () => {
        await rig.clock.advance(5_000);
        return rig.sim.state.faults[0]?.times ?? 0;
      };
      await expect.poll(left).toBe(4 - round);
    }
    const { state, steps } = registrationOf(await rig.read(id));
    expect(state).toBe('pending');
    expect(steps.filter((step) => step.state === 'waiting')).toHaveLength(1);
  });

  const acted = [
    ['cut_after', 'brand.create'],
    ['fail_after', 'brand.create'],
    ['broken_after', 'campaign.file'],
    ['cut_after', 'campaign.file'],
  ] as const;
  test.each(acted)('%s of %s: what was done is found, and not done again', async (fault, op) => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail(fault, { on: op });
    await rig.submit(id, business);
    const waiting = await rig.until(id, ({ nextRetryAt }) => nextRetryAt !== null);
    // It is looked for soon: it may have been done.
    expect(Date.parse(waiting.nextRetryAt ?? '') - rig.clock.now()).toBeLessThan(60_000);
    rig.part.start?.();
    await pass(rig, 60_000);
    await rig.until(id, isApproved);
    expect([rig.charges('brand').length, rig.charges('campaign').length]).toEqual([1, 1]);
  });

  test('a correction that went unanswered is not made twice', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail('campaign_telnyx_failed', { reason: 'The samples are too short.' });
    await rig.submit(id, business);
    await rig.until(id, ({ state }) => state === 'rejected');
    await rig.fail('cut_after', { on: 'campaign.correct' });
    await rig.submit(id, {
      ...business,
      sampleMessages: [...(business.sampleMessages ?? []), 'Blue Bottle: a third sample.'],
    });
    rig.part.start?.();
    await pass(rig, 60_000);
    await rig.until(id, isApproved);
    expect(rig.sim.state.log.filter(({ detail }) => detail.op === 'campaign.correct')).toHaveLength(1);
    expect(rig.charges('campaign')).toHaveLength(1);
  });

  test('a number that cannot join its campaign waits, and joins later', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail('assignment_fails', { reason: 'It is registered with another carrier.' });
    await rig.submit(id, business);
    const waiting = await rig.until(id, ({ nextRetryAt }) => nextRetryAt !== null);
    expect(waiting.rejectionReason).toContain('another carrier');
    expect(waiting.campaignId).not.toBe(null);
    rig.part.start?.();
    await pass(rig, halfHour);
    await rig.until(id, isApproved);
  });
});

// One process alone has a file of SQLite.
describe.each(engines.filter(({ name }) => name === 'postgres'))('a carrier that is away on $name', (engine) => {
  test('is asked again by one of two processes over one database, once', async () => {
    const rig = await openRig(engine);
    const other = await openPart(await rig.floor.open(migrations, rig.clock), rig);
    const { id } = await rig.buy();
    await rig.fail('no_funds', { on: 'brand' });
    await rig.submit(id, business);
    await rig.until(id, ({ nextRetryAt }) => nextRetryAt !== null);
    rig.part.start?.();
    other.part.start?.();
    await pass(rig, halfHour);
    await rig.until(id, isApproved);
    expect([rig.charges('brand').length, rig.charges('campaign').length]).toEqual([1, 1]);
  });
});
