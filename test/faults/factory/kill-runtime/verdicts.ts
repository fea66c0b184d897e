/** What is wrong when everything has come to rest. Each answers sentences; none is the goal. */
import { setTimeout as delay } from 'node:timers/promises';
import { runtimeMigrations } from '../../../../src/host/runtime-migrations.ts';
import { systemClock } from '../../../../src/kit/clock/clock.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../../src/kit/ledger/create-ledger.ts';
import { openStore } from '../../../../src/kit/store/open-store.ts';
import type { Caller } from '../../../support/bench/http.ts';
import { type Delivery, token, tokensIn, type Witnessed } from './record.ts';

const onTheirWay = ['accepted', 'queued'];
const settleMs = 60_000;

/** All deliveries by id, over all pages. */
export async function allDeliveries(caller: Caller): Promise<{ list: Delivery[]; byId: Map<string, Delivery> }> {
  const list: Delivery[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { deliveries: Delivery[]; nextCursor: string | null } = await caller.call(
      'GET',
      `/api/factory/deliveries?limit=200${query}`,
    );
    list.push(...page.deliveries);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return { list, byId: new Map(list.map((delivery) => [delivery.id, delivery])) };
}

/** Waits until no delivery is on its way any more. */
export async function settledDeliveries(caller: Caller): Promise<Map<string, Delivery>> {
  const end = performance.now() + settleMs;
  let waiting: Delivery[] = [];
  while (performance.now() < end) {
    const { byId } = await allDeliveries(caller);
    waiting = [...byId.values()].filter(({ state }) => onTheirWay.includes(state));
    if (waiting.length === 0) return byId;
    await delay(500);
  }
  const agents = await caller.call('GET', '/api/factory/agents');
  throw new Error(
    `${waiting.length} deliveries were still on their way after ${settleMs / 1000} s: ${JSON.stringify({ first: waiting.at(-1), agents })}`,
  );
}

/** Acknowledged deliveries that are not there, and ids or keys that are there twice. */
export async function lostDeliveries(caller: Caller, record: Witnessed): Promise<string[]> {
  const { list, byId } = await allDeliveries(caller);
  const problems = [...record.acknowledged]
    .filter(([, id]) => !byId.has(id))
    .map(([number, id]) => `delivery ${id} of message ${number} was acknowledged and is gone`);
  if (list.length !== byId.size) problems.push(`${list.length - byId.size} deliveries are listed twice`);
  if (new Set(record.acknowledged.values()).size !== record.acknowledged.size) {
    problems.push('one delivery answers two messages');
  }
  if (byId.size > record.messages) problems.push(`${byId.size} deliveries of ${record.messages} messages`);
  return problems;
}

/** The bot's own file: a verified message once, any other at most once. */
export function messageProblems(text: string, record: Witnessed, deliveries: ReadonlyMap<string, Delivery>): string[] {
  const counts = new Map<number, number>();
  for (const number of tokensIn('m', text)) counts.set(number, (counts.get(number) ?? 0) + 1);
  return [...record.acknowledged].flatMap(([number, id]) => {
    const count = counts.get(number) ?? 0;
    const state = deliveries.get(id)?.state;
    if (count > 1) return [`message ${number} (${state}) reached the bot ${count} times`];
    return state === 'verified' && count === 0 ? [`message ${number} is verified and never reached the bot`] : [];
  });
}

/** What was typed, where it arrived: everything answered once, nothing twice, in order. */
export function typedProblems(where: string, text: string, record: Witnessed): string[] {
  const found = tokensIn('k', text);
  const seen = new Set(found);
  const problems = [...record.typed]
    .filter((number) => !seen.has(number))
    .map((number) => `${where}: ${token('k', number)} was acknowledged and is missing`);
  if (seen.size !== found.length) problems.push(`${where}: ${found.length - seen.size} inputs are there twice`);
  const disorder = found.find((number, index) => index > 0 && number < (found[index - 1] as number));
  if (disorder !== undefined) problems.push(`${where}: ${token('k', disorder)} stands after a later one`);
  return problems;
}

/** The followed stream against one whole replay. */
export async function eventProblems(caller: Caller, followed: readonly string[]): Promise<string[]> {
  const replay = await replayAll(caller, followed.at(-1) ?? '0');
  const seen = new Set(followed);
  const problems = replay.filter((id) => !seen.has(id)).map((id) => `event stream: ${id} is missing`);
  if (seen.size !== followed.length) problems.push(`event stream: ${followed.length - seen.size} events came twice`);
  const disorder = followed.find((id, index) => index > 0 && Number(id) <= Number(followed[index - 1]));
  if (disorder !== undefined) problems.push(`event stream: ${disorder} came after a later one`);
  return problems;
}

/** Every event id up to `last`, read in one uncut stream. */
function replayAll(caller: Caller, last: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const ids: string[] = [];
    const opening = caller.events('/api/factory/events?after=0', ({ id }) => {
      if (id === null || Number(id) > Number(last)) return;
      ids.push(id);
      if (id === last) opening.then((stream) => stream.close()).then(() => resolve(ids), reject);
    });
    opening.catch(reject);
  });
}

/** The chain itself, and a row for every acknowledged delivery. The servers have ended. */
export async function ledgerProblems(file: string, record: Witnessed): Promise<string[]> {
  const clock = systemClock;
  const store = await openStore({ file, migrations: runtimeMigrations, clock });
  try {
    const ledger = await createLedger({ store, clock, ids: createIds(clock) });
    const verdict = await ledger.verify();
    const subjects = await store.read((tx) => tx.all<{ subject: string }>('SELECT DISTINCT subject FROM ledger'));
    const known = new Set(subjects.map(({ subject }) => subject));
    const missing = [...record.acknowledged.values()].filter((id) => !known.has(`delivery:${id}`));
    return [
      ...(verdict.ok ? [] : [`ledger: ${verdict.fact}`]),
      ...missing.map((id) => `ledger: nothing about the acknowledged delivery ${id}`),
    ];
  } finally {
    await store.close();
  }
}
