/** Ports and calls over the carrier's wire; with CARRIER_OPENAPI also held against its own papers. */
import { describe, expect, test } from 'vitest';
import type { PortDetails } from '../../../../src/contracts/phone/number.ts';
import { carriers, connectionId, type Opened } from './contract-support.ts';

const webhookUrl = 'http://127.0.0.1:9/in';
const nobody = '00000000-0000-4000-8000-000000000000';
const pdf = Buffer.from('%PDF-1.7 signed').toString('base64');

const details: PortDetails = {
  entityName: 'Acme Flowers Inc',
  authorizedPerson: 'Ada Byron',
  accountNumber: 'ACC-77-12',
  pin: '4711',
  billingNumber: '+19705550177',
  street: '1 Main St',
  locality: 'Denver',
  region: 'CO',
  postalCode: '80202',
  country: 'US',
  letterOfAuthorization: pdf,
  invoice: pdf,
};

async function profileOf({ carrier }: Opened) {
  return (await carrier.numbers.createProfile({ name: 'port', webhookUrl, destinations: ['US', 'CA'] })).id;
}

/** As far as the simulator goes by itself. */
async function bought({ carrier, sim, ...opened }: Opened) {
  const profileId = await profileOf({ carrier, sim, ...opened });
  const [offer] = await carrier.numbers.search({ country: 'US', type: 'local', limit: 1 });
  await carrier.numbers.order({ e164: offer!.e164, profileId, key: 'k' });
  await sim.settled();
  return offer!.e164;
}

describe.each(carriers)('ports of $name', ({ open }) => {
  test('a port is drafted, found by its key, told what is missing, handed in, and comes in two parts', async () => {
    const opened = await open();
    const { ports } = opened.carrier;
    const e164 = '+19705550177';
    expect(await ports.check(e164)).toEqual({ portable: true, reason: null });
    expect(await ports.findByKey('port 1')).toEqual([]);
    const [draft] = await ports.create({ e164, key: 'port 1' });
    expect(draft).toEqual({
      orderId: expect.any(String),
      e164s: [e164],
      state: 'draft',
      messaging: 'not_applicable',
      problems: [],
      readyOn: null,
    });
    expect((await ports.findByKey('port 1')).map(({ orderId }) => orderId)).toEqual([draft!.orderId]);
    const { orderId } = draft!;
    const fault = await ports.confirm(orderId).catch((error) => error);
    expect(fault).toMatchObject({ kind: 'details', fields: expect.arrayContaining(['end_user.admin.account_number']) });

    const profileId = await profileOf(opened);
    await ports.update(orderId, { details, profileId, webhookUrl });
    expect(opened.sim.state.ports[orderId]?.asked).toMatchObject({
      end_user: {
        admin: { account_number: 'ACC-77-12', pin_passcode: '4711' },
        location: { administrative_area: 'CO' },
      },
      messaging: { enable_messaging: true },
      phone_number_configuration: { messaging_profile_id: profileId, connection_id: connectionId },
    });
    expect(Object.values(opened.sim.state.documents).map(({ size }) => size)).toEqual([15, 15]);
    expect((await ports.confirm(orderId)).state).toBe('in-process');
    await opened.sim.settled();
    const ported = await ports.read(orderId);
    expect([ported.state, ported.messaging, ported.problems]).toEqual(['ported', 'ported', []]);
    expect(ported.readyOn).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect((await opened.carrier.numbers.find(e164))?.status).toBe('active');
  });

  test('what stands in the way is told by its code, corrected, and handed in again', async () => {
    const opened = await open();
    const { ports } = opened.carrier;
    const [draft] = await ports.create({ e164: '+19705550178', key: 'port 2' });
    const { orderId } = draft!;
    const profileId = await profileOf(opened);
    await ports.update(orderId, { details, profileId, webhookUrl });
    opened.sim.fault({ name: 'port_pin' });
    await ports.confirm(orderId);
    await opened.sim.settled();
    const stuck = await ports.read(orderId);
    expect([stuck.state, stuck.problems]).toEqual([
      'exception',
      [{ code: 'PASSCODE_PIN_INVALID', text: expect.stringContaining('PIN') }],
    ]);
    await ports.update(orderId, { details: { pin: '4712' }, profileId, webhookUrl });
    await opened.sim.settled();
    expect((await ports.read(orderId)).state).toBe('ported');
  });

  test('one that is split is several, all of the same key; what cannot be ported is said', async () => {
    const opened = await open();
    const { ports } = opened.carrier;
    opened.sim.fault({ name: 'port_split' });
    const several = await ports.create({ e164: '+19705550179', key: 'port 3' });
    expect(several.flatMap(({ e164s }) => e164s)).toEqual(['+19705550179']);
    expect(several.length).toBeGreaterThan(1);
    expect((await ports.findByKey('port 3')).length).toBe(several.length);
    const no = await ports.check('+447911123456');
    expect([no.portable, no.reason]).toEqual([false, expect.any(String)]);
  });

  test('a draft is thrown away, and what was handed in is cancelled', async () => {
    const opened = await open();
    const { ports } = opened.carrier;
    const [draft] = await ports.create({ e164: '+19705550180', key: 'port 4' });
    await ports.cancel(draft!.orderId);
    await ports.cancel(draft!.orderId);
    await expect(ports.read(draft!.orderId)).rejects.toMatchObject({ kind: 'not_found' });
    const [other] = await ports.create({ e164: '+19705550180', key: 'port 5' });
    opened.sim.setSpeed('paused');
    await ports.update(other!.orderId, { details, profileId: await profileOf(opened), webhookUrl });
    await ports.confirm(other!.orderId);
    await ports.cancel(other!.orderId);
    expect((await ports.read(other!.orderId)).state).toMatch(/^cancel/);
    await ports.cancel(other!.orderId);
  });
});

describe.each(carriers)('calls of $name', ({ open }) => {
  const answered = ({ sim }: Opened, { legId }: { readonly legId: string }, by = '+12025550101') =>
    sim.handset(by, legId, 'answer');

  async function dialled(opened: Opened, to = '+12025550101', more: { linkTo?: string } = {}) {
    const from = await bought(opened);
    const asked = {
      from,
      to,
      clientState: 'call_1',
      timeoutSeconds: 20,
      detectVoicemail: true,
      webhookUrl,
      key: 'dial 1',
      ...more,
    };
    return { from, asked, leg: await opened.carrier.calls.dial(asked) };
  }

  test('a call repeated with its key is the same, answers, hears, waits, and ends once', async () => {
    const opened = await open();
    const { calls } = opened.carrier;
    const { asked, leg } = await dialled(opened);
    expect(await calls.dial(asked)).toEqual(leg);
    const seen = () => opened.sim.state.legs[leg.legId]!;
    expect(Object.keys(opened.sim.state.legs)).toEqual([leg.legId]);
    expect(Buffer.from(seen().clientState!, 'base64').toString()).toBe('call_1');
    expect(await calls.isAlive(leg.legId)).toBe(true);
    await expect(calls.speak(leg.legId, 'Too early', 'k0')).rejects.toMatchObject({ kind: 'service', code: '90034' });
    answered(opened, leg);
    await calls.speak(leg.legId, 'Hello Ada', 'k1');
    await calls.speak(leg.legId, 'Hello Ada', 'k1');
    await calls.ask(leg.legId, 'Press 1 to accept', 1, 'k2');
    await calls.dtmf(leg.legId, '12#', 'k3');
    expect(seen().heard).toEqual(['Hello Ada', 'Press 1 to accept', 'Keys: 12#']);
    await calls.hold(leg.legId, 'k4');
    expect(seen().state).toBe('held');
    await calls.resume(leg.legId, 'k5');
    expect(seen().state).toBe('talking');
    await calls.mute(leg.legId, 'k6');
    await calls.unmute(leg.legId, 'k7');
    await calls.hangup(leg.legId, 'k8');
    await calls.hangup(leg.legId, 'k9');
    expect(await calls.isAlive(leg.legId)).toBe(false);
    await expect(calls.speak(leg.legId, 'Still there?', 'k10')).rejects.toMatchObject({ kind: 'gone' });
    await expect(calls.speak(nobody, 'Anybody?', 'k11')).rejects.toMatchObject({ kind: 'gone' });
    expect(await calls.isAlive(nobody)).toBe(false);
  });

  test('a leg that is asked for by another is of its session, and the two are joined', async () => {
    const opened = await open();
    const { calls } = opened.carrier;
    const { leg, asked } = await dialled(opened);
    answered(opened, leg);
    const other = await calls.dial({ ...asked, to: '+12025550102', key: 'dial 2', linkTo: leg.legId });
    expect(other.sessionId).toBe(leg.sessionId);
    answered(opened, other, '+12025550102');
    await calls.bridge(leg.legId, other.legId, 'k1');
    expect(opened.sim.state.legs[leg.legId]?.bridgedWith).toBe(other.legId);
  });

  test('a cold transfer dials by itself', async () => {
    const opened = await open();
    const { leg, from } = await dialled(opened);
    answered(opened, leg);
    await opened.carrier.calls.transfer(leg.legId, { to: '+12025550102', from, key: 'k1' });
    expect(Object.values(opened.sim.state.legs).map(({ to }) => to)).toEqual(['+12025550101', '+12025550102']);
  });

  test('a destination that is not allowed is refused before anything rings', async () => {
    const opened = await open();
    await expect(dialled(opened, '+447911123456')).rejects.toMatchObject({ kind: 'destination' });
    expect(opened.sim.state.legs).toEqual({});
  });
});
