/** Who may be called and why: what was recorded, who texted or called first, the person's own phone, transfer targets. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, carol, eventually, type Floor, openFloor, ours, said } from './support.ts';

const basisOf = async (floor: Floor, id: string, to: string) => {
  const reply = await floor.ask(id, to);
  return reply.status === 200 ? said(reply).basis : `${reply.status} ${reply.json.error}`;
};

/** Somebody calls in, and is answered. */
/** Up to the moment in which both the handset and the cloud know that it was answered. */
async function callsIn(floor: Floor, id: string, from: string): Promise<void> {
  floor.sim.call(from, ours);
  await eventually(() => floor.legs(from).at(-1)!.state).toBe('talking');
  await eventually(() => floor.last(id)).toMatchObject({ with: from, status: 'active' });
}

describe.each(engines)('consents on $name', ({ place }) => {
  test('what was recorded is listed newest first, with its evidence, page by page, and never changed', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    for (const [e164, source] of [
      [alice, 'web form'],
      [bob, 'invite'],
      [alice, 'phone'],
    ] as const) {
      const reply = await floor.consent(id, e164, { source, evidence: `"${source}" of 1 May` });
      expect(reply.status).toBe(201);
      expect(said(reply).consent).toMatchObject({
        e164,
        source,
        evidence: `"${source}" of 1 May`,
        at: expect.any(String),
      });
      floor.clock.move(1000);
    }
    expect((await floor.consents(id)).map(({ source }) => source)).toEqual(['phone', 'invite', 'web form']);
    const path = `/api/v1/phone/numbers/${id}/consents`;
    const first = said(await floor.web.call('GET', `${path}?limit=2`));
    expect((first.consents as unknown[]).length).toBe(2);
    const second = said(await floor.web.call('GET', `${path}?limit=2&cursor=${first.nextCursor}`));
    expect(second).toMatchObject({ consents: [{ source: 'web form' }], nextCursor: null });
    const ofBob = said(await floor.web.call('GET', `${path}?e164=${encodeURIComponent(bob)}`));
    expect(ofBob.consents).toMatchObject([{ e164: bob }]);
  });

  test('one that is repeated with its key is one; who cannot be called cannot be recorded', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const key = { 'idempotency-key': 'consent-1' };
    const first = await floor.consent(id, alice, {}, key);
    const again = await floor.consent(id, alice, {}, key);
    expect([first.status, again.status, said(again)]).toEqual([201, 201, said(first)]);
    for (const e164 of [
      '+18765550123',
      '+19005550123',
      '+88165550123',
      '+12025551212',
      '2025550199',
      '+1 202 555 0199',
    ]) {
      const reply = await floor.consent(id, e164);
      expect([e164, reply.status, reply.json.error]).toEqual([e164, 400, 'bad_request']);
    }
    expect((await floor.consent(id, alice, { evidence: '' })).status).toBe(400);
    expect((await floor.consent('number_none', alice)).status).toBe(404);
    const foreign = await floor.addNumber('+14165550151', { userId: 'user_2' });
    expect((await floor.consent(foreign.id, alice)).status).toBe(404);
    expect((await floor.consents(id)).length).toBe(1);
  });

  test('who texted first may be called; consent to one number is none to another', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const other = await floor.addNumber('+14165550151');
    expect(await basisOf(floor, id, alice)).toBe('403 no_consent');
    await floor.texted(id, alice);
    expect(await basisOf(floor, id, alice)).toBe('inbound_text');
    expect(await basisOf(floor, other.id, alice)).toBe('403 no_consent');
  });

  test('STOP wins over every consent, makes what was given out void, and only START lifts it', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.consent(id, alice);
    await floor.texted(id, alice);
    const { consentRef } = said(await floor.ask(id, alice));
    await floor.say(id, alice, 'stop');
    const stopped = await floor.ask(id, alice);
    expect([stopped.status, stopped.json.error]).toEqual([403, 'no_consent']);
    expect(JSON.stringify(stopped.json)).toMatch(/STOP.*START/);
    const dialled = await floor.dial(consentRef);
    expect([dialled.status, dialled.json.error]).toEqual([403, 'no_consent']);
    // Another consent lifts nothing.
    await floor.consent(id, alice);
    expect(await basisOf(floor, id, alice)).toBe('403 no_consent');
    await floor.say(id, alice, 'start');
    expect(await basisOf(floor, id, alice)).toBe('inbound_text');
    expect((await floor.dial(consentRef)).json.error).toBe('bad_consent_ref');
    expect(floor.legs(alice)).toEqual([]);
  });

  test('a call that rings when STOP comes is hung up', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.texted(id, alice);
    await floor.dial(said(await floor.ask(id, alice)).consentRef);
    await floor.say(id, alice, 'stop');
    expect(await floor.last(id)).toMatchObject({ status: 'ended', endedBecause: 'They said STOP.' });
    await eventually(() => floor.legs(alice)[0]!.state).toBe('ended');
  });

  test('who called first may be called, where carriers vouch for their number or somebody stayed on', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await callsIn(floor, id, alice);
    expect(await basisOf(floor, id, alice)).toBe('inbound_call');

    // Nobody vouches for it: a forged number that hung up at once is worth nothing.
    const unvouched = async (from: string, staysMs: number) => {
      await callsIn(floor, id, from);
      await floor.store.write((tx) => tx.run('UPDATE phone_call SET attestation = NULL WHERE peer = ?', from));
      floor.clock.move(staysMs);
      await floor.handset(from, 'hangup');
      await eventually(() => floor.last(id)).toMatchObject({ with: from, status: 'ended' });
    };
    await unvouched(bob, 0);
    expect(await basisOf(floor, id, bob)).toBe('403 no_consent');
    await unvouched(carol, 6_000);
    expect(await basisOf(floor, id, carol)).toBe('inbound_call');
  });

  test('the person’s own confirmed phone may be called', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    floor.own.e164 = bob;
    expect(await basisOf(floor, id, bob)).toBe('owner_directed');
    expect(await basisOf(floor, id, alice)).toBe('403 no_consent');
  });

  test('transfer targets: replaced, kept, cleared, each once, and each new one a consent with the bot’s numbers', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const second = await floor.addNumber('+14165550151');
    const ofOther = await floor.addNumber('+14165550152', { botId: 'bot_2' });
    const path = '/api/v1/voice/bot-config/bot_1';
    expect(said(await floor.web.call('GET', path))).toEqual({ botId: 'bot_1', transferTargets: [] });
    const list = [
      { e164: bob, label: 'Bob' },
      { e164: carol, label: 'Carol' },
    ];
    const put = await floor.targets({ transferTargets: [...list, { e164: bob, label: 'Bob at work' }] });
    expect([put.status, said(put).transferTargets]).toEqual([
      200,
      [
        { e164: bob, label: 'Bob at work' },
        { e164: carol, label: 'Carol' },
      ],
    ]);
    expect(said(await floor.targets({})).transferTargets).toEqual(said(put).transferTargets);
    await floor.targets({ transferTargets: list });
    for (const number of [id, second.id]) {
      const rows = await floor.consents(number);
      expect(rows.map(({ e164, source }) => [e164, source]).sort()).toEqual([
        [bob, 'owner_transfer_target'],
        [carol, 'owner_transfer_target'],
      ]);
    }
    expect(await floor.consents(ofOther.id)).toEqual([]);
    expect(await basisOf(floor, id, bob)).toBe('owner_transfer_target');
    await floor.consent(id, bob);
    expect(await basisOf(floor, id, bob)).toBe('explicit');

    expect(said(await floor.targets({ transferTargets: [] })).transferTargets).toEqual([]);
    expect(said(await floor.web.call('GET', path)).transferTargets).toEqual([]);
    // Nobody sees another person's list.
    await floor.targets({ transferTargets: list });
    const theirs = await floor.web.call('GET', path, { token: null, headers: { 'x-test-as': 'stranger' } });
    expect(said(theirs).transferTargets).toEqual([]);
  });

  test('20 targets are the most, counted once each; who cannot be called is none', async () => {
    const floor = await openFloor(await place());
    await floor.addNumber();
    const many = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ e164: `+1202555${String(1300 + at)}`, label: `T ${at}` }));
    const twenty = await floor.targets({ transferTargets: [...many(20), ...many(20)] });
    expect([twenty.status, (said(twenty).transferTargets as unknown[]).length]).toEqual([200, 20]);
    const refused = await floor.targets({ transferTargets: many(21) });
    expect([refused.status, refused.json.error]).toEqual([400, 'bad_request']);
    for (const e164 of ['+18095550123', '+19765550123', '+12029765555', '+15005550006', '12025550199']) {
      const reply = await floor.targets({ transferTargets: [{ e164, label: 'x' }] });
      expect([e164, reply.status]).toEqual([e164, 400]);
    }
    const kept = said(await floor.web.call('GET', '/api/v1/voice/bot-config/bot_1'));
    expect((kept.transferTargets as unknown[]).length).toBe(20);
  });
});
