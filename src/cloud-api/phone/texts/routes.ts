/** Conversations, texts and opt-outs of a number, and the person's own phone (contracts/phone/texts.ts). Only HTTP. */
import { AppError } from '../../../contracts/common/errors.ts';
import * as contract from '../../../contracts/phone/texts.ts';
import { type Clock, iso } from '../../../kit/clock/clock.ts';
import { cursorOf, placeOf } from '../../../kit/http/place.ts';
import { type BoundRoute, bind } from '../../../kit/http/types.ts';
import type { SharedReader, SharedStore } from '../../../kit/store/shared-store.ts';
import { readE164, refusedDestination } from '../e164.ts';
import { type Consents, isOfBots, type Numbers } from '../ports.ts';
import { toMessage } from './model.ts';
import type { OptOutLog } from './opt-outs.ts';
import type { OwnPhones } from './own-phone.ts';
import type { Stops } from './stop.ts';
import { type ConversationRow, findText, listContacts, listTexts } from './store.ts';

interface RoutesDeps {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly numbers: Pick<Numbers, 'find' | 'byE164'>;
  readonly optOuts: OptOutLog;
  readonly stops: Stops;
  readonly own: OwnPhones;
  readonly consents: Pick<Consents, 'basisFor'>;
  readonly countries: readonly string[];
}

const defaultLimit = 50;
const after = (cursor: string | undefined) => (cursor === undefined ? null : placeOf(cursor));

export function listRoutes(deps: RoutesDeps): readonly BoundRoute[] {
  const { store, countries } = deps;

  function* toConversation(tx: SharedReader, numberId: string, row: ConversationRow) {
    const last = yield* findText(tx, row.lastId);
    if (last === null) return [];
    const optedOut = row.optedOut === 1;
    const reached = refusedDestination(row.peer, countries) === null;
    const consent = row.firstTextAt !== null || (yield* deps.consents.basisFor(tx, numberId, row.peer)) !== null;
    const conversation: contract.Conversation = {
      with: row.peer,
      name: null,
      botId: last.botId,
      last: toMessage(last),
      optedOut,
      mayText: reached && !optedOut && row.firstTextAt !== null,
      mayCall: reached && !optedOut && consent,
    };
    return [conversation];
  }

  return [
    bind(contract.listConversations, async ({ params: { id }, query: { limit = defaultLimit, cursor } }) => {
      const place = after(cursor);
      return store.read(function* (tx) {
        const rows = yield* listContacts(tx, { numberId: id, after: place, limit: limit + 1 });
        const conversations: contract.Conversation[] = [];
        for (const row of rows.slice(0, limit)) conversations.push(...(yield* toConversation(tx, id, row)));
        const last = rows.length > limit ? rows[limit - 1] : undefined;
        const nextCursor = last === undefined ? null : cursorOf({ created_at: last.lastAt, id: last.lastId });
        return { body: { conversations, nextCursor } };
      });
    }),
    bind(contract.listTexts, async ({ params: { id }, query }) => {
      const { limit = defaultLimit, cursor, with: peer = null } = query;
      const asked = { numberId: id, peer, after: after(cursor), limit: limit + 1 };
      const rows = await store.read((tx) => listTexts(tx, asked));
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      const nextCursor = last === undefined ? null : cursorOf({ created_at: last.at, id: last.id });
      return { body: { messages: rows.slice(0, limit).map(toMessage), nextCursor } };
    }),
    bind(contract.listOptOuts, async ({ params: { id }, query: { limit = defaultLimit, cursor } }) => {
      const asked = { numberId: id, after: after(cursor), limit: limit + 1 };
      const rows = await store.read((tx) => deps.optOuts.list(tx, asked));
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      const entries = rows
        .slice(0, limit)
        .map(({ peer, action, source, evidence, at }) => ({ e164: peer, action, source, evidence, at: iso(at) }));
      return { body: { entries, nextCursor: last === undefined ? null : cursorOf(last) } };
    }),
    bind(contract.addOptOut, async ({ params: { id }, body: { e164, evidence } }) => {
      if (readE164(e164) === null) throw bad(`${e164} is not a possible phone number.`, 'Write it as +12025550123.');
      const said = {
        numberId: id,
        peer: e164,
        action: 'stop',
        source: 'owner',
        evidence,
        at: deps.clock.now(),
      } as const;
      const { entry } = await store.write((tx) => deps.stops.apply(tx, said));
      return { status: 201 as const, body: { entry } };
    }),
  ];
}

export function ownRoutes({ numbers, own, countries }: RoutesDeps): readonly BoundRoute[] {
  return [
    bind(contract.getOwnPhone, async ({ principal }) => ({ body: await own.read(principal.userId) })),
    bind(contract.putOwnPhone, async ({ principal: { userId }, body: { e164, numberId } }) => {
      const refused = refusedDestination(e164, countries);
      if (refused !== null) throw bad(refused, 'Give a phone number that can receive texts.');
      const number = await numbers.find(numberId);
      if (number === null || number.userId !== userId) {
        const fact = `You have no number ${JSON.stringify(numberId)}.`;
        throw new AppError('not_found', fact, 'List your numbers to find it.', { wireCode: 'number_not_found' });
      }
      if (number.e164 === e164) throw bad(`${e164} is the number itself.`, 'Give the number of your own phone.');
      if (await isOfBots(numbers, e164))
        throw bad(`${e164} is a number of a bot.`, 'Give the number of your own phone.');
      const { code, until } = await own.name(userId, e164, numberId);
      return { body: { own: { e164, confirmed: false, numberId }, code, expiresAt: iso(until) } };
    }),
    bind(contract.deleteOwnPhone, async ({ principal: { userId } }) => {
      await own.forget(userId);
      return { status: 204 as const, body: undefined };
    }),
  ];
}

function bad(fact: string, action: string): AppError {
  return new AppError('usage', fact, action, { wireCode: 'bad_request' });
}
