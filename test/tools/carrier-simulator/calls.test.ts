/** Calls of the simulated carrier: people on handsets, an account on the wire, and the events between them. */
import { expect, test } from 'vitest';
import {
  boughtNumber,
  type Ear,
  type SimulatedCarrier,
  startEar,
  startSimulator,
  type Wire,
} from '../../support/phone/simulator.ts';

const ada = '+12025550101';
const ben = '+12025550102';

const dial = (carrier: SimulatedCarrier, ear: Ear, from: string, to: string, more: object = {}) =>
  carrier.ask('POST', '/calls', { connection_id: '1', from, to, webhook_url: ear.url, ...more });
const act = (carrier: SimulatedCarrier, id: string, action: string, body: object = {}) =>
  carrier.ask('POST', `/calls/${encodeURIComponent(id)}/actions/${action}`, body);
const types = (ear: Ear) => ear.heard.map(({ body }: Wire) => body.data.event_type);

test('a dialled handset rings, is spoken to when it answers, presses a key, and hangs up', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { e164 } = await boughtNumber(carrier, ear.url);
  const { body } = await dial(carrier, ear, e164, ada, {
    answering_machine_detection: 'detect',
    client_state: Buffer.from('ours').toString('base64'),
  });
  const id = body.data.call_control_id as string;
  expect(body.data.is_alive).toBe(false);
  expect((await act(carrier, id, 'speak', { payload: 'too early', voice: 'female' })).body.errors[0].code).toBe(
    '90034',
  );
  carrier.sim.handset(ada, id, 'answer');
  await act(carrier, id, 'gather_using_speak', { payload: 'Press 1.', voice: 'female', maximum_digits: 1 });
  carrier.sim.handset(ada, id, 'press', '1');
  expect((await carrier.ask('GET', `/calls/${encodeURIComponent(id)}`)).body.data.is_alive).toBe(true);
  carrier.sim.handset(ada, id, 'hangup');
  await carrier.sim.settled();
  expect(types(ear)).toEqual([
    'call.initiated',
    'call.answered',
    'call.machine.detection.ended',
    'call.dtmf.received',
    'call.gather.ended',
    'call.hangup',
    'call.cost',
  ]);
  expect(ear.of('call.initiated')[0]).toMatchObject({ direction: 'outgoing', client_state: 'b3Vycw==', to: ada });
  expect(ear.of('call.machine.detection.ended')).toMatchObject([{ result: 'human' }]);
  expect(ear.of('call.gather.ended')).toMatchObject([{ digits: '1', status: 'valid' }]);
  expect(ear.of('call.hangup')).toMatchObject([{ hangup_cause: 'normal_clearing', hangup_source: 'callee' }]);
  expect(carrier.sim.handsets.find(ada).calls).toMatchObject([
    { direction: 'in', with: e164, state: 'ended', heard: ['Press 1.'], endedBecause: 'normal_clearing' },
  ]);
  expect((await act(carrier, id, 'hangup')).body.errors[0].code).toBe('90018');
});

test('a command repeated with its id is obeyed once, a dial too', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { e164 } = await boughtNumber(carrier, ear.url);
  const first = await dial(carrier, ear, e164, ada, { command_id: 'once' });
  const second = await dial(carrier, ear, e164, ada, { command_id: 'once' });
  expect(second.body.data.call_control_id).toBe(first.body.data.call_control_id);
  const id = first.body.data.call_control_id as string;
  carrier.sim.handset(ada, id, 'answer');
  await act(carrier, id, 'speak', { payload: 'Hello.', voice: 'female', command_id: 'a' });
  await act(carrier, id, 'speak', { payload: 'Hello.', voice: 'female', command_id: 'a' });
  await act(carrier, id, 'hangup', { command_id: 'b' });
  expect((await act(carrier, id, 'hangup', { command_id: 'b' })).status).toBe(200);
  expect(carrier.sim.handsets.find(ada).calls).toMatchObject([{ heard: ['Hello.'] }]);
});

test('a handset calls, waits on hold, and is bridged with another: who stays alone is hung up', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator({ webhookUrl: ear.url });
  const { e164 } = await boughtNumber(carrier, ear.url);
  const a = carrier.sim.call(ada, e164);
  await act(carrier, a, 'answer');
  await act(carrier, a, 'playback_start', { playback_content: 'x' });
  expect(carrier.sim.handsets.find(ada).calls[0]?.state).toBe('held');
  const b = (await dial(carrier, ear, e164, ben, { link_to: a })).body.data;
  expect((await act(carrier, a, 'bridge', { call_control_id: b.call_control_id })).body.errors[0].code).toBe('90034');
  carrier.sim.handset(ben, b.call_control_id, 'answer');
  await act(carrier, b.call_control_id, 'speak', { payload: 'Ada is on the line.', voice: 'female' });
  expect((await act(carrier, a, 'bridge', { call_control_id: b.call_control_id })).status).toBe(200);
  expect(carrier.sim.handsets.find(ada).calls[0]).toMatchObject({ state: 'talking', heard: [] });
  carrier.sim.handset(ben, b.call_control_id, 'hangup');
  await carrier.sim.settled();
  expect(ear.of('call.initiated')[0]).toMatchObject({ direction: 'incoming', from: ada, shaken_stir_attestation: 'A' });
  expect(
    new Set(
      ear.heard
        .filter(({ body }) => body.data.event_type.startsWith('call.'))
        .map(({ body }) => body.data.payload.call_session_id),
    ).size,
  ).toBe(1);
  expect(ear.of('call.bridged')).toHaveLength(2);
  expect(ear.of('call.hangup')).toHaveLength(2);
});

test('a cold transfer dials and bridges by itself; where nobody answers, who called stays on the line', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator({ webhookUrl: ear.url });
  const { e164 } = await boughtNumber(carrier, ear.url);
  const a = carrier.sim.call(ada, e164);
  await act(carrier, a, 'answer');
  await act(carrier, a, 'transfer', { to: ben, from: e164, timeout_secs: 20 });
  const first = carrier.sim.handsets.find(ben).calls[0];
  carrier.sim.advance(20_000);
  expect(carrier.sim.handsets.find(ben).calls[0]).toMatchObject({ state: 'ended', endedBecause: 'timeout' });
  expect(carrier.sim.handsets.find(ada).calls[0]?.state).toBe('talking');
  await act(carrier, a, 'transfer', { to: ben, from: e164 });
  const second = carrier.sim.handsets.find(ben).calls.find(({ id }) => id !== first?.id);
  carrier.sim.handset(ben, second?.id ?? '', 'answer');
  await carrier.sim.settled();
  expect(ear.of('call.bridged')).toHaveLength(2);
});

test.for([
  ['0120', 'user_busy'],
  ['0122', 'call_rejected'],
  ['0124', 'not_found'],
])('a call to …%s ends with %s', async ([suffix, cause]) => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { e164 } = await boughtNumber(carrier, ear.url);
  await dial(carrier, ear, e164, `+1202555${suffix}`);
  await carrier.sim.settled();
  expect(ear.of('call.hangup')).toMatchObject([{ hangup_cause: cause }]);
});

test('a machine is told from a person, and a caller who waits too long gives up', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator({ webhookUrl: ear.url });
  const { e164 } = await boughtNumber(carrier, ear.url);
  await dial(carrier, ear, e164, '+12025550121', { answering_machine_detection: 'detect' });
  carrier.sim.call(ada, e164);
  carrier.sim.advance(60_000);
  await carrier.sim.settled();
  expect(ear.of('call.machine.detection.ended')).toMatchObject([{ result: 'machine' }]);
  expect(ear.of('call.hangup')).toMatchObject([{ from: ada, hangup_cause: 'originator_cancel' }]);
});

test('a transfer that still rings ends with the call that it is for', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator({ webhookUrl: ear.url });
  const { e164 } = await boughtNumber(carrier, ear.url);
  const a = carrier.sim.call(ada, e164);
  await act(carrier, a, 'answer');
  await act(carrier, a, 'transfer', { to: ben, from: e164 });
  carrier.sim.handset(ada, a, 'hangup');
  expect(carrier.sim.handsets.find(ben).calls).toMatchObject([{ state: 'ended', endedBecause: 'originator_cancel' }]);
});
