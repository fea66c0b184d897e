/**
 * `phone.invariant`: random steps of people, owner, bots, carrier, webhooks, computers and time, checked against a model that knows every step but
 * nothing of the program. No text or call leaves between STOP and START; nothing is paid twice; every inbound text is stored once, reaches its bot or
 * is answered, and is pushed once.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { phoneCallMigrations } from '../../../src/cloud-api/phone/calls/index.ts';
import { phoneCarrierMigrations } from '../../../src/cloud-api/phone/carrier/migrations.ts';
import { phoneNumberMigrations } from '../../../src/cloud-api/phone/numbers/index.ts';
import type { CarrierEvent } from '../../../src/cloud-api/phone/ports.ts';
import { phoneTextMigrations } from '../../../src/cloud-api/phone/texts/index.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { openSharedStore } from '../../../src/kit/store/open-shared-store.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { createCallSteps } from './call-steps.ts';
import { createOracle, type Oracle } from './oracle.ts';
import { type Draw, drawFrom, type Saying, sayings } from './people.ts';
import { computers, openWorld, type World } from './world.ts';

export const figures: readonly Figure[] = [{ name: 'phone.invariant', run: measureInvariant }];

const steps = 50_000;
const quickSteps = 2_000;
const peers = Array.from({ length: 4 }, (_, index) => `+1202555017${index}`);
const migrations = [
  ...laneMigrations,
  ...phoneCarrierMigrations,
  ...phoneNumberMigrations,
  ...phoneTextMigrations,
  ...phoneCallMigrations,
];

const weights = {
  say: 20,
  webhook: 52,
  send: 22,
  both: 4,
  time: 4,
  computer: 2,
  owner: 0.6,
  move: 0.5,
  ask: 0.8,
  look: 0.2,
  restart: 0.2,
  release: 0.1,
  consent: 1,
  reference: 10,
  dial: 9,
  control: 4,
};

async function measureInvariant({ quick, log }: FigureOptions): Promise<Measured> {
  const seed = Number(process.env.GANTRY_SEED ?? 20_261_122);
  const n = quick ? quickSteps : steps;
  const { violations, counts } = await runSteps({ seed, n, log });
  for (const violation of violations.slice(0, 20)) log(violation);
  return {
    value: violations.length,
    unit: 'violations',
    n,
    at: 'texts and calls, STOP and START, owner, approvals, receipts, moves and releases over SQLite (FULL), one process, time by hand',
    detail: { seed, ...counts },
  };
}

/** For the figure, and for tests that break a rule to see that it is missed. */
export async function runSteps({ seed, n, log }: { seed: number; n: number; log: (text: string) => void }) {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-'));
  const clock = createTestClock();
  const draw = drawFrom(seed);
  const oracle = createOracle();
  const file = join(folder, 'cloud.db');
  const store = await openSharedStore({ databaseUrl: null, file, migrations, clock });
  try {
    const ids = createIds(clock);
    const world = await openWorld({ store, clock, ids, draw, oracle });
    const model = createModel(world, oracle, draw, clock);
    await model.begin();
    for (let step = 1; step <= n; step += 1) {
      await model.step();
      if (step % 5000 === 0) log(`${step} steps, ${oracle.violations.length} violations`);
    }
    const counts = await model.end();
    await world.close();
    return { violations: oracle.violations, counts };
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function createModel(world: World, oracle: Oracle, draw: Draw, clock: ReturnType<typeof createTestClock>) {
  const numbers: string[] = [];
  const e164Of = new Map<string, string>();
  const said = new Map<string, Saying>();
  const saidFor = new Map<string, string>();
  let texts = 0;
  let asks = 0;
  let bought = 0;

  async function buy(): Promise<void> {
    const e164 = `+1416555${String(100 + bought)}${bought % 3}`;
    bought += 1;
    const id = await world.addNumber(e164);
    numbers.push(id);
    e164Of.set(id, e164);
  }

  function say(numberId: string, from: string, saying: Saying): void {
    texts += 1;
    const carrierId = `in-${texts}`;
    const name = `${numberId}/${from}`;
    if (saying.known && saying.means !== 'plain' && saying.means !== 'code')
      world.carrier.keyword(name, from, saying.means, saying.text.toUpperCase());
    said.set(carrierId, saying);
    saidFor.set(carrierId, numberId);
    const payload = {
      id: carrierId,
      direction: 'inbound',
      from: { phone_number: from },
      to: [{ phone_number: e164Of.get(numberId) }],
      text: saying.text,
      media: [],
      parts: 1,
      received_at: new Date(clock.now()).toISOString(),
      ...(saying.known ? { autoresponse_type: saying.means.toUpperCase() } : {}),
    };
    world.post({ id: `event-${texts}`, type: 'message.received', occurredAt: clock.now(), payload, numberId });
  }

  /** Any of what waits; now and then it stays, to come again. */
  function nextWebhook(): CarrierEvent | null {
    if (world.bag.length === 0) return null;
    const at = draw.below(world.bag.length);
    const event = world.bag[at] as CarrierEvent;
    if (!draw.chance(0.08)) world.bag.splice(at, 1);
    return { ...event, receivedAt: clock.now() };
  }

  async function webhook(): Promise<void> {
    const event = nextWebhook();
    if (event === null) return;
    const name = pairIn(event);
    if (name !== null) oracle.flux.add(name);
    await Promise.all([world.take(event), settled(event)]);
    await world.quiet();
    oracle.flux.clear();
  }

  const pairIn = (event: CarrierEvent): string | null => {
    if (event.type !== 'message.received') return null;
    return `${event.numberId}/${(event.payload.from as { phone_number: string }).phone_number}`;
  };

  /** What the model makes of it, the first time that it comes. */
  async function settled(event: CarrierEvent): Promise<void> {
    const name = pairIn(event);
    const carrierId = String(event.payload.id);
    if (name === null || oracle.inbound.has(carrierId)) return;
    const numberId = saidFor.get(carrierId) as string;
    const saying = said.get(carrierId) as Saying;
    if (oracle.released.has(numberId)) return;
    const number = await world.rows.numbers.find(numberId);
    if (number === null) return;
    oracle.inbound.set(carrierId, {
      pair: name,
      botId: number.botId,
      computerId: number.runtimeId,
      forBot: saying.means === 'code' ? null : saying.means === 'plain',
    });
    oracle.texted(name);
    const at = Math.min(Date.parse(String(event.payload.received_at)), event.receivedAt);
    if (saying.means === 'stop' || saying.means === 'start') oracle.said(name, saying.means, at, !saying.known);
  }

  async function send(numberId: string, to: string): Promise<void> {
    const name = `${numberId}/${to}`;
    const before = oracle.isOut(name);
    const texted = oracle.hasTexted(name);
    const computerId = draw.chance(0.5) ? draw.one(computers) : undefined;
    const answer = await world.send(numberId, to, `reply ${draw.below(1000)}`, computerId);
    if (oracle.flux.has(name)) return;
    const isGone = oracle.released.has(numberId);
    if (answer === 'ok' && (before || !texted || isGone))
      oracle.fail(`A text to ${name} was taken, who is out, never wrote, or has no number.`);
    if (answer === 'recipient_opted_out' && !before && !oracle.isOut(name))
      oracle.fail(`A text to ${name} was refused, who is not out.`);
    if (answer === 'no_consent' && texted) oracle.fail(`A text to ${name} was refused, who wrote first.`);
  }

  const pair = () => ({ numberId: draw.one(numbers), peer: draw.one(peers) });

  const calls = createCallSteps({ world, oracle, draw, clock, pair, isOwn: (peer) => peer === peers[0] });

  const actions: Readonly<Record<keyof typeof weights, () => Promise<unknown>>> = {
    async say() {
      const { numberId, peer } = pair();
      say(numberId, peer, draw.one(sayings));
    },
    webhook,
    async send() {
      const { numberId, peer } = pair();
      await send(numberId, peer);
    },
    /** A webhook while somebody sends. */
    async both() {
      const event = nextWebhook();
      if (event === null) return;
      const name = pairIn(event);
      const { numberId, peer } = pair();
      const [at, to] = name === null ? [numberId, peer] : (name.split('/') as [string, string]);
      oracle.flux.add(`${at}/${to}`);
      await Promise.all([world.take(event), settled(event), send(at, to)]);
      await world.quiet();
      oracle.flux.clear();
    },
    async time() {
      if (draw.chance(0.01)) {
        // Only the wall clock jumps, as on a machine that was put to sleep.
        clock.jump(25 * 3_600_000);
        world.hurry();
        return;
      }
      await clock.advance(draw.one([50, 3_000, 40_000, 130_000, 600_000]));
    },
    async computer() {
      const id = draw.one(computers);
      if (world.linked.delete(id)) return;
      world.linked.add(id);
      world.wake(id);
    },
    async owner() {
      const { numberId, peer } = pair();
      oracle.said(`${numberId}/${peer}`, 'stop', clock.now(), false);
      await world.ask('addPhoneOptOut', { params: { id: numberId }, body: { e164: peer, evidence: 'They called.' } });
    },
    async move() {
      const to = { runtimeId: draw.one(computers), botId: draw.one(['bot_1', 'bot_2']), botName: null };
      await world.store.write((tx) => world.rows.assign(tx, draw.one(numbers), to));
    },
    async ask() {
      asks += 1;
      await world.request(`approval_${asks}`);
    },
    async look() {
      for (const numberId of numbers) {
        for (const peer of peers) {
          const name = `${numberId}/${peer}`;
          const listed = world.carrier.blocks(name);
          if (listed !== null) oracle.listed(name, listed.at);
        }
      }
      await world.look();
    },
    consent: () => calls.consent(),
    reference: () => calls.reference(),
    dial: () => calls.dial(),
    control: () => calls.control(),
    restart: () => world.restart(),
    async release() {
      const numberId = numbers.shift() as string;
      await world.release(numberId);
      oracle.released.add(numberId);
      await buy();
      if (numberId === ownNumber) await nameOwnPhone();
    },
  };

  let ownNumber = '';

  /** One of the people is the owner; their phone is asked, until it says STOP. */
  async function nameOwnPhone(): Promise<void> {
    ownNumber = numbers[0] as string;
    const own = (await world.ask('putOwnPhone', { body: { e164: peers[0], numberId: ownNumber } })) as { code: string };
    say(ownNumber, peers[0] as string, { text: own.code, means: 'code', known: false });
  }

  return {
    async begin() {
      for (let count = 0; count < 3; count += 1) await buy();
      await nameOwnPhone();
    },
    async step() {
      await actions[draw.weighted(weights)]();
      await world.quiet();
    },
    async end() {
      world.heal();
      for (const id of computers) world.wake(id);
      while (world.bag.length > 0) await webhook();
      for (let hour = 0; hour < 6; hour += 1) {
        await clock.advance(3_600_000);
        world.hurry();
        await world.quiet();
      }
      while (world.bag.length > 0) await webhook();
      return judge();
    },
  };

  async function judge(): Promise<Record<string, number>> {
    const rows = await world.store.all<Kept>(
      `SELECT id, direction, status, reason, carrier_key AS "carrierKey", relayed_at AS "relayedAt", bot_id AS "botId" FROM phone_text`,
    );
    const came = new Map<string, Kept[]>();
    for (const row of rows)
      if (row.direction === 'in') came.set(row.carrierKey ?? '', [...(came.get(row.carrierKey ?? '') ?? []), row]);
    for (const [carrierId, fact] of oracle.inbound) {
      const kept = came.get(`in:${carrierId}`) ?? [];
      if (kept.length !== 1) oracle.fail(`${carrierId} is there ${kept.length} times.`);
      const row = kept[0];
      if (row === undefined) continue;
      const brought = world.delivered.get(row.id) ?? [];
      if (fact.forBot === true && brought.length === 0 && row.reason === null)
        oracle.fail(`${carrierId} never reached its bot.`);
      if (fact.forBot === false && brought.length > 0) oracle.fail(`${carrierId} is a keyword, and reached a bot.`);
      if (brought.some(({ botId, computerId }) => botId !== fact.botId || computerId !== fact.computerId)) {
        oracle.fail(`${carrierId} reached a bot that had not the number when it came.`);
      }
      const pushes = world.pushed.get(row.id) ?? 0;
      if (pushes !== (row.relayedAt === null ? 0 : 1)) oracle.fail(`${carrierId} was pushed ${pushes} times.`);
    }
    if (came.size !== oracle.inbound.size) oracle.fail(`${came.size} texts are there, ${oracle.inbound.size} came.`);
    for (const row of rows) if (row.direction === 'out') judgeSent(row);
    return {
      in: came.size,
      out: rows.length - came.size,
      paid: oracle.paid.size,
      events: world.counts().events,
      ...calls.counts(),
    };
  }

  function judgeSent({ id, status }: Kept): void {
    const isPaid = oracle.paid.has(id);
    if (status === 'queued' || status === 'sending') oracle.fail(`${id} is ${status} for ever.`);
    if (isPaid && status === 'cancelled') oracle.fail(`${id} was sent, and counts as cancelled.`);
    if (!isPaid && (status === 'sent' || status === 'delivered'))
      oracle.fail(`${id} counts as ${status}, and was never sent.`);
  }
}

interface Kept {
  readonly id: string;
  readonly direction: 'in' | 'out';
  readonly status: string;
  readonly reason: string | null;
  readonly carrierKey: string | null;
  readonly relayedAt: number | null;
  readonly botId: string | null;
}
