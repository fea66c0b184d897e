/** Handsets of the people who text and call: their screens. Must not know what reaches them and why. */
import type { DemoPhone, Handset } from '../../src/contracts/phone/demo.ts';
import { iso } from '../../src/kit/clock/clock.ts';
import { endings } from './endings.ts';
import { refused } from './refusal.ts';
import type { SimLeg, SimText, State } from './state.ts';
import type { World } from './world.ts';

const shownTexts = 100;
const shownCalls = 20;
const shownJobs = 50;
const arrived = new Set(['delivered', 'delivery_unconfirmed', 'received']);

export interface Handsets {
  all(): Handset[];
  find(e164: string): Handset;
  add(name: string, e164?: string): Handset;
  overview(): DemoPhone;
}

export function createHandsets(world: World): Handsets {
  const { state } = world;

  function show(e164: string, name: string): Handset {
    const texts = state.texts.filter((text) => text.from === e164 || (text.to === e164 && arrived.has(text.status)));
    const legs = Object.values(state.legs).filter((leg) => leg.from === e164 || leg.to === e164);
    return {
      e164,
      name,
      texts: texts.slice(-shownTexts).map((text) => shownText(text, e164)),
      calls: legs.slice(-shownCalls).map((leg) => shownCall(leg, e164)),
    };
  }

  function all(): Handset[] {
    return state.handsets.map(({ e164, name }) => show(e164, name));
  }

  function find(e164: string): Handset {
    const found = state.handsets.find((one) => one.e164 === e164);
    if (found === undefined) throw refused(404, '10005', 'Resource not found', `There is no handset ${e164}.`);
    return show(found.e164, found.name);
  }

  return {
    all,
    find,
    add(name, asked) {
      const e164 = asked ?? freeNumber(state);
      if (state.handsets.some((one) => one.e164 === e164))
        throw refused(409, '10036', 'Conflict', `The handset ${e164} already exists.`);
      state.handsets.push({ e164, name });
      return show(e164, name);
    },
    overview() {
      const waiting = [...state.jobs].sort((a, b) => a.dueAt - b.dueAt).slice(0, shownJobs);
      const dueAt = (due: number) => (state.frozenAt === null ? iso(due - state.ahead) : null);
      return {
        speed: state.speed,
        handsets: all(),
        waiting: waiting.map((job) => ({ id: job.id, what: job.what, dueAt: dueAt(job.dueAt) })),
        endings: endings.map(({ suffix, what }) => ({ suffix, what })),
      };
    },
  };
}

/** A new handset for a recipient without one, so that a person sees what happens. */
export function handsetFor(state: State, e164: string): void {
  if (state.handsets.some((one) => one.e164 === e164)) return;
  state.handsets.push({ e164, name: e164 });
}

/** A free number of 555-0105 to 555-0199, whose endings have no special meaning. */
function freeNumber(state: State): string {
  for (let last = 105; last < 200; last += 1) {
    const e164 = `+12025550${last}`;
    const taken =
      state.handsets.some((one) => one.e164 === e164) ||
      Object.values(state.numbers).some((one) => one.e164 === e164) ||
      endings.some(({ suffix }) => e164.endsWith(suffix));
    if (!taken) return e164;
  }
  throw refused(409, '10036', 'Conflict', 'No number is free for another handset.');
}

function shownText(text: SimText, e164: string): Handset['texts'][number] {
  const incoming = text.to === e164;
  return {
    id: text.id,
    direction: incoming ? 'in' : 'out',
    with: incoming ? text.from : text.to,
    text: text.text,
    parts: text.parts,
    status: text.status,
    at: text.at,
  };
}

function shownCall(leg: SimLeg, e164: string): Handset['calls'][number] {
  const incoming = leg.to === e164;
  return {
    id: leg.id,
    with: incoming ? leg.from : leg.to,
    direction: incoming ? 'in' : 'out',
    state: leg.state,
    heard: [...leg.heard],
    endedBecause: leg.cause,
    at: leg.startedAt,
  };
}
