/**
 * Numbers brought from other carriers, on the carrier's wire. A port has two states, because calls arrive first and
 * texts follow later.
 */
import { iso } from '../../src/kit/clock/clock.ts';
import { endingOf } from './endings.ts';
import { type Call, data, type Json, page, type Reply, type Route, texts } from './exchange.ts';
import type { JobHandlers } from './jobs.ts';
import { addNumber, holderOf } from './numbers.ts';
import { messagingShape, missingOf, pinOf, record, shape, supportKey, textOf } from './port-shape.ts';
import { notFound, Refusal, refused } from './refusal.ts';
import type { SimPort, State } from './state.ts';
import type { World } from './world.ts';

/** Until the carriers hand it over: a moment at the demo's speed. */
const focAfter = 2 * 24 * 60 * 60 * 1000;

export interface Ports {
  readonly routes: readonly Route[];
  readonly jobs: JobHandlers;
  /** The other carrier's next step with an order, by hand: refuse its PIN, or continue. */
  settle(id: string, answer: 'wrong_pin' | 'next'): void;
}

export function createPorts(world: World): Ports {
  const { state } = world;
  const { order, move, next, messaging, settle } = createPortSteps(world);

  function check({ body }: Call): Reply {
    return data(
      texts(body, 'phone_numbers').map((phone_number) => {
        const held = holderOf(state, phone_number) !== null;
        const no = held || endingOf(phone_number)?.notPortable === true || !/^\+1\d{10}$/.test(phone_number);
        return {
          record_type: 'portability_check_result',
          phone_number,
          portable: !no,
          fast_portable: false,
          not_portable_reason: held
            ? 'The number is with this carrier already.'
            : no
              ? 'No coverage for this number.'
              : '',
        };
      }),
      201,
    );
  }

  function create({ body }: Call): Reply {
    const e164s = texts(body, 'phone_numbers');
    if (e164s.length === 0)
      throw refused(422, '10004', 'Missing required parameter', 'phone_numbers is required.', {
        pointer: '/phone_numbers',
      });
    for (const e164 of e164s) {
      if (endingOf(e164)?.notPortable === true || holderOf(state, e164) !== null || live(e164))
        throw refused(422, '10015', 'Bad Request', `${e164} cannot be ported.`, { pointer: '/phone_numbers' });
    }
    const reference = typeof body.customer_reference === 'string' ? body.customer_reference : null;
    // A split one leaves an order behind that holds no number.
    const groups = world.strikes('port_split', e164s[0]) === null ? [e164s] : [[], ...e164s.map((one) => [one])];
    const made = groups.map((numbers): SimPort => {
      const one: SimPort = {
        id: world.id(),
        e164s: numbers,
        reference,
        state: 'draft',
        messaging: 'not_applicable',
        problems: [],
        asked: {},
        refusedPin: null,
        readyOn: null,
        createdAt: world.now(),
      };
      state.ports[one.id] = one;
      return one;
    });
    return data(made.map(shape), 201);
  }

  function live(e164: string): boolean {
    const over = ['ported', 'cancelled'];
    return Object.values(state.ports).some((one) => one.e164s.includes(e164) && !over.includes(one.state));
  }

  function change(call: Call): Reply {
    const found = order(call.params.id as string);
    if (['ported', 'cancelled', 'cancel-pending'].includes(found.state))
      throw refused(422, '10015', 'Bad Request', `A porting order in ${found.state} cannot be changed.`);
    const { body } = call;
    const endUser = record(found.asked.end_user);
    const given = record(body.end_user);
    found.asked = {
      ...found.asked,
      ...body,
      end_user: {
        admin: { ...record(endUser.admin), ...record(given.admin) },
        location: { ...record(endUser.location), ...record(given.location) },
      },
      documents: { ...record(found.asked.documents), ...record(body.documents) },
      phone_number_configuration: {
        ...record(found.asked.phone_number_configuration),
        ...record(body.phone_number_configuration),
      },
    };
    // An order with a problem counts as submitted again.
    if (found.state === 'exception') move(found, 'in-process', []);
    return data(shape(found));
  }

  function confirm(call: Call): Reply {
    const found = order(call.params.id as string);
    if (found.state !== 'draft') return data(shape(found));
    const missing = missingOf(found);
    if (missing.length > 0)
      throw new Refusal(
        422,
        {
          errors: missing.map((field) => ({
            code: '10004',
            title: 'Missing required parameter',
            detail: `${field} is required before the order can be confirmed.`,
            source: { pointer: `/${field}` },
          })),
        },
        `missing ${missing.join(', ')}`,
      );
    const configuration = record(found.asked.phone_number_configuration);
    for (const e164 of found.e164s)
      addNumber(world, e164, {
        reference: found.reference,
        profileId: textOf(configuration.messaging_profile_id),
        connectionId: textOf(configuration.connection_id),
        source: 'port_request',
        status: 'port-pending',
      });
    if (record(found.asked.messaging).enable_messaging === true) found.messaging = 'pending';
    move(found, 'in-process', []);
    return data(shape(found));
  }

  function cancel(call: Call): Reply {
    const found = order(call.params.id as string);
    if (!['in-process', 'submitted', 'exception', 'foc-date-confirmed'].includes(found.state))
      throw refused(422, '10015', 'Bad Request', `A porting order in ${found.state} cannot be cancelled.`);
    move(found, 'cancel-pending', []);
    return data(shape(found));
  }

  function remove(call: Call): Reply {
    const found = order(call.params.id as string);
    if (found.state !== 'draft') throw refused(422, '10015', 'Bad Request', 'Only a draft can be deleted.');
    delete state.ports[found.id];
    return { status: 204, body: undefined };
  }

  const at = '/porting_orders';
  return {
    settle,
    routes: [
      { at: 'POST /portability_checks', op: 'ports.check', handle: check },
      { at: 'POST /documents', op: 'ports.document', handle: (call) => upload(world, call) },
      { at: `POST ${at}`, op: 'ports.create', handle: create },
      {
        at: `GET ${at}`,
        op: 'ports.list',
        handle: (call) => {
          const wanted = call.query.get('filter[customer_reference]');
          const all = Object.values(state.ports).filter((one) => wanted === null || one.reference === wanted);
          return page(call, all.map(shape));
        },
      },
      { at: `GET ${at}/:id`, op: 'ports.read', handle: ({ params }) => data(shape(order(params.id as string))) },
      { at: `PATCH ${at}/:id`, op: 'ports.change', handle: change },
      { at: `DELETE ${at}/:id`, op: 'ports.delete', handle: remove },
      { at: `POST ${at}/:id/actions/confirm`, op: 'ports.confirm', handle: confirm },
      { at: `POST ${at}/:id/actions/cancel`, op: 'ports.cancel', handle: cancel },
    ],
    jobs: { 'port.next': next, 'port.messaging': messaging },
  };
}

/** What the other carrier does with an order after it was confirmed: it moves from state to state, and its texts follow. */
function createPortSteps(world: World) {
  const { state } = world;

  return { order, move, next, messaging, settle };

  function order(id: string): SimPort {
    const found = state.ports[id];
    if (found === undefined) throw notFound('porting order');
    return found;
  }

  /** From one state to the next, in the carrier's own time. */
  function next({ id = '' }: Record<string, string>): void {
    const found = state.ports[id];
    if (found === undefined) return;
    const about = found.e164s[0];
    if (found.state === 'in-process') move(found, 'submitted', []);
    else if (found.state === 'submitted') {
      const pin = pinOf(found);
      const badPin = world.strikes('port_pin', about) !== null;
      if (badPin) found.refusedPin = pin;
      const exception = world.strikes('port_exception', about);
      if (badPin || (found.refusedPin !== null && found.refusedPin === pin)) refusePin(found);
      else if (exception !== null)
        move(found, 'exception', [
          { code: String(exception.given.code ?? 'OTHER'), description: String(exception.given.text ?? 'Refused.') },
        ]);
      else {
        found.readyOn = iso(world.clock.now() + focAfter);
        move(found, 'foc-date-confirmed', []);
      }
    } else if (found.state === 'foc-date-confirmed') {
      for (const number of Object.values(state.numbers))
        if (found.e164s.includes(number.e164) && number.status === 'port-pending') number.status = 'active';
      move(found, 'ported', []);
      if (found.messaging === 'pending') messagingLater(found);
    } else if (found.state === 'cancel-pending') {
      for (const number of Object.values(state.numbers))
        if (found.e164s.includes(number.e164) && number.status === 'port-pending') number.status = 'deleted';
      if (found.messaging !== 'not_applicable') found.messaging = 'canceled';
      move(found, 'cancelled', []);
    }
  }

  function refusePin(found: SimPort): void {
    found.refusedPin = pinOf(found);
    move(found, 'exception', [
      { code: 'PASSCODE_PIN_INVALID', description: 'The PIN or passcode is not the one of the account.' },
    ]);
  }

  function move(found: SimPort, to: SimPort['state'], problems: SimPort['problems']): void {
    found.state = to;
    found.problems = problems;
    world.emit(textOf(found.asked.webhook_url), 'porting_order.status_changed', {
      id: found.id,
      customer_reference: found.reference,
      status: { value: to, details: problems },
      support_key: supportKey(found),
      updated_at: world.now(),
      webhook_url: textOf(found.asked.webhook_url),
    });
    world.forget((job) => job.kind === 'port.next' && job.args.id === found.id);
    if (['in-process', 'submitted', 'foc-date-confirmed', 'cancel-pending'].includes(to))
      world.later({
        what: `port of ${found.e164s.join(', ')}: after ${to}`,
        kind: 'port.next',
        args: { id: found.id },
        after: 5_000,
      });
  }

  function messagingLater(found: SimPort): void {
    world.forget((job) => job.kind === 'port.messaging' && job.args.id === found.id);
    const what = `port of ${found.e164s.join(', ')}: texts`;
    world.later({ what, kind: 'port.messaging', args: { id: found.id }, after: 4_000 });
  }

  function messaging({ id = '' }: Record<string, string>): void {
    const found = state.ports[id];
    if (found === undefined) return;
    if (found.messaging === 'pending')
      found.messaging = world.strikes('port_messaging', found.e164s[0]) === null ? 'activating' : 'exception';
    else if (found.messaging === 'activating' || found.messaging === 'exception') found.messaging = 'ported';
    else return;
    world.emit(textOf(found.asked.webhook_url), 'porting_order.messaging_changed', {
      id: found.id,
      customer_reference: found.reference,
      messaging: messagingShape(found),
      support_key: supportKey(found),
    });
    if (found.messaging === 'activating') messagingLater(found);
  }

  function settle(id: string, answer: 'wrong_pin' | 'next'): void {
    const found = order(id);
    if (answer === 'wrong_pin') {
      if (!['in-process', 'submitted'].includes(found.state))
        throw refused(409, '10015', 'Bad Request', `A PIN is not looked at while an order is in ${found.state}.`);
      refusePin(found);
      return;
    }
    const isAbout = (job: { kind: string; args: Json }) => job.kind.startsWith('port.') && job.args.id === id;
    if (found.state === 'ported') {
      world.forget(isAbout);
      messaging({ id });
    } else if (state.jobs.some(isAbout)) {
      world.forget(isAbout);
      next({ id });
    } else
      throw refused(409, '10015', 'Bad Request', `Nothing happens automatically while the order is in ${found.state}.`);
  }
}

function upload(world: World, { body }: Call): Reply {
  const given = { ...body, ...record(body.document) };
  const content = textOf(given.file);
  if (content === null) throw refused(422, '10004', 'Missing required parameter', 'file is required.');
  const id = world.id();
  const size = Buffer.byteLength(content, 'base64');
  world.state.documents[id] = { name: textOf(given.filename) ?? 'document', size };
  return data({
    id,
    record_type: 'document',
    filename: world.state.documents[id]?.name,
    content_type: 'application/pdf',
    size: { amount: size, unit: 'bytes' },
    status: 'verified',
    av_scan_status: 'scanned',
    created_at: world.now(),
  });
}

/** Whether its texts have arrived, too, if it was ported in. */
export function textsHaveCome(state: State, e164: string): boolean {
  return !Object.values(state.ports).some(
    (one) => one.e164s.includes(e164) && one.state !== 'cancelled' && one.messaging !== 'ported',
  );
}
