/** The demo phone: the simulated carrier's handsets and its speed. Exists only while the simulator runs. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';
import { E164 } from './values.ts';

const base = '/api/v1/phone/demo';
const demo = {
  area: 'phone',
  errors: 'plain',
  auth: ['owner'],
  scope: null,
  owner: { none: 'the simulated carrier belongs to this computer' },
} as const;

export const demoSpeeds = ['instant', 'realistic', 'paused'] as const;

export const HandsetText = z.strictObject({
  id: z.string(),
  direction: z.enum(['in', 'out']).meta({ description: 'From the handset’s point of view.' }),
  with: z.string(),
  text: z.string(),
  parts: z.number().int(),
  status: z.string(),
  at: Time,
});

export const HandsetCall = z.strictObject({
  id: z.string(),
  with: z.string(),
  direction: z.enum(['in', 'out']),
  state: z.enum(['ringing', 'talking', 'held', 'ended']),
  heard: z.array(z.string()).meta({ description: 'What the caller said.' }),
  endedBecause: z.string().nullable(),
  at: Time,
});

export const Handset = z
  .strictObject({
    e164: E164,
    name: z.string(),
    texts: z.array(HandsetText),
    calls: z.array(HandsetCall),
  })
  .meta({ id: 'DemoHandset' });
export type Handset = z.infer<typeof Handset>;

export const DemoPhone = z
  .strictObject({
    speed: z.enum(demoSpeeds),
    handsets: z.array(Handset),
    waiting: z.array(z.strictObject({ id: z.string(), what: z.string(), dueAt: Time.nullable() })).meta({
      description: 'What the simulated carrier will do next; paused, it waits for a step.',
    }),
    endings: z.array(z.strictObject({ suffix: z.string(), what: z.string() })).meta({
      description: 'Last digits of test numbers.',
    }),
  })
  .meta({ id: 'DemoPhone' });
export type DemoPhone = z.infer<typeof DemoPhone>;

export const getDemoPhone = defineRoute({
  ...demo,
  op: 'getDemoPhone',
  summary: 'Lists the handsets of the demo and what the simulated carrier does next. 404 without the demo phone',
  method: 'GET',
  path: base,
  answers: { 200: DemoPhone },
});

export const setDemoSpeed = defineRoute({
  ...demo,
  op: 'setDemoSpeed',
  summary: 'Sets the speed of the simulated carrier; with step, it does the next thing now',
  method: 'POST',
  path: `${base}/speed`,
  body: z.strictObject({ speed: z.enum(demoSpeeds).optional(), step: z.literal(true).optional() }),
  answers: { 200: DemoPhone },
});

export const addHandset = defineRoute({
  ...demo,
  op: 'addDemoHandset',
  summary: 'Adds a handset',
  method: 'POST',
  path: `${base}/handsets`,
  body: z.strictObject({ e164: E164.optional(), name: z.string().min(1).max(60) }),
  answers: { 201: z.strictObject({ handset: Handset }) },
});

const ofHandset = { ...demo, params: z.strictObject({ e164: E164 }), answers: { 200: DemoPhone } } as const;

export const textFromHandset = defineRoute({
  ...ofHandset,
  op: 'textFromDemoHandset',
  summary: 'Sends a text from a handset to a number',
  method: 'POST',
  path: `${base}/handsets/:e164/text`,
  body: z.strictObject({ to: E164, text: z.string().min(1).max(1600), media: z.boolean().optional() }),
});

export const callFromHandset = defineRoute({
  ...ofHandset,
  op: 'callFromDemoHandset',
  summary: 'Calls a number from a handset',
  method: 'POST',
  path: `${base}/handsets/:e164/call`,
  body: z.strictObject({ to: E164 }),
});

export const answerOnHandset = defineRoute({
  ...ofHandset,
  op: 'answerOnDemoHandset',
  summary: 'Controls a call at a handset',
  method: 'POST',
  path: `${base}/handsets/:e164/calls/:call`,
  params: z.strictObject({ e164: E164, call: Id }),
  body: z.strictObject({
    action: z.enum(['answer', 'reject', 'busy', 'voicemail', 'hangup', 'press']),
    digits: z.string().max(8).optional().meta({ description: 'Keys to press: 1 accepts a transfer, 2 declines it.' }),
  }),
});

export const demoPorts = defineRoute({
  ...demo,
  op: 'settleDemoPort',
  summary: 'Answers a port as the previous carrier: refuses its PIN, or continues',
  method: 'POST',
  path: `${base}/ports/:orderId`,
  params: z.strictObject({ orderId: Id }),
  body: z.strictObject({ answer: z.enum(['wrong_pin', 'next']) }),
  answers: { 200: DemoPhone },
});

export const demoRoutes = [
  getDemoPhone,
  setDemoSpeed,
  addHandset,
  textFromHandset,
  callFromHandset,
  answerOnHandset,
  demoPorts,
] as const;
