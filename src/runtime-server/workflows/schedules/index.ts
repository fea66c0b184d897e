/** Schedules: templates at given times. Exports `createSchedules`; must not know nodes or bots beyond who may create one. */

import { AppError } from '../../../contracts/common/errors.ts';
import type {
  Occurrence,
  Schedule,
  ScheduleChange,
  ScheduledRun,
} from '../../../contracts/factory/schedules-routes.ts';
import * as table from '../../../contracts/factory/schedules-routes.ts';
import { iso } from '../../../kit/clock/clock.ts';
import { surfaceOf } from '../../../kit/http/principals.ts';
import { type BoundRoute, bind, type OwnerLookups, type Principal } from '../../../kit/http/types.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { Actor } from '../../base/actor.ts';
import type { Base } from '../../base/base.ts';
import { decodeCursor, defaultLimit, encodeCursor, idCursor, page } from '../../base/paging.ts';
import { createKeeper, type KeeperDeps } from './keeper.ts';
import {
  countMissed,
  type OccurrenceRecord,
  occurrencesOf,
  readOccurrence,
  readSchedule,
  readSchedules,
  removeSchedule,
  type ScheduleRecord,
  saveSchedule,
} from './store.ts';
import { checkWhen, nextDue, nextTimes, type When } from './times.ts';

export { scheduleMigrations } from './migrations.ts';

const maxSchedules = 100;
const shownTimes = 5;

export interface SchedulesDeps extends Pick<Base, 'ledger' | 'ids'>, KeeperDeps {
  /** Whether a rule of the policy lets this bot make schedules. */
  mayBot(agentId: string): boolean;
  /** Of this computer. */
  readonly timezone: string;
}

export interface Schedules {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  /** After runs were restored. */
  start(): Promise<void>;
  close(): Promise<void>;
}

type Read = Pick<Tx, 'get' | 'all'>;

export function createSchedules(deps: SchedulesDeps): Schedules {
  const { store, clock, workspace } = deps;
  const keeper = createKeeper(deps);
  const find = (id: string) => store.read((tx) => readSchedule(tx, workspace, id));
  const mustFind = async (id: string) => (await find(id)) as ScheduleRecord;

  function wire(tx: Read, one: ScheduleRecord): Schedule {
    const [last] = occurrencesOf(tx, one.id, Number.MAX_SAFE_INTEGER, 1);
    const next =
      one.paused || one.nextDue === null ? [] : [one.nextDue, ...nextTimes(one, one.nextDue, shownTimes - 1)];
    return {
      id: one.id,
      title: one.title,
      run: one.run,
      cron: one.cron,
      at: one.at === null ? null : iso(one.at),
      timezone: one.timezone,
      paused: one.paused,
      runMissed: one.runMissed,
      next: next.map(iso),
      last: last === undefined ? null : wireOccurrence(last),
      missed: countMissed(tx, one.id),
      createdAt: iso(one.createdAt),
    };
  }

  /** The same code as of a start, so that what could not be started is refused now. */
  async function planOf(title: string, run: ScheduledRun, when: When, by: Actor) {
    checkWhen(when, clock.now());
    const answer = await deps.runs.start({ ...run, dryRun: true }, by);
    const nodes = 'dryRun' in answer ? answer.plan.nodes.map(({ title, executor }) => ({ title, executor })) : [];
    const next = nextTimes(when, clock.now(), shownTimes).map(iso);
    return { dryRun: true as const, plan: { title, timezone: when.timezone, next, nodes } };
  }

  function record(tx: Tx, type: string, by: Actor, one: ScheduleRecord): void {
    const { id, title, run, cron, at, timezone, paused, runMissed } = one;
    const body = { v: 1, id, title, template: run.template, cron, at, timezone, paused, runMissed };
    deps.ledger.append(tx, { type, subject: `schedule:${id}`, ...by, body });
  }

  function allowed(principal: Principal): void {
    if (principal.agentId === undefined || deps.mayBot(principal.agentId)) return;
    throw new AppError(
      'refused',
      'A bot may not create schedules.',
      'Ask your person, or have the policy allow the tool workflows.schedule.',
    );
  }

  async function create(body: table.ScheduleRequest, principal: Principal) {
    allowed(principal);
    const by = actorOf(principal);
    const { run, cron = null, timezone = deps.timezone, paused = false, runMissed = false } = body;
    const title = body.title ?? run.template;
    const when = { cron, at: body.at === undefined ? null : Date.parse(body.at), timezone };
    const plan = await planOf(title, run, when, by);
    if (body.dryRun === true) return { status: 200 as const, body: plan };
    const schedule = await store.write((tx) => {
      refuseFull(tx, workspace);
      const now = clock.now();
      const id = deps.ids.next('schedule');
      const one = { ...when, id, title, run, paused, runMissed, nextDue: nextDue(when, now), createdAt: now };
      saveSchedule(tx, workspace, one);
      record(tx, 'schedule.created', by, one);
      return wire(tx, one);
    });
    keeper.changed();
    return { status: 201 as const, body: schedule };
  }

  async function change(id: string, body: ScheduleChange, by: Actor) {
    const before = await mustFind(id);
    const when = whenOf(before, body);
    const timed = body.cron !== undefined || body.at !== undefined || body.timezone !== undefined;
    const next: ScheduleRecord = {
      ...before,
      ...when,
      title: body.title ?? before.title,
      run: body.run ?? before.run,
      paused: body.paused ?? before.paused,
      runMissed: body.runMissed ?? before.runMissed,
    };
    // A title, or a pause, of one whose template is gone for now can be changed all the same.
    if (timed || body.run !== undefined || body.dryRun === true) {
      const plan = await planOf(next.title, next.run, next, by);
      if (body.dryRun === true) return plan;
    }
    const schedule = await store.write((tx) => {
      const restarts = timed || (before.paused && !next.paused);
      // Times during a pause do not count as missed.
      const current = readSchedule(tx, workspace, id);
      if (current === null) {
        throw new AppError('not_found', `${before.title} was deleted in the meantime.`, 'Create a new schedule.');
      }
      const one = { ...next, nextDue: restarts ? nextDue(next, clock.now()) : current.nextDue };
      saveSchedule(tx, workspace, one);
      record(tx, 'schedule.changed', by, one);
      return wire(tx, one);
    });
    keeper.changed();
    return schedule;
  }

  const routes = [
    bind(table.listSchedules, async () => ({
      body: await store.read((tx) => ({ schedules: readSchedules(tx, workspace).map((one) => wire(tx, one)) })),
    })),
    bind(table.createSchedule, ({ body, principal }) => create(body, principal)),
    bind(table.changeSchedule, async ({ params, body, principal }) => ({
      body: await change(params.id, body, actorOf(principal)),
    })),
    bind(table.removeSchedule, async ({ params, query, principal }) => {
      const one = await mustFind(params.id);
      if (query.dryRun === true) {
        const removes = await store.read((tx) => wire(tx, one));
        return { body: { dryRun: true as const, plan: { removes } } };
      }
      const removed = await store.write((tx) => {
        const shown = wire(tx, one);
        removeSchedule(tx, one.id);
        record(tx, 'schedule.removed', actorOf(principal), one);
        return shown;
      });
      return { body: { removed } };
    }),
    bind(table.listOccurrences, async ({ params, query }) => {
      const limit = query.limit ?? defaultLimit;
      const before = Number(decodeCursor(query.cursor, idCursor) ?? Number.MAX_SAFE_INTEGER);
      const rows = await store.read((tx) => occurrencesOf(tx, params.id, before, limit + 1));
      const { shown, nextCursor } = page(rows, limit, (last) => encodeCursor(String(last.due)));
      return { body: { occurrences: shown.map(wireOccurrence), nextCursor } };
    }),
    bind(table.runSchedule, async ({ params, body, principal }) => {
      const one = await mustFind(params.id);
      const due = body.due === undefined ? null : Date.parse(body.due);
      if (due !== null && (await store.read((tx) => readOccurrence(tx, one.id, due))) === null) {
        throw new AppError('not_found', `${one.title} was not due at ${body.due}.`, 'Check its times first.');
      }
      return { body: await keeper.runNow(one, due, actorOf(principal)) };
    }),
  ];

  return {
    routes,
    owners: { schedule: async (_, id) => (await find(id)) !== null },
    start: keeper.start,
    close: keeper.close,
  };
}

function whenOf(before: When, { cron, at, timezone = before.timezone }: ScheduleChange): When {
  if (cron !== undefined) return { cron, at: null, timezone };
  if (at !== undefined) return { cron: null, at: Date.parse(at), timezone };
  return { cron: before.cron, at: before.at, timezone };
}

function refuseFull(tx: Read, workspace: string): void {
  if (readSchedules(tx, workspace).length < maxSchedules) return;
  throw new AppError('refused', `There are already ${maxSchedules} schedules.`, 'Delete one first.', {
    status: 409,
  });
}

function wireOccurrence({ due, state, dagId, reason, at }: OccurrenceRecord): Occurrence {
  return { due: iso(due), state, dagId, reason, at: iso(at) };
}

function actorOf(principal: Principal): Actor {
  return { actor: principal.agentId ?? principal.userId, surface: surfaceOf(principal) };
}
