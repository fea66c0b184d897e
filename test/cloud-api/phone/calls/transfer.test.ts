/** A call is handed over: warm and cold, and each way in which that comes to nothing; the person is brought back and told. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, carol, eventually, type Floor, openFloor, ours, said } from './support.ts';

/** A call with Alice, whom Bob, who agreed, is asked to take over. */
async function asked(floor: Floor, mode: 'warm' | 'cold' = 'warm', to = bob) {
  const { id } = await floor.addNumber();
  const callId = await floor.talking(id);
  if (mode === 'warm') await floor.consent(id, to);
  const reply = await floor.control(callId, { action: 'transfer', to, mode });
  expect([reply.status, said(reply).action]).toEqual([202, 'transfer']);
  await eventually(() => floor.legs(to).length).toBe(1);
  return { id, callId, reply };
}

const aliceHears = (floor: Floor) => floor.legs(alice)[0]!.heard.at(-1);

async function isBack(floor: Floor, id: string, state: string, words: RegExp): Promise<void> {
  await eventually(() => floor.last(id)).toMatchObject({ status: 'active', transfer: { state } });
  await eventually(() => aliceHears(floor)).toMatch(words);
  expect(floor.legs(alice)[0]).toMatchObject({ state: 'talking', bridgedWith: null });
  expect((await floor.last(id)).legs[0]).toMatchObject({ role: 'person', state: 'talking' });
  // She goes on with the bot.
  expect((await floor.control((await floor.last(id)).id, { action: 'hold' })).status).toBe(202);
}

describe.each(engines)('transfers on $name', ({ place }) => {
  test('warm: she waits with music, he hears who calls and why, accepts, and the bot leaves', async () => {
    const floor = await openFloor(await place());
    const { id, callId, reply } = await asked(floor);
    // The reference was attached here, and is used up.
    expect(String(said(reply).consentRef)).toMatch(/^[\w-]{43}$/);
    expect((await floor.dial(said(reply).consentRef)).status).toBe(403);
    const refs = 'SELECT purpose, kind, peer, used_at AS "usedAt" FROM phone_call_ref WHERE kind = ?';
    expect(await floor.store.all(refs, 'transfer')).toMatchObject([{ purpose: 'transfer', peer: bob }]);
    expect(floor.legs(alice)[0]!.state).toBe('held');
    expect(floor.legs(bob)[0]!.sessionId).toBe(floor.legs(alice)[0]!.sessionId);
    expect(await floor.last(id)).toMatchObject({
      status: 'transferring',
      transfer: { to: bob, mode: 'warm', state: 'asking' },
    });
    expect((await floor.control(callId, { action: 'hold' })).status).toBe(409);

    await floor.handset(bob, 'answer');
    await eventually(() => floor.legs(bob)[0]!.heard).toHaveLength(1);
    expect(floor.legs(bob)[0]!.heard[0]).toMatch(/automated assistant.*1 2 0 2 5 5 5 0 1 9 9.*rye bread.*Press 1/);
    await floor.handset(bob, 'press', '1');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'active', transfer: { state: 'accepted' } });
    expect(floor.legs(alice)[0]!.bridgedWith).toBe(floor.legs(bob)[0]!.id);
    expect((await floor.last(id)).legs.map(({ role, state }) => [role, state])).toEqual([
      ['person', 'talking'],
      ['consult', 'talking'],
    ]);
    const late = await floor.control(callId, { action: 'mute' });
    expect([late.status, late.json.error]).toEqual([409, 'wrong_state']);
    await floor.handset(bob, 'hangup');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'ended' });
    await eventually(() => floor.legs(alice)[0]!.state).toBe('ended');
    expect(floor.emitted.length).toBe(1);
  });

  test.each([
    ['declined by a key', 'declined', /cannot take/, ['answer', 'press 2']],
    ['rejected', 'declined', /cannot take/, ['reject']],
    ['busy', 'busy', /busy/, ['busy']],
    ['a voicemail', 'voicemail', /voicemail/, ['voicemail']],
    ['hung up without a key', 'declined', /cannot take/, ['answer', 'hangup']],
    ['not answered', 'no_answer', /Nobody is answering/, ['wait']],
    ['answered, and no key pressed', 'no_answer', /Nobody is answering/, ['answer', 'wait']],
  ] as const)('warm: %s', async (_name, state, words, does) => {
    const floor = await openFloor(await place());
    const { id } = await asked(floor);
    for (const step of does) {
      if (step === 'wait') floor.sim.advance(40_000);
      else if (step === 'press 2') await floor.handset(bob, 'press', '2');
      else await floor.handset(bob, step);
      const leg = floor.legs(bob)[0]!;
      if (step === 'answer') await eventually(() => leg.heard.length).toBe(1);
    }
    await isBack(floor, id, state, words);
    await eventually(() => floor.legs(bob)[0]!.state).toBe('ended');
    expect(floor.emitted).toEqual([]);
  });

  test('warm: another key asks once more', async () => {
    const floor = await openFloor(await place());
    const { id } = await asked(floor);
    await floor.handset(bob, 'answer');
    await eventually(() => floor.legs(bob)[0]!.heard.length).toBe(1);
    await floor.handset(bob, 'press', '7');
    await eventually(() => floor.legs(bob)[0]!.heard.length).toBe(2);
    await floor.handset(bob, 'press', '1');
    await eventually(() => floor.last(id)).toMatchObject({ transfer: { state: 'accepted' } });
  });

  test('she hangs up while it rings: he is dropped; both at once end the call once', async () => {
    const floor = await openFloor(await place());
    const { id } = await asked(floor);
    await floor.handset(alice, 'hangup');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'ended', transfer: { state: 'failed' } });
    await eventually(() => floor.legs(bob)[0]!.state).toBe('ended');
    expect(floor.legs(bob)[0]!.heard).toEqual([]);

    await floor.control(await floor.talking(id), { action: 'transfer', to: bob, mode: 'warm' });
    await eventually(() => floor.legs(bob).length).toBe(2);
    await floor.handset(bob, 'answer');
    await floor.handset(bob, 'hangup');
    await floor.handset(alice, 'hangup');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'ended' });
    await eventually(() => floor.emitted.length).toBe(2);
    expect((await floor.last(id)).transfer?.state).not.toBe('accepted');
  });

  test('warm: no consent is 403, and the worker takes none without a reference', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const callId = await floor.talking(id);
    const refused = await floor.control(callId, { action: 'transfer', to: bob, mode: 'warm' });
    expect([refused.status, refused.json.error]).toEqual([403, 'no_consent']);
    expect((await floor.last(id)).status).toBe('active');
    const transfer = { to: bob, mode: 'warm', consentRef: null } as const;
    for (const consentRef of [null, floor.random()]) {
      await expect(
        floor.forward(callId, { action: 'transfer', transfer: { ...transfer, consentRef } }),
      ).rejects.toMatchObject({
        options: { wireCode: 'no_consent' },
      });
    }
    // One that was given out for a call is none for a transfer.
    await floor.consent(id, bob);
    const { consentRef } = said(await floor.ask(id, bob));
    await expect(
      floor.forward(callId, { action: 'transfer', transfer: { ...transfer, consentRef: String(consentRef) } }),
    ).rejects.toMatchObject({ options: { wireCode: 'no_consent' } });
    expect(floor.legs(bob)).toEqual([]);
    expect(floor.legs(alice)[0]!.state).toBe('talking');
  });

  test('cold: the carrier dials and joins, without consent; a failure brings her back', async () => {
    const floor = await openFloor(await place());
    const { id, callId, reply } = await asked(floor, 'cold');
    expect(said(reply).consentRef).toBeUndefined();
    await floor.handset(bob, 'reject');
    await isBack(floor, id, 'declined', /cannot take/);
    await floor.control(callId, { action: 'resume' });
    expect((await floor.control(callId, { action: 'transfer', to: bob, mode: 'cold' })).status).toBe(202);
    await eventually(() => floor.legs(bob).length).toBe(2);
    await floor.handset(bob, 'answer');
    await eventually(() => floor.last(id)).toMatchObject({
      status: 'active',
      transfer: { mode: 'cold', state: 'accepted' },
    });
    await floor.handset(alice, 'hangup');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'ended' });
    await eventually(() => floor.legs(bob)[1]!.state).toBe('ended');
    expect(floor.emitted.length).toBe(1);
  });

  test('cold: one that she leaves while it rings rings on for nobody', async () => {
    const floor = await openFloor(await place());
    const { id } = await asked(floor, 'cold');
    await floor.settled();
    await floor.handset(alice, 'hangup');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'ended' });
    await eventually(() => floor.legs(bob)[0]!.state).toBe('ended');
  });

  test.each(['warm', 'cold'] as const)('STOP wins in both modes, before and while it rings: %s', async (first) => {
    const floor = await openFloor(await place());
    const { id, callId } = await asked(floor, first);
    await floor.settled();
    await floor.say(id, bob, 'stop');
    await isBack(floor, id, 'stopped', /not allowed to call/);
    await eventually(() => floor.legs(bob)[0]!.state).toBe('ended');
    await floor.control(callId, { action: 'resume' });
    for (const mode of ['warm', 'cold']) {
      const refused = await floor.control(callId, { action: 'transfer', to: bob, mode });
      expect([mode, refused.status, refused.json.error]).toEqual([mode, 403, 'no_consent']);
      expect(JSON.stringify(refused.json)).toContain('STOP');
    }
    expect(floor.legs(bob).length).toBe(1);
  });

  test('a key hands over to approved targets alone, a person to any number that may be called', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const callId = await floor.talking(id);
    const to = (e164: string, who?: string) =>
      floor.control(callId, { action: 'transfer', to: e164, mode: 'cold' }, who);
    const refused = await to(bob, 'key');
    expect([refused.status, refused.json.error]).toEqual([403, 'not_a_target']);
    await floor.targets({ transferTargets: [{ e164: bob, label: 'Bob' }] });
    expect((await to(carol, 'key')).status).toBe(403);
    for (const wrong of ['+18765550123', '+19005550123', ours, alice]) {
      const reply = await to(wrong);
      expect([wrong, reply.status]).toEqual([wrong, 400]);
    }
    expect((await to(bob, 'key')).status).toBe(202);
    await eventually(() => floor.legs(bob).length).toBe(1);
    await floor.handset(bob, 'busy');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'active', transfer: { state: 'busy' } });
    expect((await to(carol)).status).toBe(202);
    // A target was approved: that is a consent, so that a warm one needs no other.
    await eventually(() => floor.legs(carol).length).toBe(1);
    await floor.handset(carol, 'busy');
    await eventually(() => floor.last(id)).toMatchObject({ transfer: { to: carol, state: 'busy' } });
    const warm = await floor.control(callId, { action: 'transfer', to: bob, mode: 'warm' }, 'key');
    expect(warm.status).toBe(202);
  });
});
