/** Steps of owners and bots about calls: consents; references used late, twice or after STOP; transferred calls. */
import { AppError } from '../../../src/contracts/common/errors.ts';
import type { TestClock } from '../../support/test-clock.ts';
import type { Oracle } from './oracle.ts';
import type { Draw } from './people.ts';
import type { World } from './world.ts';

export interface CallStepsDeps {
  readonly world: World;
  readonly oracle: Oracle;
  readonly draw: Draw;
  readonly clock: TestClock;
  readonly pair: () => { readonly numberId: string; readonly peer: string };
  /** Of the owner's own phone. */
  readonly isOwn: (peer: string) => boolean;
}

interface Ref {
  readonly consentRef: string;
  readonly pair: string;
  readonly at: number;
  used: boolean;
}

const goodForMs = 30 * 60_000;

export function createCallSteps({ world, oracle, draw, clock, pair, isOwn }: CallStepsDeps) {
  const refs: Ref[] = [];
  const calls: { readonly callId: string; readonly numberId: string }[] = [];

  /** The answer, or the refusal's wire code. */
  async function asked(op: string, more: Parameters<World['ask']>[1]): Promise<unknown> {
    try {
      return await world.ask(op, more);
    } catch (error) {
      if (error instanceof AppError) return error.options.wireCode ?? error.code;
      throw error;
    }
  }

  return {
    /** How many references and calls there were. */
    counts: () => ({ refs: refs.length, calls: calls.length }),
    async consent(): Promise<void> {
      const { numberId, peer } = pair();
      const body = { e164: peer, source: 'form', evidence: 'They signed.' };
      oracle.consented(`${numberId}/${peer}`);
      await world.ask('recordPhoneConsent', { params: { id: numberId }, body });
    },
    async reference(): Promise<void> {
      const { numberId, peer } = pair();
      const name = `${numberId}/${peer}`;
      const number = await world.rows.numbers.find(numberId);
      if (number === null) return;
      const body = { numberId, to: peer, botId: number.botId, purpose: 'They asked to be called.' };
      const answer = await asked('askForCall', { body });
      const may = !oracle.isOut(name) && (oracle.mayCall(name) || isOwn(peer));
      if (typeof answer === 'string') {
        if (answer !== 'no_consent') oracle.fail(`A call to ${name} was refused with ${answer}.`);
        else if (may && !isOwn(peer)) oracle.fail(`A call to ${name} was refused, who agreed and is not out.`);
        return;
      }
      if (!may) oracle.fail(`A call to ${name} was allowed, who is out or never agreed.`);
      refs.push({
        consentRef: (answer as { consentRef: string }).consentRef,
        pair: name,
        at: clock.now(),
        used: false,
      });
    },
    /** With a new one, mostly; now and then with one of before. */
    async dial(): Promise<void> {
      const ref = draw.chance(0.85) ? refs.at(-1) : draw.one(refs);
      if (ref === undefined) return;
      const isOver = ref.used || clock.now() - ref.at >= goodForMs;
      const wasOut = oracle.isOut(ref.pair);
      const answer = await asked('dialPhoneCall', { body: { consentRef: ref.consentRef } });
      if (typeof answer === 'string') return;
      if (isOver) oracle.fail(`A reference for ${ref.pair} was good although it was used or old.`);
      if (wasOut) oracle.fail(`A call to ${ref.pair} was begun, who is out.`);
      ref.used = true;
      calls.push({ callId: (answer as { callId: string }).callId, numberId: ref.pair.split('/')[0] as string });
    },
    async control(): Promise<void> {
      const call = calls.at(-1 - draw.below(Math.min(4, calls.length)));
      if (call === undefined) return;
      const { peer } = pair();
      const action = draw.weighted({ hangup: 5, hold: 2, resume: 2, warm: 4, cold: 4 });
      const body = action === 'warm' || action === 'cold' ? { action: 'transfer', to: peer, mode: action } : { action };
      const answer = await asked('controlPhoneCall', { params: { callId: call.callId }, body });
      const name = `${call.numberId}/${peer}`;
      if (typeof answer !== 'string' && 'to' in body && oracle.isOut(name)) {
        oracle.fail(`A call was handed over to ${name}, who is out.`);
      }
    },
  };
}
