/**
 * What the caller or callee hears when a call begins: who speaks, and the code of an invite, which proves the number of a caller whose carrier vouches for
 * it. Must not know how calls end.
 */

import type { Clock } from '../../../kit/clock/clock.ts';
import type { Op, SharedReader, SharedTx } from '../../../kit/store/shared-store.ts';
import type { InviteProofs } from '../ports.ts';
import type { Commands } from './commands.ts';
import type { CallRow, LegRow } from './model.ts';
import { noteOnLeg } from './store.ts';
import { askForCode, codeDigits, codeHeard, greeting, type Speaker } from './words.ts';

export type Greeter = ReturnType<typeof createGreeter>;

export function createGreeter(deps: {
  readonly clock: Clock;
  readonly commands: Pick<Commands, 'append'>;
  readonly invites: InviteProofs;
  /** The registered business or person of a number. */
  readonly brandOf: (tx: SharedReader, numberId: string) => Op<string | null>;
}) {
  const { clock, commands } = deps;

  function* speaker(tx: SharedReader, call: CallRow): Op<Speaker> {
    return { botName: call.botName, brand: yield* deps.brandOf(tx, call.numberId) };
  }

  function* greet(tx: SharedTx, call: CallRow, leg: LegRow): Op<void> {
    if (leg.askedAt !== null) return;
    yield* noteOnLeg(tx, leg.id, { askedAt: clock.now() });
    const by = yield* speaker(tx, call);
    if (!(yield* awaitsCode(tx, call))) {
      return yield* commands.append(tx, call, { tell: 'speak', leg: leg.id, text: greeting(call, by) });
    }
    // Caller ids can be forged: the caller's number is proven only if its carrier vouches for it.
    if (call.attestation === 'A') {
      return yield* commands.append(tx, call, { tell: 'ask', leg: leg.id, text: askForCode(by), digits: codeDigits });
    }
    const text = `${greeting(call, by)} ${codeHeard.unvouched}`;
    yield* commands.append(tx, call, { tell: 'speak', leg: leg.id, text });
  }

  function* awaitsCode(tx: SharedReader, { direction, numberId, peer }: CallRow): Op<boolean> {
    return direction === 'in' && (yield* deps.invites.isAwaited(tx, numberId, peer));
  }

  /** Keys that a caller pressed when asked for the code of an invite. */
  function* keyedIn(tx: SharedTx, call: CallRow, leg: LegRow, digits: string | null): Op<void> {
    if (digits === null || call.attestation !== 'A' || !(yield* awaitsCode(tx, call))) return;
    if (digits === '') {
      const text = greeting(call, yield* speaker(tx, call));
      return yield* commands.append(tx, call, { tell: 'speak', leg: leg.id, text });
    }
    const by = 'Proven by the code keyed in on a call from that number, for which its carrier vouches.';
    const { numberId, peer: e164 } = call;
    if (yield* deps.invites.prove(tx, { numberId, e164, code: digits, by })) {
      return yield* commands.append(tx, call, { tell: 'speak', leg: leg.id, text: codeHeard.right });
    }
    yield* commands.append(tx, call, { tell: 'ask', leg: leg.id, text: codeHeard.wrong, digits: codeDigits });
  }

  return { speaker, greet, keyedIn };
}
