/** Calls that come in, what may be done to one that goes on, limits, and a number that is released. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, carol, eventually, openFloor, ours, said } from './support.ts';

describe.each(engines)('calls that go on, on $name', ({ place }) => {
  test('a call that comes in is answered by its bot, which says that it is a machine that texts', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    floor.sim.call(alice, ours);
    await eventually(() => floor.legs(alice)[0]?.heard.length).toBe(1);
    expect(floor.legs(alice)[0]!.heard[0]).toMatch(
      /This is Ada, an automated assistant of Blue Bottle\. I answer by text/,
    );
    expect(await floor.last(id)).toMatchObject({
      direction: 'in',
      with: alice,
      status: 'active',
      botId: 'bot_1',
      basis: null,
      missed: false,
    });
    await floor.handset(alice, 'hangup');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'ended', missed: false });
    expect(floor.emitted).toMatchObject([{ type: 'call.ended', data: { missed: false } }]);
  });

  test('one whose caller was gone before it was answered was missed, in whichever order that is told', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.stop();
    floor.sim.call(alice, ours);
    await floor.settled();
    await floor.handset(alice, 'hangup');
    await floor.settled();
    await floor.start();
    await eventually(() => floor.last(id)).toMatchObject({ status: 'ended', missed: true, answeredAt: null });
    expect(floor.emitted).toMatchObject([{ data: { missed: true, durationSec: 0 } }]);

    // Of one the end is told first: nothing is known of it, and its beginning finds nobody there.
    floor.away.is = true;
    floor.sim.call(bob, ours);
    await floor.handset(bob, 'hangup');
    await floor.settled();
    floor.away.is = false;
    const leg = floor.legs(bob)[0]!;
    const payload = { call_control_id: leg.id, call_session_id: leg.sessionId, from: bob, to: ours };
    const event = (type: string, more: object) => ({
      id: type,
      type,
      occurredAt: floor.clock.now(),
      receivedAt: floor.clock.now(),
      numberId: null,
      payload: { ...payload, ...more },
    });
    await floor.take(event('call.hangup', { hangup_cause: 'originator_cancel' }));
    await floor.take(event('call.initiated', { direction: 'incoming' }));
    await eventually(() => floor.last(id)).toMatchObject({ with: bob, status: 'ended', missed: true });
  });

  test('hold, resume, mute, keys and hanging up reach the handset; in a wrong state they say why', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const callId = await floor.talking(id);
    const leg = () => floor.legs(alice)[0]!;
    const act = async (action: string, more: object = {}) => {
      const reply = await floor.control(callId, { action, ...more });
      return reply.status === 202 ? said(reply) : `${reply.status} ${reply.json.error}`;
    };
    expect(await act('resume')).toBe('409 wrong_state');
    expect(await act('hold')).toEqual({ ok: true, callId, action: 'hold' });
    await eventually(() => leg().state).toBe('held');
    expect(await act('hold')).toBe('409 wrong_state');
    expect(await act('dtmf', { digits: '1' })).toBe('409 wrong_state');
    expect(await act('resume')).toMatchObject({ ok: true });
    await eventually(() => leg().state).toBe('talking');
    expect(await act('unmute')).toBe('409 wrong_state');
    expect(await act('mute')).toMatchObject({ ok: true });
    expect((await floor.last(id)).muted).toBe(true);
    expect(await act('mute')).toBe('409 wrong_state');
    expect(await act('unmute')).toMatchObject({ ok: true });
    expect(await act('dtmf')).toBe('400 bad_request');
    expect(await act('dtmf', { digits: '12x' })).toBe('400 bad_request');
    expect(await act('dtmf', { digits: '12#' })).toMatchObject({ ok: true });
    await eventually(() => leg().heard.at(-1)).toBe('Keys: 12#');
    expect(await act('whisper')).toBe('400 bad_request');
    expect(await act('transfer')).toBe('400 bad_request');
    expect(await act('transfer', { to: bob })).toBe('400 bad_request');
    expect(await act('hangup')).toMatchObject({ ok: true });
    await eventually(() => leg().state).toBe('ended');
    expect(await act('hangup')).toBe('409 wrong_state');
    expect(floor.emitted.length).toBe(1);
  });

  test('nobody does anything to another person’s call, nor reads it', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const callId = await floor.talking(id);
    expect((await floor.control(callId, { action: 'hangup' }, 'stranger')).status).toBe(404);
    expect((await floor.control('call_none', { action: 'hangup' })).status).toBe(404);
    const list = await floor.web.call('GET', `/api/v1/phone/numbers/${id}/calls`, {
      token: null,
      headers: { 'x-test-as': 'stranger' },
    });
    expect(list.status).toBe(404);
    expect((await floor.last(id)).status).toBe('active');
  });

  test('limits: calls at once in both directions, calls out a day, and the longest call', async () => {
    const limits = { maxConcurrent: 2, perDay: 3, maxCallMs: 60 * 60_000 };
    const floor = await openFloor(await place(), { limits });
    const { id } = await floor.addNumber();
    const second = await floor.addNumber('+14165550151');
    await floor.talking(id, alice);
    await floor.talking(id, bob);
    await floor.texted(second.id, carol);
    const { consentRef } = said(await floor.ask(second.id, carol));
    const full = await floor.dial(consentRef);
    expect([full.status, full.json.error]).toEqual([429, 'too_many_calls']);
    floor.sim.call(carol, ours);
    await eventually(() => floor.legs(carol)[0]?.state).toBe('ended');
    expect(await floor.last(id)).toMatchObject({ with: carol, status: 'ended', missed: true });
    await floor.handset(bob, 'hangup');
    await eventually(async () => (await floor.list(id)).filter(({ status }) => status === 'active').length).toBe(1);
    // The reference was not used up by the refusal.
    expect((await floor.dial(consentRef)).status).toBe(201);
    await floor.settled();
    await floor.handset(carol, 'busy');
    await eventually(() => floor.last(second.id)).toMatchObject({ status: 'ended' });

    await floor.texted(id, carol);
    const dial = async () => floor.dial(said(await floor.ask(id, carol)).consentRef);
    expect((await dial()).status).toBe(201);
    await floor.settled();
    await floor.handset(carol, 'reject');
    await eventually(() => floor.last(id)).toMatchObject({ with: carol, direction: 'out', status: 'ended' });
    const daily = await dial();
    expect([daily.status, daily.json.error]).toEqual([429, 'daily_limit']);
    expect(Number(daily.headers['retry-after'])).toBeGreaterThan(86_000);

    await floor.stop();
    floor.clock.move(60 * 60_000);
    await floor.start();
    await eventually(() => floor.legs(alice)[0]!.state).toBe('ended');
    expect((await floor.list(id)).find((call) => call.with === alice)).toMatchObject({ endedBecause: 'time_limit' });
  });

  test('a released number hangs up, and its references are void', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.talking(id);
    await floor.texted(id, bob);
    const { consentRef } = said(await floor.ask(id, bob));
    const number = (await floor.rows.numbers.find(id))!;
    await floor.store.write(function* (tx) {
      yield* floor.rows.move(tx, id, 'release');
      yield* floor.calls.hooks.released!(tx, number);
    });
    await eventually(() => floor.legs(alice)[0]!.state).toBe('ended');
    const refused = await floor.dial(consentRef);
    expect([refused.status, refused.json.error]).toEqual([403, 'bad_consent_ref']);
    expect(floor.emitted.length).toBe(1);
    expect(floor.legs(bob)).toEqual([]);
    // What nobody can use any more is not kept for good; who agreed is.
    floor.clock.move(25 * 60 * 60_000);
    await floor.calls.forgetOld?.(floor.clock.now());
    expect(await floor.store.all('SELECT * FROM phone_call_ref')).toEqual([]);
  });

  test('a carrier that refuses a call says so to who asked, and nothing rings', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.texted(id, alice);
    floor.sim.fault({ name: 'refuse', on: 'calls.dial', status: 403, code: '20100', title: 'Insufficient Funds' });
    const reply = await floor.dial(said(await floor.ask(id, alice)).consentRef);
    expect([reply.status, reply.json.error]).toEqual([502, 'carrier_refused']);
    expect(await floor.last(id)).toMatchObject({ status: 'ended', answeredAt: null });
    expect(floor.legs(alice)).toEqual([]);
  });
});
