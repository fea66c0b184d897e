/** A call is refused, allowed, made once, answered, spoken on and ended, on both engines against the simulated carrier. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, eventually, openFloor, ours, person, said } from './support.ts';

describe.each(engines)('calls out on $name', ({ place }) => {
  test('somebody who never wrote nor agreed is not called; with their consent they are, once', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const refused = await floor.ask(id, alice);
    expect([refused.status, refused.json.error]).toEqual([403, 'no_consent']);
    expect(JSON.stringify(refused.json)).toMatch(/consent/);

    expect((await floor.consent(id, alice)).status).toBe(201);
    const allowed = await floor.ask(id, alice);
    expect([allowed.status, said(allowed).basis]).toEqual([200, 'explicit']);
    const left = Date.parse(String(said(allowed).expiresAt)) - floor.clock.now();
    expect(left).toBeGreaterThan(29.9 * 60_000);
    expect(left).toBeLessThanOrEqual(30 * 60_000);
    // 256 bits, of which the database holds none.
    expect(Buffer.from(String(said(allowed).consentRef), 'base64url').length).toBe(32);
    const kept = JSON.stringify(await floor.store.all('SELECT * FROM phone_call_ref'));
    expect(kept).not.toContain(String(said(allowed).consentRef));

    const made = await floor.dial(said(allowed).consentRef);
    expect(made.status).toBe(201);
    const again = await floor.dial(said(allowed).consentRef);
    expect([again.status, again.json.error]).toEqual([403, 'bad_consent_ref']);
    expect(floor.legs(alice)).toMatchObject([{ from: ours, to: alice }]);
    expect(await floor.last(id)).toMatchObject({
      id: said(made).callId,
      direction: 'out',
      with: alice,
      status: 'ringing',
      basis: 'explicit',
      missed: false,
      purpose: 'your order of rye bread',
      legs: [{ role: 'person', e164: alice, state: 'ringing' }],
    });
  });

  test('it is answered, hears who calls and that it is a machine, and its end is told once', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const callId = await floor.talking(id);
    const [words] = floor.legs(alice)[0]!.heard;
    expect(words).toMatch(/Ada, an automated assistant of Blue Bottle.*your order of rye bread.*text/);
    expect(await floor.last(id)).toMatchObject({ status: 'active', answeredAt: expect.any(String) });
    floor.clock.move(61_000);
    await floor.handset(alice, 'hangup');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'ended', endedBecause: 'normal_clearing' });
    expect(floor.emitted).toMatchObject([
      {
        type: 'call.ended',
        sourceId: callId,
        userId: person,
        data: { callId, numberId: id, botId: 'bot_1', botName: 'Ada', missed: false },
      },
    ]);
    const { durationSec } = floor.emitted[0]!.data as { durationSec: number };
    expect(durationSec).toBeGreaterThanOrEqual(61);
    expect(durationSec).toBeLessThan(80);

    // Twice, in the other order, and long after the end: nothing moves.
    for (const event of [...floor.events].reverse()) await floor.take(event);
    for (const event of floor.events) await floor.take(event);
    expect(floor.emitted.length).toBe(1);
    expect(floor.legs(alice)[0]!.heard.length).toBe(1);
    expect((await floor.last(id)).status).toBe('ended');
  });

  test.each([
    ['busy', 'user_busy'],
    ['reject', 'call_rejected'],
    ['voicemail', 'A voicemail answered.'],
  ] as const)('who is called: %s', async (action, because) => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.texted(id, alice);
    await floor.dial(said(await floor.ask(id, alice)).consentRef);
    await floor.settled();
    await floor.handset(alice, action);
    await eventually(() => floor.last(id)).toMatchObject({ status: 'ended', endedBecause: because });
    await eventually(() => floor.legs(alice)[0]!.state).toBe('ended');
    expect(floor.legs(alice)[0]!.heard).toEqual([]);
    expect(floor.emitted).toMatchObject([{ data: { missed: false } }]);
  });

  test('a call is refused for what it names: the number, the bot, whom', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const foreign = await floor.addNumber('+14165550151', { userId: 'user_2' });
    const answers = async (reply: ReturnType<typeof floor.ask>) => {
      const { status, json } = await reply;
      return [status, json.error];
    };
    expect(await answers(floor.ask('number_none', alice))).toEqual([404, 'number_not_found']);
    expect(await answers(floor.ask(foreign.id, alice))).toEqual([404, 'number_not_found']);
    expect(await answers(floor.ask(id, alice, { botId: 'bot_2' }))).toEqual([403, 'wrong_bot']);
    expect(await answers(floor.ask(id, alice, { purpose: '' }))).toEqual([400, 'bad_request']);
    for (const to of ['+18765550123', '+19005550123', '+12025551212', '+447911123456', ours, '12025550199']) {
      expect(await answers(floor.ask(id, to)), to).toEqual([400, 'bad_request']);
    }
    expect(floor.sim.state.legs).toEqual({});
  });

  test('a reference is its person’s, for 30 minutes, for the bot that has the number', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.texted(id, alice);
    const ref = async () => said(await floor.ask(id, alice)).consentRef;
    const refusal = async (consentRef: unknown, who?: string) => {
      const { status, json } = await floor.dial(consentRef, who);
      return [status, json.error];
    };
    const bad = [403, 'bad_consent_ref'];
    expect(await refusal(floor.random())).toEqual(bad);
    const first = await ref();
    expect(await refusal(first, 'stranger')).toEqual(bad);
    floor.clock.move(30 * 60_000);
    expect(await refusal(first)).toEqual(bad);
    const second = await ref();
    await floor.store.write((tx) =>
      floor.rows.assign(tx, id, { runtimeId: 'computer_1', botId: 'bot_2', botName: null }),
    );
    expect(await refusal(second)).toEqual(bad);
    await floor.store.write((tx) =>
      floor.rows.assign(tx, id, { runtimeId: 'computer_1', botId: 'bot_1', botName: null }),
    );
    // The voice worker dials for whoever it is of.
    expect((await floor.dial(second, 'worker')).status).toBe(201);
    expect((await floor.dial(await ref(), 'worker')).status).toBe(201);
    expect(floor.legs(alice).length).toBe(2);
  });

  test('one reference presented many times at once makes one call', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.texted(id, bob);
    const { consentRef } = said(await floor.ask(id, bob));
    const replies = await Promise.all(Array.from({ length: 8 }, () => floor.dial(consentRef)));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(403)]);
    expect(floor.legs(bob).length).toBe(1);
  });
});
