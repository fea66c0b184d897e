/** How a person gets a number: bought or ported, within the limits of their plan, for a bot of theirs. Must not know the steps at the carrier. */
import type { OfferedNumber, PortDetails } from '../../../contracts/phone/number.ts';
import type { NumberType } from '../../../contracts/phone/values.ts';
import type { SearchAsked } from '../carrier/port.ts';
import { defaultCountries, readE164, refusedDestination } from '../e164.ts';
import { asked } from './faults.ts';
import {
  badRequest,
  carrierRefused,
  carrierUnavailable,
  limitOf,
  limitReached,
  type NumberRow,
  notPortable,
  numberTaken,
  numberTakenHere,
  requiresPlan,
  unknownRuntime,
} from './model.ts';
import { sealDetails } from './port-work.ts';
import { topicOf } from './store.ts';
import type { Work, WorkDeps } from './work.ts';

interface Assignment {
  readonly e164: string;
  readonly runtimeId: string;
  readonly botId: string;
  readonly botName?: string | undefined;
}

export interface Come {
  search(asked: SearchAsked): Promise<readonly OfferedNumber[]>;
  plan(
    userId: string,
    to: Assignment,
  ): Promise<{ readonly monthlyCost: string | null; numbers: number; limit: number }>;
  /** Resolves once the order is placed, or while that is still unknown. */
  buy(userId: string, to: Assignment): Promise<NumberRow>;
  port(userId: string, to: Assignment, details: PortDetails): Promise<NumberRow>;
  /** Resolves as soon as `done`, or after `ms`. */
  until(id: string, done: (row: NumberRow) => boolean, ms: number): Promise<NumberRow>;
}

/** A slower carrier is waited for in the background. */
const orderMs = 15_000;
/** Most orders are complete by then. */
const deliveryMs = 2_000;
const lookMs = 250;
const maxOffers = 50;

export function createCome(deps: WorkDeps & { readonly work: Work }): Come {
  const { store, clock, ids, carrier, rows, work, sealer } = deps;

  async function until(id: string, done: (row: NumberRow) => boolean, ms: number): Promise<NumberRow> {
    const end = clock.monotonic() + ms;
    while (true) {
      const row = await rows.get(id);
      if (row === null) throw new Error(`The row of the number ${id} is gone.`);
      const left = end - clock.monotonic();
      if (done(row) || left <= 0) return row;
      await store.wake.wait(topicOf(id), Math.min(left, lookMs));
    }
  }

  /** Throws 400, 402, 404 in this order. */
  async function allowed(userId: string, to: Assignment) {
    const read = readE164(to.e164);
    if (read === null)
      throw badRequest(`${JSON.stringify(to.e164)} is not a possible phone number.`, 'Write it as +12025550123.');
    const { country } = read;
    if (country === null || !defaultCountries.includes(country)) {
      throw badRequest(`${to.e164} is a number of ${country ?? 'no country'}.`, 'Choose one of the US or Canada.');
    }
    const costly = refusedDestination(to.e164);
    if (costly !== null) throw badRequest(costly, 'Choose an ordinary number of the US or Canada.');
    if (to.botId.trim() === '') throw badRequest('botId is empty.', 'Name the bot that the number is for.');
    const plan = (await deps.users.find(userId))?.plan ?? 'free';
    const limit = limitOf(plan);
    if (limit === 0) throw requiresPlan(plan);
    const computer = await deps.computers.find(userId, to.runtimeId);
    if (computer === null || computer.kind === 'hosted') throw unknownRuntime(to.runtimeId);
    const type: NumberType = read.type === 'TOLL_FREE' ? 'toll_free' : 'local';
    return { country, type, limit, runtimeId: computer.id };
  }

  /** The number's entry in a search; nothing if it has none, which is no reason to refuse. */
  async function described(e164: string, of: { readonly country: string; readonly type: NumberType }) {
    const areaCode = e164.slice(2, 5);
    const offers = await carrier.numbers.search({ ...of, areaCode, limit: maxOffers }).catch(() => []);
    const offer = offers.find((each) => each.e164 === e164);
    const { locality = null, monthlyCost = null, upfrontCost = null } = offer ?? {};
    return { locality, monthlyCost, upfrontCost };
  }

  async function begin(
    userId: string,
    to: Assignment,
    how: { readonly job: 'buy' } | { readonly job: 'port'; readonly details: PortDetails },
  ): Promise<string> {
    const { limit, country, type, runtimeId } = await allowed(userId, to);
    if (how.job === 'port') {
      const { portable, reason } = await asked(() => carrier.ports.check(to.e164));
      if (!portable) throw notPortable(to.e164, reason);
    }
    const about =
      how.job === 'buy'
        ? await described(to.e164, { country, type })
        : { locality: null, monthlyCost: null, upfrontCost: null };
    const id = ids.next('number');
    await store.write(function* (tx) {
      const number = {
        id,
        userId,
        e164: to.e164,
        type,
        country,
        ...about,
        carrier: carrier.name,
        runtimeId,
        botId: to.botId,
        botName: to.botName ?? null,
        ...deps.addresses.mint(id),
        origin: how.job === 'buy' ? ('bought' as const) : ('ported' as const),
        portDetails: how.job === 'port' ? sealDetails(sealer, id, how.details) : null,
      };
      const row = yield* rows.create(tx, number, limit);
      yield* work.begin(tx, row, how.job);
      yield* deps.resync.tell(tx, runtimeId);
    });
    return id;
  }

  /** Refuses now, so that the person need not find it in a list later. */
  async function refusal(row: NumberRow): Promise<Error> {
    await rows.told(row.id);
    const why = row.problem ?? 'it gave no reason';
    if (row.fault === 'taken') return numberTaken(row.e164);
    return row.fault === 'service' ? carrierUnavailable(why) : carrierRefused(why);
  }

  return {
    until,
    async search(query) {
      const found = await asked(() => carrier.numbers.search(query));
      // Area codes of premium numbers and of other countries of the +1 are not for bots, whatever the carrier sells there.
      const offers = found.filter(({ e164 }) => refusedDestination(e164) === null);
      // Close matches are dropped: the person asked for exactly this.
      const fits = ({ e164, type }: OfferedNumber) =>
        type === query.type && (query.areaCode === undefined || e164.startsWith(`+1${query.areaCode}`));
      const shown = offers.filter(fits).slice(0, query.limit);
      return shown.map(({ e164, type, locality, monthlyCost }) => ({ e164, type, locality, monthlyCost }));
    },
    async plan(userId, to) {
      const { limit, country, type } = await allowed(userId, to);
      const { has, coming } = await store.read((tx) => rows.count(tx, userId));
      if (has >= limit) throw limitReached(has, coming, limit);
      if ((await rows.numbers.byE164(to.e164)) !== null) throw numberTakenHere(to.e164);
      const { monthlyCost } = await described(to.e164, { country, type });
      return { monthlyCost, numbers: has + 1, limit };
    },
    async buy(userId, to) {
      const id = await begin(userId, to, { job: 'buy' });
      const placed = await until(id, (row) => row.orderId !== null || row.phase !== 'buying', orderMs);
      const row = placed.phase === 'buying' ? await until(id, ({ phase }) => phase !== 'buying', deliveryMs) : placed;
      if (row.phase === 'failed') throw await refusal(row);
      return row;
    },
    async port(userId, to, details) {
      const id = await begin(userId, to, { job: 'port', details });
      const row = await until(id, ({ orderId, phase }) => orderId !== null || phase !== 'porting', orderMs);
      if (Object.keys(details).length === 0) return row;
      return until(id, ({ portDetails, phase }) => portDetails === null || phase !== 'porting', deliveryMs);
    },
  };
}
