/** Calls at the carrier as the model sees them: two requests with one key are one call; some answers are lost on the way. */
import { type CarrierCalls, CarrierFault } from '../../../src/cloud-api/phone/carrier/port.ts';
import type { Posted } from './model-carrier.ts';
import type { Oracle } from './oracle.ts';
import type { Draw } from './people.ts';

export interface ModelCallsDeps {
  readonly draw: Draw;
  readonly now: () => number;
  readonly oracle: Oracle;
  readonly numberId: (e164: string) => string;
  readonly post: (event: Posted) => void;
  readonly isHealed: () => boolean;
}

export function createModelCalls({ draw, now, oracle, numberId, post, isHealed }: ModelCallsDeps) {
  const legs = new Map<string, { legId: string; sessionId: string }>();
  const alive = new Set<string>();
  const transfers = new Set<string>();
  let count = 0;

  const fate = () => (isHealed() ? 'good' : draw.weighted({ good: 75, silent: 8, lost: 9, away: 8 }));

  function tell(legId: string, type: string, more: object): void {
    const about = { call_control_id: legId, direction: 'outgoing' };
    post({ id: `${type}-${legId}`, type, occurredAt: now(), payload: { ...about, ...more }, numberId: null });
  }

  /** Rings, is taken up or not, and ends some time. */
  function ring(asked: Parameters<CarrierCalls['dial']>[0]): { legId: string; sessionId: string } {
    const known = legs.get(asked.key);
    if (known !== undefined) return known;
    oracle.called(`${numberId(asked.from)}/${asked.to}`, asked.key);
    count += 1;
    const leg = { legId: `leg-${count}`, sessionId: `session-${count}` };
    legs.set(asked.key, leg);
    alive.add(leg.legId);
    const about = {
      call_session_id: leg.sessionId,
      from: asked.from,
      to: asked.to,
      client_state: Buffer.from(asked.clientState).toString('base64'),
    };
    tell(leg.legId, 'call.initiated', about);
    if (draw.chance(0.7)) {
      tell(leg.legId, 'call.answered', about);
      tell(leg.legId, 'call.machine.detection.ended', { ...about, result: draw.one(['human', 'human', 'machine']) });
    }
    if (draw.chance(0.6))
      tell(leg.legId, 'call.hangup', { ...about, hangup_cause: draw.one(['normal_clearing', 'timeout', 'user_busy']) });
    return leg;
  }

  async function obeyed(): Promise<void> {
    const drawn = fate();
    if (drawn === 'silent' || drawn === 'lost') throw new CarrierFault('unknown', 'No answer.');
    if (drawn === 'away') throw new CarrierFault('service', 'Nobody is there.');
  }

  const calls: CarrierCalls = {
    async dial(asked) {
      const drawn = fate();
      if (drawn === 'lost') throw new CarrierFault('unknown', 'No answer.');
      if (drawn === 'away') throw new CarrierFault('service', 'Nobody is there.');
      const leg = ring(asked);
      if (drawn === 'silent') throw new CarrierFault('unknown', 'No answer.');
      return leg;
    },
    async transfer(_legId, { to, from, key }) {
      const drawn = fate();
      if (drawn === 'lost') throw new CarrierFault('unknown', 'No answer.');
      if (drawn === 'away') throw new CarrierFault('service', 'Nobody is there.');
      if (!transfers.has(key)) oracle.called(`${numberId(from)}/${to}`, key);
      transfers.add(key);
      if (drawn === 'silent') throw new CarrierFault('unknown', 'No answer.');
    },
    async hangup(legId) {
      await obeyed();
      alive.delete(legId);
    },
    isAlive: async (legId) => alive.has(legId) && draw.chance(0.8),
    answer: obeyed,
    hold: obeyed,
    resume: obeyed,
    mute: obeyed,
    unmute: obeyed,
    speak: obeyed,
    ask: obeyed,
    dtmf: obeyed,
    bridge: obeyed,
  };
  return calls;
}
