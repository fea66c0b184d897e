/** An account's call commands, on the carrier's wire. A command repeated with its `command_id` takes effect only once. */
import type { CallDialResponse } from 'telnyx/resources/calls/calls';
import { type Call, data, optional, type Reply, type Route, required } from './exchange.ts';
import { dialFee, type Legs } from './legs.ts';
import { holderOf } from './numbers.ts';
import { placeOf } from './places.ts';
import { refused } from './refusal.ts';
import type { SimLeg } from './state.ts';
import type { World } from './world.ts';

const defaultGatherMs = 60_000;
/** One second of speech for this many characters. */
const charactersASecond = 15;

export function createCalls(world: World, legs: Legs): { readonly routes: readonly Route[] } {
  const { state } = world;

  function found(id: string): SimLeg {
    const leg = state.legs[id];
    if (leg === undefined)
      throw refused(422, '90015', 'Invalid Call Control ID', `The call control id ${id} is not known.`);
    return leg;
  }

  function dial({ body }: Call): Reply {
    const to = required(body, 'to');
    const from = required(body, 'from');
    const connectionId = required(body, 'connection_id');
    const commandId = optional(body, 'command_id');
    if (commandId !== undefined) {
      const same = Object.values(state.legs).find(
        (leg) => leg.direction === 'outgoing' && leg.commands[0] === commandId,
      );
      if (same !== undefined) return data(shape(same, true));
    }
    check(from, to);
    const linked = optional(body, 'link_to');
    world.charge('call', dialFee, to);
    const leg = legs.begin({
      direction: 'outgoing',
      from,
      to,
      connectionId,
      webhookUrl: optional(body, 'webhook_url') ?? null,
      clientState: optional(body, 'client_state') ?? null,
      ...(linked === undefined ? {} : { sessionId: found(linked).sessionId }),
      detect: (optional(body, 'answering_machine_detection') ?? 'disabled') !== 'disabled',
      ...(commandId === undefined ? {} : { commandId }),
      timeoutSeconds: typeof body.timeout_secs === 'number' ? body.timeout_secs : 30,
    });
    return data(shape(leg, true));
  }

  function check(from: string, to: string): void {
    if (holderOf(state, from)?.status !== 'active')
      throw refused(403, '10010', 'Unverified origination number', `${from} is not a number of this account.`);
    if (!/^\+[1-9]\d{7,14}$/.test(to))
      throw refused(422, '10016', 'Invalid phone number', `${to} is not an E.164 number.`, { pointer: '/to' });
    const country = to.startsWith('+1') ? placeOf(to.slice(2, 5)).country : '';
    if (country !== 'US' && country !== 'CA')
      throw refused(403, '10010', 'Dialed number is not whitelisted', `Calls to ${to} are not allowed.`);
  }

  /** Commands of a live leg. `ringing`: also before it was answered. */
  function command(
    name: string,
    act: (leg: SimLeg, call: Call) => void,
    when: 'answered' | 'alive' = 'answered',
  ): Route {
    return {
      at: `POST /calls/:id/actions/${name}`,
      op: `calls.${name}`,
      handle(call) {
        const leg = found(call.params.id as string);
        const commandId = optional(call.body, 'command_id');
        if (commandId !== undefined && leg.commands.includes(commandId)) return data({ result: 'ok' });
        if (leg.state === 'ended')
          throw refused(422, '90018', 'Call has already ended', 'The call is no longer active.');
        if (when === 'answered' && leg.state === 'ringing')
          throw refused(422, '90034', 'Call has not been answered', 'The call has not been answered yet.');
        leg.clientState = optional(call.body, 'client_state') ?? leg.clientState;
        act(leg, call);
        if (commandId !== undefined) leg.commands.push(commandId);
        return data({ result: 'ok' });
      },
    };
  }

  function speak(leg: SimLeg, { body }: Call): void {
    const text = required(body, 'payload');
    leg.heard.push(text);
    legs.tell(leg, 'call.speak.started');
    world.later({
      what: `speaking to ${leg.direction === 'outgoing' ? leg.to : leg.from}`,
      kind: 'call.spoken',
      args: { id: leg.id },
      after: Math.ceil(text.length / charactersASecond) * 1000,
    });
  }

  function gather(leg: SimLeg, { body }: Call): void {
    const payload = optional(body, 'payload');
    if (payload !== undefined) leg.heard.push(payload);
    const number = (name: string, other: number) => (typeof body[name] === 'number' ? body[name] : other);
    legs.gather(leg, number('maximum_digits', 128), number('timeout_millis', defaultGatherMs));
  }

  function transfer(leg: SimLeg, { body }: Call): void {
    const to = required(body, 'to');
    const ours = leg.direction === 'outgoing' ? leg.from : leg.to;
    const from = optional(body, 'from') ?? ours;
    check(from, to);
    world.charge('call', dialFee, to);
    legs.begin({
      direction: 'outgoing',
      from,
      to,
      connectionId: leg.connectionId,
      webhookUrl: optional(body, 'webhook_url') ?? leg.webhookUrl,
      clientState: optional(body, 'target_leg_client_state') ?? null,
      sessionId: leg.sessionId,
      transferOf: leg.id,
      detect: (optional(body, 'answering_machine_detection') ?? 'disabled') !== 'disabled',
      timeoutSeconds: typeof body.timeout_secs === 'number' ? body.timeout_secs : 30,
    });
  }

  function bridge(leg: SimLeg, { body }: Call): void {
    const other = found(required(body, 'call_control_id'));
    if (other.state === 'ended') throw refused(422, '90018', 'Call has already ended', 'The other call has ended.');
    if (other.state === 'ringing')
      throw refused(422, '90034', 'Call has not been answered', 'The other call has not been answered yet.');
    legs.join(leg, other);
  }

  return {
    routes: [
      { at: 'POST /calls', op: 'calls.dial', handle: dial },
      { at: 'GET /calls/:id', op: 'calls.read', handle: ({ params }) => data(shape(found(params.id as string))) },
      command(
        'answer',
        (leg) => {
          if (leg.direction === 'outgoing' || leg.state !== 'ringing')
            throw refused(422, '90034', 'Bad state', 'The call cannot be answered.');
          legs.answered(leg);
        },
        'alive',
      ),
      command('reject', (leg) => legs.end(leg, 'call_rejected', 'callee'), 'alive'),
      command(
        'hangup',
        (leg) =>
          legs.end(
            leg,
            leg.state === 'ringing' && leg.direction === 'outgoing' ? 'originator_cancel' : 'normal_clearing',
            leg.direction === 'outgoing' ? 'caller' : 'callee',
          ),
        'alive',
      ),
      command('speak', speak),
      command('gather_using_speak', gather),
      command('gather', gather),
      command('playback_start', (leg) => {
        leg.state = 'held';
        legs.tell(leg, 'call.playback.started');
      }),
      command('playback_stop', (leg) => {
        if (leg.state !== 'held') return;
        leg.state = 'talking';
        legs.tell(leg, 'call.playback.ended', { status: 'cancelled' });
      }),
      command('send_dtmf', (leg, { body }) => {
        leg.heard.push(`Keys: ${required(body, 'digits')}`);
      }),
      command('client_state_update', () => {}),
      command('bridge', bridge),
      command('transfer', transfer),
    ],
  };
}

function shape(leg: SimLeg, dialled = false): CallDialResponse.Data {
  return {
    record_type: 'call',
    call_control_id: leg.id,
    call_leg_id: leg.legId,
    call_session_id: leg.sessionId,
    // Always false for a dial: it has only been requested.
    is_alive: !dialled && leg.state !== 'ended',
    ...(leg.clientState === null ? {} : { client_state: leg.clientState }),
    start_time: leg.startedAt,
    ...(leg.endedAt === null ? {} : { end_time: leg.endedAt }),
  };
}
