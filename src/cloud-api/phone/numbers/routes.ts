/** The routes of numbers, ports and invites, bound to the code behind them. */
import { AppError } from '../../../contracts/common/errors.ts';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import * as contract from '../../../contracts/phone/number.ts';
import { type BoundRoute, bind } from '../../../kit/http/types.ts';
import type { Carrier } from '../carrier/port.ts';
import { defaultCountries } from '../e164.ts';
import type { Come } from './come.ts';
import type { InvitePage } from './invite-page.ts';
import type { Invites } from './invites.ts';
import { badRequest, carrierUnavailable, type NumberRow, portOf, toPhoneNumber } from './model.ts';
import type { Stay } from './stay.ts';
import type { NumberStore } from './store.ts';

const defaultLimit = 20;

export function createNumberRoutes({
  carrier,
  rows,
  registered,
  come,
  stay,
  invites,
  page,
}: {
  readonly carrier: Pick<Carrier, 'name'>;
  readonly rows: Pick<NumberStore, 'list' | 'ofComputer'>;
  readonly registered: (numberIds: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly come: Come;
  readonly stay: Stay;
  readonly invites: Invites;
  readonly page: InvitePage;
}): BoundRoute[] {
  async function toNumbers(list: readonly NumberRow[]) {
    const ofThem = await registered(list.map(({ id }) => id));
    return list.map((row) => toPhoneNumber(row, ofThem.has(row.id)));
  }
  const toNumber = async (row: NumberRow) => (await toNumbers([row]))[0] as PhoneNumber;

  async function ported(row: NumberRow) {
    const port = portOf(row);
    if (port === null) throw carrierUnavailable('the port was not started.');
    return { number: await toNumber(row), port };
  }

  return [
    bind(contract.searchNumbers, async ({ query }) => {
      const { country = 'US', type = 'local', limit = defaultLimit, areaCode, locality } = query;
      if (!defaultCountries.includes(country)) {
        throw badRequest(`Numbers of ${country} are not for sale here.`, `Search in ${defaultCountries.join(' or ')}.`);
      }
      const numbers = await come.search({ country, type, limit, areaCode, locality });
      return { body: { carrier: carrier.name, numbers: [...numbers] } };
    }),
    bind(contract.listNumbers, async ({ principal: { kind, userId, computerId } }) => {
      const list = await (kind === 'device' ? rows.ofComputer(userId, computerId ?? '') : rows.list(userId));
      return { body: { numbers: await toNumbers(list) } };
    }),
    bind(contract.buyNumber, async ({ principal: { userId }, body: { dryRun, ...to } }) => {
      if (dryRun !== true) return { body: { number: await toNumber(await come.buy(userId, to)) } };
      const plan = await come.plan(userId, to);
      return { status: 200 as const, body: { dryRun: true as const, plan: { e164: to.e164, ...plan } } };
    }),
    bind(contract.portNumber, async ({ principal: { userId }, body: { details = {}, ...to } }) => ({
      body: await ported(await come.port(userId, to, details)),
    })),
    bind(contract.getPort, async ({ params }) => ({ body: await ported(await stay.port(params.id, 'read again')) })),
    bind(contract.correctPort, async ({ params, body }) => ({ body: await ported(await stay.port(params.id, body)) })),
    bind(contract.moveNumber, async ({ principal: { userId }, params, body }) => {
      const { row, previousBotId } = await stay.move(userId, params.id, body);
      return { body: { number: await toNumber(row), previousBotId } };
    }),
    bind(contract.releaseNumber, async ({ params }) => {
      await stay.release(params.id);
      return { body: undefined };
    }),
    bind(contract.listInvites, async ({ params }) => ({ body: { invites: await invites.list(params.id) } })),
    bind(contract.createInvite, async ({ params }) => ({ body: { invite: await invites.create(params.id) } })),
    bind(contract.deleteInvite, async ({ params: { id, invite } }) => {
      if (await invites.remove(id, invite)) return { body: undefined };
      throw new AppError(
        'not_found',
        `There is no open invite ${JSON.stringify(invite)}.`,
        'List them: GET /api/v1/phone/numbers/{id}/invites',
        {
          wireCode: 'invite_not_found',
        },
      );
    }),
    bind(contract.showInvite, ({ params, response }) => page.show(params.token, response)),
    bind(contract.acceptInvite, ({ params, request, response }) => page.take(params.token, request, response)),
  ];
}
