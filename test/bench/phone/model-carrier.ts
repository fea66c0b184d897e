/** The carrier as the model sees it: accepts texts, sometimes forgets to answer, blocks numbers that received STOP, and reports each result later. */
import { CarrierFault, type CarrierTexts } from '../../../src/cloud-api/phone/carrier/port.ts';
import type { Oracle } from './oracle.ts';
import type { Draw } from './people.ts';

export interface Posted {
  readonly id: string;
  readonly type: string;
  readonly occurredAt: number;
  readonly payload: Record<string, unknown>;
  readonly numberId: string | null;
}

export interface ModelCarrierDeps {
  readonly draw: Draw;
  readonly now: () => number;
  readonly oracle: Oracle;
  /** By its E.164. */
  readonly numberId: (e164: string) => string;
  readonly post: (event: Posted) => void;
}

export function createModelCarrier({ draw, now, oracle, numberId, post }: ModelCarrierDeps) {
  const sent = new Map<string, { carrierId: string; parts: number }>();
  const blocked = new Map<string, { e164: string; keyword: string; at: number }>();
  let faults = true;
  let count = 0;

  function take({ from, to, text, tag }: { from: string; to: string; text: string; tag: string }) {
    const name = `${numberId(from)}/${to}`;
    const kind = text.includes('You have opted out')
      ? 'stop'
      : text.includes('answers people who text')
        ? 'help'
        : 'other';
    oracle.took(name, tag, kind);
    count += 1;
    const taken = { carrierId: `out-${count}`, parts: 1 };
    sent.set(tag, taken);
    const receipt = (type: string, status: string) => {
      const payload = {
        id: taken.carrierId,
        direction: 'outbound',
        to: [{ status }],
        tags: [tag],
        parts: 1,
        errors: [{ code: '40008' }],
      };
      post({ id: `${type}-${tag}`, type, occurredAt: now(), payload, numberId: numberId(from) });
    };
    receipt('message.sent', 'sent');
    receipt(
      'message.finalized',
      draw.one(['delivered', 'delivered', 'delivered', 'delivery_failed', 'delivery_unconfirmed']),
    );
    return taken;
  }

  const texts: CarrierTexts = {
    async send(asked) {
      const name = `${numberId(asked.from)}/${asked.to}`;
      if (blocked.has(name)) {
        oracle.said(name, 'stop', now(), false);
        throw new CarrierFault('opted_out', 'Blocked due to STOP message', { code: '40300' });
      }
      const fate = faults
        ? draw.weighted({ good: 64, silent: 8, lost: 12, broken: 3, busy: 9, refused: 2, away: 2 })
        : 'good';
      if (fate === 'lost') throw new CarrierFault('unknown', 'No answer.');
      if (fate === 'busy')
        throw new CarrierFault('service', 'Too many requests', { code: '10011', retryAfter: 1 + draw.below(30) });
      if (fate === 'refused') throw new CarrierFault('content', 'Not these words', { code: '40322' });
      if (fate === 'away') throw new CarrierFault('service', 'Nobody is there.');
      const taken = take(asked);
      if (fate === 'silent') throw new CarrierFault('unknown', 'No answer.');
      if (fate === 'broken') throw new Error('The answer is no JSON.');
      return taken;
    },
    async findSent({ tag }) {
      if (faults && draw.chance(0.1)) throw new CarrierFault('unknown', 'No answer.');
      return sent.get(tag) ?? null;
    },
    async optOuts(profileId) {
      return [...blocked].flatMap(([name, one]) => (name.startsWith(`${profileId}/`) ? [one] : []));
    },
  };

  return {
    texts,
    isHealed: () => !faults,
    heal() {
      faults = false;
    },
    /** Somebody said a word that the carrier knows. */
    keyword(name: string, e164: string, means: 'stop' | 'start' | 'help', keyword: string): void {
      if (means === 'stop') blocked.set(name, { e164, keyword, at: now() });
      if (means === 'start') blocked.delete(name);
    },
    /** On its list, as reconciliation reads it. */
    blocks: (name: string) => blocked.get(name) ?? null,
  };
}

export type ModelCarrier = ReturnType<typeof createModelCarrier>;
