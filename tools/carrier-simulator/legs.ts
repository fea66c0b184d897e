/**
 * The legs of calls: how a leg begins, rings, is answered, is joined to another and ends, and the events of each. People answer on handsets; an
 * account's commands are in calls.ts. Must not know routes.
 */
import type { CallCostWebhookEvent, CallHangup, CallInitiated } from 'telnyx/resources/webhooks';
import { endingOf } from './endings.ts';
import type { Json } from './exchange.ts';
import { handsetFor } from './handsets.ts';
import type { JobHandlers } from './jobs.ts';
import { holderOf } from './numbers.ts';
import { refused } from './refusal.ts';
import type { SimLeg } from './state.ts';
import type { World } from './world.ts';

/** How long somebody lets it ring, ms. */
const callersPatience = 60_000;
const maxLegs = 500;

type Cause = NonNullable<NonNullable<CallHangup['payload']>['hangup_cause']>;
/** Price of dialling, in dollars. */
export const dialFee = 0.01;
/** Price of each started minute of an incoming call. */
const minuteFee = 0.0035;

export type HandsetAction = 'answer' | 'reject' | 'busy' | 'voicemail' | 'hangup' | 'press';

interface LegAsked {
  readonly direction: SimLeg['direction'];
  readonly from: string;
  readonly to: string;
  readonly connectionId: string;
  readonly webhookUrl: string | null;
  readonly clientState?: string | null;
  readonly sessionId?: string;
  readonly transferOf?: string;
  readonly detect?: boolean;
  readonly commandId?: string;
  readonly timeoutSeconds?: number;
}

export interface Legs {
  readonly jobs: JobHandlers;
  begin(asked: LegAsked): SimLeg;
  /** Somebody calls a number from a handset. */
  call(from: string, to: string): SimLeg;
  /** A handset's action on a call. Throws if it is not possible. */
  handset(e164: string, id: string, action: HandsetAction, digits?: string): void;
  answered(leg: SimLeg): void;
  end(leg: SimLeg, cause: Cause, source: 'caller' | 'callee' | 'unknown'): void;
  join(one: SimLeg, other: SimLeg): void;
  gather(leg: SimLeg, most: number, patienceMs: number): void;
  tell(leg: SimLeg, type: string, more?: Json): void;
}

export function createLegs(world: World): Legs {
  const { state } = world;

  function tell(leg: SimLeg, type: string, more: Json = {}): void {
    world.emit(leg.webhookUrl, type, {
      call_control_id: leg.id,
      call_leg_id: leg.legId,
      call_session_id: leg.sessionId,
      connection_id: leg.connectionId,
      ...(leg.clientState === null ? {} : { client_state: leg.clientState }),
      from: leg.from,
      to: leg.to,
      ...more,
    });
  }

  function begin(asked: LegAsked): SimLeg {
    const leg: SimLeg = {
      id: `v3:${world.id()}`,
      legId: world.id(),
      sessionId: asked.sessionId ?? world.id(),
      direction: asked.direction,
      from: asked.from,
      to: asked.to,
      connectionId: asked.connectionId,
      webhookUrl: asked.webhookUrl,
      clientState: asked.clientState ?? null,
      state: 'ringing',
      bridgedWith: null,
      transferOf: asked.transferOf ?? null,
      gathering: null,
      detect: asked.detect ?? false,
      heard: [],
      cause: null,
      commands: asked.commandId === undefined ? [] : [asked.commandId],
      startedAt: world.now(),
      answeredAt: null,
      endedAt: null,
    };
    state.legs[leg.id] = leg;
    forgetOld();
    const outgoing = leg.direction === 'outgoing';
    handsetFor(state, outgoing ? leg.to : leg.from);
    tell(leg, 'call.initiated', {
      direction: leg.direction,
      state: outgoing ? 'bridging' : 'parked',
      start_time: leg.startedAt,
      ...(outgoing ? {} : { shaken_stir_attestation: 'A', shaken_stir_validated: true }),
    } satisfies CallInitiated['payload'] & Json);
    const patience = outgoing ? (asked.timeoutSeconds ?? 30) * 1000 : callersPatience;
    world.later({
      what: outgoing ? `${leg.to}: nobody answers` : `${leg.from}: gives up`,
      kind: 'call.unanswered',
      args: { id: leg.id },
      after: patience,
      patient: true,
    });
    const magic = outgoing ? endingOf(leg.to)?.call : undefined;
    if (magic !== undefined && magic !== 'silence')
      world.later({
        what: `${leg.to}: ${magic}`,
        kind: 'call.magic',
        args: { id: leg.id, what: magic },
        after: 2_000,
      });
    return leg;
  }

  function answered(leg: SimLeg): void {
    leg.state = 'talking';
    leg.answeredAt = world.now();
    world.forget((job) => job.kind === 'call.unanswered' && job.args.id === leg.id);
    tell(leg, 'call.answered', { state: 'answered', start_time: leg.startedAt });
    const other = leg.transferOf === null ? undefined : state.legs[leg.transferOf];
    if (other !== undefined && other.state !== 'ended') join(other, leg);
  }

  function detected(leg: SimLeg, result: 'human' | 'machine'): void {
    if (leg.detect) tell(leg, 'call.machine.detection.ended', { result });
  }

  function join(one: SimLeg, other: SimLeg): void {
    for (const [leg, partner] of [
      [one, other],
      [other, one],
    ] as const) {
      leg.bridgedWith = partner.id;
      leg.state = 'talking';
      leg.gathering = null;
      tell(leg, 'call.bridged');
    }
  }

  function end(leg: SimLeg, cause: Cause, source: 'caller' | 'callee' | 'unknown'): void {
    if (leg.state === 'ended') return;
    leg.state = 'ended';
    leg.cause = cause;
    leg.endedAt = world.now();
    if (leg.gathering !== null) gathered(leg, 'call_hangup');
    world.forget((job) => job.kind.startsWith('call.') && job.args.id === leg.id);
    tell(leg, 'call.hangup', {
      hangup_cause: cause,
      hangup_source: source,
      sip_hangup_cause: cause === 'user_busy' ? '486' : '200',
      start_time: leg.startedAt,
      end_time: leg.endedAt,
    });
    // There is nobody left to transfer.
    for (const asked of Object.values(state.legs))
      if (asked.transferOf === leg.id && asked.state === 'ringing') end(asked, 'originator_cancel', 'caller');
    tellCost(leg);
    const partner = leg.bridgedWith === null ? undefined : state.legs[leg.bridgedWith];
    leg.bridgedWith = null;
    if (partner?.bridgedWith === leg.id) {
      partner.bridgedWith = null;
      // The one left alone on a bridge is hung up as well.
      end(partner, 'normal_clearing', 'unknown');
    }
  }

  /** Sent by voice applications with call costs switched on. The caller has paid already. */
  function tellCost(leg: SimLeg): void {
    if (leg.answeredAt === null || leg.endedAt === null) return;
    const seconds = Math.max(1, Math.ceil((Date.parse(leg.endedAt) - Date.parse(leg.answeredAt)) / 1000));
    const incoming = Math.ceil(seconds / 60) * minuteFee;
    if (leg.direction === 'incoming') world.charge('call', incoming, leg.from);
    const cost = (leg.direction === 'incoming' ? incoming : dialFee).toFixed(4);
    tell(leg, 'call.cost', {
      status: 'success',
      total_cost: cost,
      billed_duration_secs: seconds,
      cost_parts: [{ call_part: 'call-control', cost, currency: 'USD', billed_duration_secs: seconds }],
    } satisfies NonNullable<CallCostWebhookEvent['data']>['payload'] & Json);
  }

  function gather(leg: SimLeg, most: number, patienceMs: number): void {
    leg.gathering = { id: world.id(), most, pressed: '' };
    world.later({
      what: `${other(leg)}: presses nothing`,
      kind: 'call.gathered',
      args: { id: leg.id, gathering: leg.gathering.id },
      after: patienceMs,
      patient: true,
    });
  }

  function gathered(leg: SimLeg, status: 'valid' | 'timeout' | 'call_hangup'): void {
    const { gathering } = leg;
    if (gathering === null) return;
    leg.gathering = null;
    world.forget((job) => job.args.gathering === gathering.id);
    tell(leg, 'call.gather.ended', { digits: gathering.pressed, status });
  }

  function press(leg: SimLeg, digits: string): void {
    for (const digit of digits) {
      tell(leg, 'call.dtmf.received', { digit });
      if (leg.gathering === null) continue;
      leg.gathering.pressed += digit;
      if (leg.gathering.pressed.length >= leg.gathering.most) gathered(leg, 'valid');
    }
  }

  function pickUp(leg: SimLeg, by: 'human' | 'machine'): void {
    answered(leg);
    detected(leg, by);
  }

  function handset(e164: string, id: string, action: HandsetAction, digits = ''): void {
    const leg = state.legs[id];
    if (leg === undefined || other(leg) !== e164)
      throw refused(404, '10005', 'Resource not found', `${e164} has no call ${id}.`);
    if (leg.state === 'ended') throw refused(409, '90018', 'Call has already ended', 'The call has ended.');
    const ringsHere = leg.state === 'ringing' && leg.direction === 'outgoing';
    const own = leg.direction === 'incoming' ? 'caller' : 'callee';
    if (action === 'hangup') {
      end(leg, leg.state === 'ringing' ? (ringsHere ? 'call_rejected' : 'originator_cancel') : 'normal_clearing', own);
      return;
    }
    if (action === 'press') {
      if (leg.state === 'ringing') throw refused(409, '90034', 'Call has not been answered', 'It rings.');
      press(leg, digits);
      return;
    }
    if (!ringsHere) throw refused(409, '90034', 'Bad state', `${e164} cannot ${action}: the call does not ring there.`);
    if (action === 'answer') pickUp(leg, 'human');
    else if (action === 'voicemail') pickUp(leg, 'machine');
    else end(leg, action === 'busy' ? 'user_busy' : 'call_rejected', 'callee');
  }

  function magic({ id = '', what = '' }: Record<string, string>): void {
    const leg = state.legs[id];
    if (leg?.state !== 'ringing') return;
    if (what === 'voicemail') pickUp(leg, 'machine');
    else if (what === 'busy') end(leg, 'user_busy', 'callee');
    else if (what === 'missing') end(leg, 'not_found', 'unknown');
    else end(leg, 'call_rejected', 'callee');
  }

  function unanswered({ id = '' }: Record<string, string>): void {
    const leg = state.legs[id];
    if (leg?.state !== 'ringing') return;
    if (leg.direction === 'outgoing') end(leg, 'timeout', 'unknown');
    else end(leg, 'originator_cancel', 'caller');
  }

  function forgetOld(): void {
    const ended = Object.values(state.legs).filter((leg) => leg.state === 'ended');
    for (const leg of ended.slice(0, Math.max(0, ended.length - maxLegs))) delete state.legs[leg.id];
  }

  return {
    begin,
    answered,
    end,
    join,
    gather,
    tell,
    handset,
    call(from, to) {
      const number = holderOf(state, to);
      if (number?.status !== 'active') throw refused(400, '10015', 'Bad Request', `No number ${to} takes calls here.`);
      return begin({ direction: 'incoming', from, to, connectionId: number.connectionId ?? '', webhookUrl: null });
    },
    jobs: {
      'call.unanswered': unanswered,
      'call.magic': magic,
      'call.gathered': ({ id = '' }) => {
        const leg = state.legs[id];
        if (leg !== undefined) gathered(leg, 'timeout');
      },
      'call.spoken': ({ id = '' }) => {
        const leg = state.legs[id];
        if (leg !== undefined && leg.state !== 'ended') tell(leg, 'call.speak.ended', { status: 'completed' });
      },
    },
  };
}

/** The owner of its handset. */
function other(leg: SimLeg): string {
  return leg.direction === 'outgoing' ? leg.to : leg.from;
}
