/** A toll-free number is verified: one request, corrected in place, and no fee twice. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { business, isApproved, isRejected, openRig, origin, person, registrationOf } from './support.ts';

const number = '+18005550150';

describe.each(engines)('a toll-free number on $name', (engine) => {
  test('is verified with the generated flow and the hosted page, and texts', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy(number, 'toll_free');
    const filed = registrationOf(await rig.submit(id, { ...business, kind: 'Toll-Free' }));
    expect(filed).toMatchObject({ kind: 'toll_free', campaignId: null });
    const approved = await rig.until(id, isApproved);
    expect(approved).toMatchObject({ smsState: 'active', campaignId: null });
    const requests = Object.values(rig.sim.state.tollFree);
    expect(requests).toHaveLength(1);
    expect(requests[0]?.asked).toMatchObject({
      businessState: 'Colorado',
      optInWorkflow: expect.stringContaining(`${origin}/sms/${id}`),
      optInWorkflowImageURLs: [{ url: `${origin}/sms/${id}` }],
    });
  });

  test('is filed for the use that its person chose, in the carrier’s word for it', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy(number, 'toll_free');
    await rig.submit(id, { ...business, useCase: 'DELIVERY_NOTIFICATION' });
    await rig.until(id, isApproved);
    expect(Object.values(rig.sim.state.tollFree).map(({ asked }) => asked.useCase)).toEqual([
      'Courier Services & Deliveries',
    ]);
  });

  test.each(['toll_free_rejected', 'toll_free_waiting'])('%s: the person corrects it in place', async (fault) => {
    const rig = await openRig(engine);
    const { id } = await rig.buy(number, 'toll_free');
    await rig.fail(fault, { reason: 'The website does not show how people opt in.' });
    const first = registrationOf(await rig.submit(id, business));
    const rejected = await rig.until(id, isRejected);
    expect(rejected.rejectionReason).toBe('The website does not show how people opt in.');
    expect(rejected.problems[0]?.field).not.toBe(null);
    // The full EIN was wiped with the decision, and a correction names everything anew.
    expect((await rig.submit(id, { ...business, ein: '**-***6789' })).status).toBe(400);
    const again = await rig.submit(id, { ...business, optInPageUrl: 'https://bakery.example.com/texts' });
    expect([again.status, registrationOf(again).id]).toEqual([200, first.id]);
    await rig.until(id, isApproved);
    const requests = Object.values(rig.sim.state.tollFree);
    expect(requests).toHaveLength(1);
    expect(requests[0]?.asked.optInWorkflow).toContain('https://bakery.example.com/texts');
  });

  test.each(['cut_after', 'broken_after'])('%s of the filing: it is found again', async (fault) => {
    const rig = await openRig(engine);
    const { id } = await rig.buy(number, 'toll_free');
    await rig.fail(fault, { on: 'tollFree.create' });
    await rig.submit(id, business);
    rig.part.start?.();
    rig.clock.jump(60_000);
    await rig.clock.advance(5_000);
    await rig.until(id, isApproved);
    expect(Object.values(rig.sim.state.tollFree)).toHaveLength(1);
  });

  test('a sole proprietor is told to use a local number', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy(number, 'toll_free');
    const { status, json } = await rig.submit(id, person);
    expect([status, json.message]).toEqual([400, expect.stringContaining('use a local number')]);
  });
});
