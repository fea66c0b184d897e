/**
 * The simulated carrier's own control, `/sim`: handsets, speed, faults, state, log. Not on the carrier's wire. Must not know HTTP beyond a call and
 * its reply.
 */
import { type Call, type Json, ok, optional, type Reply, type Route } from './exchange.ts';
import { type FaultName, faultNames, isFaultName, plant } from './faults.ts';
import type { Handsets } from './handsets.ts';
import type { Inbound } from './inbound.ts';
import type { Jobs } from './jobs.ts';
import type { HandsetAction, Legs } from './legs.ts';
import type { Ports } from './ports.ts';
import type { Postings } from './postings.ts';
import { refused } from './refusal.ts';
import { type Speed, type State, speeds } from './state.ts';
import { stateOf } from './state-file.ts';
import type { World } from './world.ts';

export interface FaultAsked {
  readonly name: FaultName;
  /** Where it strikes: an operation, an event's type, a number. */
  readonly on?: string;
  /** Default: once. */
  readonly times?: number;
  readonly [given: string]: unknown;
}

/** Faults of `POST /sim/faults`, planted by a test. Returns its id. */
export function plantFault(world: World, asked: FaultAsked): string {
  const { name, on, times = 1, ...given } = asked;
  const id = world.id();
  plant(world.state, id, name, on ?? null, times, given);
  if (name === 'port_out' && on !== undefined) portOut(world, on);
  return id;
}

/** Another carrier took it: from now on the account may only see it. */
function portOut(world: World, e164: string): void {
  for (const number of Object.values(world.state.numbers)) if (number.e164 === e164) number.status = 'ported-out';
}

export function createControl(deps: {
  readonly world: World;
  readonly jobs: () => Jobs;
  readonly postings: Postings;
  readonly handsets: Handsets;
  readonly inbound: Inbound;
  readonly legs: Legs;
  readonly ports: Ports;
}): readonly Route[] {
  const { world, handsets, inbound, legs, ports, postings } = deps;
  const { state } = world;
  const overview = (): Reply => ok(handsets.overview());

  function setSpeed({ body }: Call): Reply {
    const speed = optional(body, 'speed');
    if (speed !== undefined) {
      if (!isSpeed(speed)) throw unknown('speed', speed, speeds);
      deps.jobs().setSpeed(speed);
    }
    if (body.step === true) deps.jobs().step();
    return overview();
  }

  function fault({ body }: Call): Reply {
    const name = text(body, 'name');
    if (!isFaultName(name)) throw unknown('fault', name, Object.keys(faultNames));
    const id = plantFault(world, { ...body, name, ...(typeof body.times === 'number' ? { times: body.times } : {}) });
    return { status: 201, body: { id } };
  }

  function settings({ body }: Call): Reply {
    if (body.webhookUrl !== undefined) state.webhookUrl = optional(body, 'webhookUrl') ?? null;
    if (typeof body.balance === 'number') state.account.balance = body.balance;
    if (typeof body.level === 'number') state.account.level = body.level;
    return ok({ webhookUrl: state.webhookUrl, account: state.account });
  }

  function importState({ body }: Call): Reply {
    const { privateKey } = state;
    let given: State;
    try {
      given = stateOf(JSON.stringify(body), 'What was sent');
    } catch (error) {
      throw refused(400, '10015', 'Bad Request', (error as Error).message);
    }
    Object.assign(state, given, { privateKey });
    return overview();
  }

  return [
    { at: 'GET /sim', op: 'sim.read', handle: overview },
    { at: 'POST /sim/speed', op: 'sim.speed', handle: setSpeed },
    {
      at: 'POST /sim/advance',
      op: 'sim.advance',
      handle: ({ body }) => {
        deps.jobs().advance(Number(body.ms) || 0);
        return overview();
      },
    },
    { at: 'POST /sim/settings', op: 'sim.settings', handle: settings },
    {
      at: 'POST /sim/handsets',
      op: 'sim.addHandset',
      handle: ({ body }) => ({
        status: 201,
        body: { handset: handsets.add(text(body, 'name'), optional(body, 'e164')) },
      }),
    },
    {
      at: 'POST /sim/handsets/:e164/text',
      op: 'sim.text',
      handle: ({ params, body }) => {
        const from = handsets.find(params.e164 as string).e164;
        inbound.text({ from, to: text(body, 'to'), text: text(body, 'text'), media: body.media === true });
        return overview();
      },
    },
    {
      at: 'POST /sim/handsets/:e164/call',
      op: 'sim.call',
      handle: ({ params, body }) => {
        legs.call(handsets.find(params.e164 as string).e164, text(body, 'to'));
        return overview();
      },
    },
    {
      at: 'POST /sim/handsets/:e164/calls/:call',
      op: 'sim.answer',
      handle: ({ params, body }) => {
        const action = text(body, 'action');
        if (!isHandsetAction(action)) throw unknown('action', action, handsetActions);
        legs.handset(params.e164 as string, params.call as string, action, optional(body, 'digits'));
        return overview();
      },
    },
    {
      at: 'POST /sim/ports/:order',
      op: 'sim.settlePort',
      handle: ({ params, body }) => {
        const answer = text(body, 'answer');
        if (answer !== 'wrong_pin' && answer !== 'next') throw unknown('answer', answer, ['wrong_pin', 'next']);
        ports.settle(params.order as string, answer);
        return overview();
      },
    },
    {
      at: 'POST /sim/text',
      op: 'sim.textFrom',
      handle: ({ body }) =>
        ok({ id: inbound.text({ from: text(body, 'from'), to: text(body, 'to'), text: text(body, 'text') }) }),
    },
    {
      at: 'GET /sim/faults',
      op: 'sim.faults',
      handle: () => ok({ known: faultNames, planted: state.faults }),
    },
    { at: 'POST /sim/faults', op: 'sim.plant', handle: fault },
    {
      at: 'DELETE /sim/faults',
      op: 'sim.forgetFaults',
      handle: () => {
        state.faults = [];
        return { status: 204, body: undefined };
      },
    },
    { at: 'GET /sim/charges', op: 'sim.charges', handle: () => ok({ charges: state.charges }) },
    { at: 'GET /sim/log', op: 'sim.log', handle: () => ok({ log: state.log }) },
    { at: 'GET /sim/postings', op: 'sim.postings', handle: () => ok({ postings: state.postings }) },
    {
      at: 'POST /sim/postings/:id/again',
      op: 'sim.again',
      handle: ({ params }) => {
        if (!postings.again(params.id as string))
          throw refused(404, '10005', 'Resource not found', `There is no posting ${params.id}.`);
        return { status: 202, body: { ok: true } };
      },
    },
    { at: 'GET /sim/state', op: 'sim.export', handle: () => ok(withoutKey(state)) },
    { at: 'PUT /sim/state', op: 'sim.import', handle: importState },
  ];
}

/** The key signs as the carrier, so it is never sent out. */
function withoutKey(state: State): Json {
  const { privateKey: _, ...rest } = state;
  return rest;
}

function isSpeed(value: string): value is Speed {
  return (speeds as readonly string[]).includes(value);
}

const handsetActions: readonly HandsetAction[] = ['answer', 'reject', 'busy', 'voicemail', 'hangup', 'press'];

function isHandsetAction(value: string): value is HandsetAction {
  return (handsetActions as readonly string[]).includes(value);
}

function text(body: Json, name: string): string {
  const value = optional(body, name);
  if (value === undefined || value === '')
    throw refused(400, '10004', 'Missing required parameter', `${name} is missing.`, { pointer: `/${name}` });
  return value;
}

function unknown(what: string, given: string, known: readonly string[]) {
  return refused(400, '10015', 'Bad Request', `${what} ${given} is none of ${known.join(', ')}.`);
}
