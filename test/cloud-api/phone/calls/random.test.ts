/**
 * Random hands on handsets and controls, events twice and late, and a cloud that goes away: whatever happens, what has ended here has ended
 * at the carrier, each end is told once, and nobody rings after STOP.
 */
import { expect, test } from 'vitest';
import { sqliteIn } from '../../../support/engines.ts';
import { scratchFolder } from '../../../support/scratch.ts';
import { alice, bob, carol, eventually, type Floor, openFloor, ours, said } from './support.ts';

const people = [alice, bob, carol];
const rounds = 110;

/** mulberry32: one number replays a run. */
function drawFrom(seed: number) {
  let state = seed;
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below);
  };
}

const handsets = [
  'answer',
  'answer',
  'answer',
  'reject',
  'busy',
  'voicemail',
  'hangup',
  'press',
  'press',
  'press',
] as const;
const controls = ['hold', 'resume', 'mute', 'dtmf', 'hangup', 'warm', 'warm', 'warm', 'warm', 'cold'] as const;

async function step(floor: Floor, id: string, draw: (below: number) => number, stopped: Set<string>): Promise<void> {
  const who = people[draw(people.length)]!;
  const kind = draw(100);
  if (kind < 18) {
    const { consentRef } = said(await floor.ask(id, who));
    if (consentRef === undefined) return;
    expect([...stopped]).not.toContain(who);
    await floor.dial(consentRef);
  } else if (kind < 22) floor.sim.call(who, ours);
  else if (kind < 60) {
    const live = people.flatMap((one) => floor.legs(one)).filter(({ state }) => state !== 'ended');
    const ringing = live.filter(({ state, direction }) => state === 'ringing' && direction === 'outgoing');
    const asked = live.filter(({ gathering }) => gathering !== null);
    const among = asked.length > 0 ? asked : ringing.length > 0 ? ringing : live;
    const leg = among[draw(among.length)];
    if (leg === undefined) return;
    const action = asked.length > 0 && draw(4) > 0 ? 'press' : handsets[draw(handsets.length)]!;
    // What its handset cannot do now, it does not.
    try {
      floor.sim.handset(
        leg.direction === 'outgoing' ? leg.to : leg.from,
        leg.id,
        action,
        ['1', '1', '2', '5'][draw(4)],
      );
    } catch {}
  } else if (kind < 86) {
    const live = (await floor.list(id)).find(
      ({ status }) => status === 'active' || (status !== 'ended' && draw(3) === 0),
    );
    if (live === undefined) return;
    const action = controls[draw(controls.length)]!;
    const body =
      action === 'warm' || action === 'cold'
        ? { action: 'transfer', to: who, mode: action }
        : { action, ...(action === 'dtmf' ? { digits: '1' } : {}) };
    const reply = await floor.control(live.id, body);
    expect([202, 400, 403, 409]).toContain(reply.status);
    if ('to' in body && stopped.has(who)) expect(reply.status).not.toBe(202);
  } else if (kind < 90) {
    const action = stopped.has(who) ? 'start' : 'stop';
    await floor.say(id, who, action);
    if (action === 'stop') stopped.add(who);
    else stopped.delete(who);
  } else if (kind < 97) {
    const event = floor.events[draw(floor.events.length)];
    if (event !== undefined) await floor.take(event);
  } else {
    await floor.stop();
    await floor.start();
  }
  await floor.settled();
}

/** Of transfers in all runs. */
const endings = new Set<string>();

test.each([11, 12, 13, 14, 15, 16])('run %i', async (seed) => {
  const limits = { maxConcurrent: 50, perDay: 1_000, maxCallMs: 4 * 60 * 60_000 };
  const floor = await openFloor(sqliteIn(scratchFolder()), { limits });
  const draw = drawFrom(seed);
  const { id } = await floor.addNumber();
  for (const who of people) await floor.consent(id, who);
  const stopped = new Set<string>();
  for (let round = 0; round < rounds; round += 1) await step(floor, id, draw, stopped);

  // From here: nobody at a handset does anything, so that what is left on a line was left there by us.
  for (const { id: callId, status } of await floor.list(id)) {
    if (status !== 'ended') expect((await floor.control(callId, { action: 'hangup' })).status).toBe(202);
  }
  const statuses = async () => (await floor.list(id)).filter(({ status }) => status !== 'ended');
  await eventually(statuses).toEqual([]);
  const atCarrier = () => Object.values(floor.sim.state.legs).filter(({ state }) => state !== 'ended');
  await eventually(atCarrier).toEqual([]);

  const calls = await floor.store.all<{ id: string; ended: string | null }>(
    'SELECT id, transfer_state AS ended FROM phone_call',
  );
  for (const { ended } of calls) if (ended !== null) endings.add(ended);
  expect(calls.length).toBeGreaterThan(8);
  expect(floor.emitted.map(({ sourceId }) => sourceId).sort()).toEqual(calls.map((call) => call.id).sort());
  const open = "SELECT id FROM phone_call_leg WHERE state <> 'ended'";
  expect(await floor.store.all(open)).toEqual([]);
  expect(await floor.store.all("SELECT id FROM phone_call WHERE transfer_state = 'asking'")).toEqual([]);
  expect(floor.warnings).toEqual([]);
});

test('they have met most of what a transfer may come to', () => {
  expect(endings.size).toBeGreaterThan(4);
});
