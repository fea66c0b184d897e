/**
 * An inbound text: stored once. The service answers keywords; everything else goes to the bot that has the number now. One transaction for each text.
 * Must not know the carrier's wire, or how a computer is reached.
 */
import type { Clock } from '../../../kit/clock/clock.ts';
import type { Ids } from '../../../kit/ids/ids.ts';
import type { Op, SharedReader, SharedStore, SharedTx } from '../../../kit/store/shared-store.ts';
import { refusedDestination } from '../e164.ts';
import type { Fees } from '../fees.ts';
import type { HeldNumber, InviteProofs, Numbers } from '../ports.ts';
import type { Replies } from '../registration/replies.ts';
import type { InboundText } from './carrier-events.ts';
import { type Keyword, readKeyword } from './keywords.ts';
import type { ServiceKind } from './model.ts';
import type { OptOutLog } from './opt-outs.ts';
import type { Outbound } from './outbound.ts';
import { codeIn, type OwnPhones } from './own-phone.ts';
import type { Relay } from './relay.ts';
import type { Stops } from './stop.ts';
import { addText, findByCarrier, saidSince } from './store.ts';

/** `kept_back`: the service answered it, no bot sees it. */
type Taken = 'relayed' | 'kept_back' | 'duplicate' | 'released';

/** Stops two machines that answer each other with HELP or START. */
const quietMs: Readonly<Record<Exclude<Keyword, 'stop'>, number>> = { help: 60_000, start: 10 * 60_000 };

/** Returns the operation that stores it, to be run in one transaction; undefined: it was stored before. */
type TakeText = (text: InboundText, number: HeldNumber) => Promise<((tx: SharedTx) => Op<Taken>) | undefined>;

export function createInbound(deps: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly numbers: Pick<Numbers, 'read'>;
  readonly optOuts: Pick<OptOutLog, 'texted'>;
  readonly stops: Stops;
  readonly own: Pick<OwnPhones, 'hear'>;
  readonly invites: Pick<InviteProofs, 'prove'>;
  readonly fees: Pick<Fees, 'text'>;
  readonly outbound: Pick<Outbound, 'queue'>;
  readonly relay: Pick<Relay, 'append'>;
  /** The number's answers to its keywords. */
  readonly replies: (number: HeldNumber) => Promise<Replies>;
  readonly countries: readonly string[];
}): TakeText {
  const { store, clock } = deps;

  /** Sends the reply, if that is possible. */
  function* answer(tx: SharedTx, number: HeldNumber, to: string, kind: ServiceKind, words: string): Op<void> {
    if (number.smsState !== 'active' || refusedDestination(to, deps.countries) !== null) return;
    yield* deps.outbound.queue(tx, number, { to, text: words, by: 'service', kind });
  }

  function* stopOrStart(tx: SharedTx, text: InboundText, number: HeldNumber, action: 'stop' | 'start'): Op<boolean> {
    const said = {
      numberId: number.id,
      peer: text.from,
      action,
      source: 'text',
      evidence: text.text,
      at: text.saidAt,
    } as const;
    const { changed } = yield* deps.stops.apply(tx, said);
    if (changed === 'stale' || text.isAnswered) return false;
    if (changed === 'changed') return true;
    // A repeated STOP gets no reply; a first START is confirmed, even without an earlier STOP.
    if (action === 'stop') return false;
    return !(yield* saidSince(tx, number.id, text.from, 'start', clock.now() - quietMs.start));
  }

  function* shouldAnswer(tx: SharedTx, text: InboundText, number: HeldNumber, keyword: Keyword): Op<boolean> {
    if (keyword !== 'help') return yield* stopOrStart(tx, text, number, keyword);
    return !text.isAnswered && !(yield* saidSince(tx, number.id, text.from, 'help', clock.now() - quietMs.help));
  }

  const isKnown = (tx: SharedReader, text: InboundText) => findByCarrier(tx, `in:${text.carrierId}`);

  return async (text, number) => {
    if ((await store.read((tx) => isKnown(tx, text))) !== null) return undefined;
    const read = readKeyword(text.text);
    const keyword = read === null || read.kind === 'unclear' ? null : read.kind;
    // Outside the transaction: a text from the person's own phone involves more than the database.
    const heard = keyword === null ? await deps.own.hear(number, text.from, text.text) : null;
    const words = keyword === null ? null : (await deps.replies(number))[keyword];
    const code = keyword === null && heard === null ? codeIn(text.text) : null;
    const unclear = read?.kind === 'unclear' ? 'It may mean STOP. If it does, mark them as opted out.' : null;
    return function* (tx) {
      const now = yield* deps.numbers.read(tx, number.id);
      // The number belongs to nobody: this text is not for its next owner.
      if (now === null) return 'released';
      const proof = { numberId: now.id, e164: text.from, by: 'Proven by a text of the code from that number.' };
      const agreed = code !== null && (yield* deps.invites.prove(tx, { ...proof, code }));
      const withheld = keyword?.toUpperCase() ?? heard?.reason ?? (agreed ? 'The code of an invite.' : null);
      const id = deps.ids.next('text');
      const about = {
        id,
        numberId: now.id,
        userId: now.userId,
        ours: now.e164,
        peer: text.from,
        direction: 'in',
      } as const;
      const said = {
        text: text.text,
        media: JSON.stringify(text.media),
        parts: text.parts,
        at: clock.now(),
        saidAt: text.saidAt,
      };
      const bot = { botId: now.botId, botName: now.botName, computerId: now.runtimeId };
      const added = yield* addText(tx, {
        ...about,
        ...said,
        ...bot,
        by: null,
        kind: null,
        code: null,
        status: withheld === null ? 'received' : 'kept_back',
        reason: withheld ?? unclear,
        carrierKey: `in:${text.carrierId}`,
        unclear: unclear === null ? 0 : 1,
      });
      if (!added) return 'duplicate';
      if (text.microUsd !== null) {
        const of = { ...bot, userId: now.userId, e164: now.e164 };
        yield* deps.fees.text(tx, of, { id, at: clock.now(), microUsd: text.microUsd });
      }
      yield* deps.optOuts.texted(tx, now.id, text.from, text.saidAt);
      if (heard !== null) {
        yield* heard.settle(tx);
        yield* answer(tx, now, text.from, 'own', heard.answer);
      } else if (agreed) {
        const words = `Thank you. You agreed to be called from ${now.e164}. Text STOP to this number to end it.`;
        yield* answer(tx, now, text.from, 'own', words);
      } else if (keyword !== null && words !== null) {
        if (yield* shouldAnswer(tx, text, now, keyword)) yield* answer(tx, now, text.from, keyword, words);
      } else {
        yield* deps.relay.append(tx, { ...about, computerId: now.runtimeId });
      }
      return withheld === null ? 'relayed' : 'kept_back';
    };
  };
}
