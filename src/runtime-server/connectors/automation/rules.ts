/**
 * Rules of subscriptions: valid ones, their versions, which of them match an event, and what one would have made of past events. Must not know HTTP,
 * or how jobs run.
 */

import { AppError } from '../../../contracts/common/errors.ts';
import {
  type ChangeRule,
  type CreateRule,
  maxRules,
  type Rule,
  type RuleConfig,
  RuleMode as RuleModes,
  type RulePlan,
} from '../../../contracts/connectors/rule.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Ledger } from '../../../kit/ledger/ledger.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { Base } from '../../base/base.ts';
import { aboutOf } from '../about.ts';
import type { AutomationPort, ConnectorBots, ConnectorTickets, Schemas, SubscriptionRef } from '../ports.ts';
import { engine, type Jobs, type Mover } from './jobs.ts';
import { configOf, maxGathered, maxScanned, sameConfig } from './model.ts';
import { configOfRule, deleteRule, insertRule, readRule, rulesOf, updateRule } from './rule-store.ts';
import type { Read } from './store.ts';

type Port = Pick<AutomationPort, 'checkDefault' | 'saveDefault' | 'matching'>;

export interface Rules extends Port {
  list(tx: Read, subscriptionId: string): Rule[];
  create(subscription: SubscriptionRef, body: CreateRule, by: Mover): Promise<Rule | RulePlan>;
  change(subscription: SubscriptionRef, id: string, body: ChangeRule, by: Mover): Promise<Rule | RulePlan>;
  remove(subscription: SubscriptionRef, id: string, by: Mover): Promise<void>;
  find(tx: Read, subscriptionId: string, id: string): Rule;
  /** All rules of a subscription, with their waiting jobs. */
  removeAll(tx: Tx, subscriptionId: string): void;
}

const defaultId = (subscriptionId: string) => `${subscriptionId}:default`;

export function createRules(
  deps: Pick<Base, 'store' | 'clock' | 'ids'> & {
    readonly ledger: Pick<Ledger, 'append'>;
    readonly schemas: Pick<Schemas, 'check'>;
    readonly bots: Pick<ConnectorBots, 'find' | 'unenforceable'>;
    readonly tickets: Pick<ConnectorTickets, 'past'>;
    readonly jobs: Jobs;
    readonly log: { warn(message: string, facts?: Readonly<Record<string, unknown>>): void };
    moved(): void;
  },
): Rules {
  const { store, ledger, clock, jobs } = deps;

  function configFor(subscription: SubscriptionRef, { dryRun: _, ...automation }: CreateRule): RuleConfig {
    const mode = RuleModes.safeParse(subscription.executionMode);
    if (!mode.success && automation.executionMode === undefined) {
      throw new AppError(
        'usage',
        `A rule cannot bypass permissions, and the subscription’s mode is ${subscription.executionMode}.`,
        'Give the rule an executionMode: REQUIRE_APPROVAL, PLAN_ONLY or ACCEPT_EDITS.',
        { wireCode: 'bad_request' },
      );
    }
    return configOf(automation, automation.botId ?? subscription.botId, mode.success ? mode.data : null);
  }

  /** With the bot's id in it. Throws what speaks against it. */
  async function checked(config: RuleConfig): Promise<RuleConfig> {
    const bot = enforceable(config.botId);
    if (config.match !== null) {
      const { unusable, problem } = await deps.schemas.check(config.match, {});
      if (unusable) {
        throw new AppError(
          'usage',
          `The schema in match cannot be used: ${problem ?? 'it is not a schema'}`,
          'Fix it.',
          {
            wireCode: 'bad_request',
          },
        );
      }
    }
    return { ...config, botId: bot };
  }

  function enforceable(nameOrId: string): string {
    const bot = deps.bots.find(nameOrId);
    if (bot === null) {
      throw new AppError('not_found', `There is no bot ${nameOrId.slice(0, 200)}.`, 'Name a bot of this computer.', {
        wireCode: 'bot_not_found',
      });
    }
    const why = deps.bots.unenforceable(bot.id);
    if (why === null) return bot.id;
    throw new AppError(
      'refused',
      `${bot.name} cannot be run by a rule: ${why}`,
      'Choose a hosted bot, or one that runs Claude Code.',
      {
        status: 409,
        wireCode: 'bot_not_enforceable',
      },
    );
  }

  function refuseFull(tx: Read, subscriptionId: string): void {
    if (rulesOf(tx, subscriptionId).length < maxRules) return;
    throw new AppError('refused', `The subscription already has ${maxRules} rules.`, 'Remove one first.', {
      status: 409,
      wireCode: 'too_many_rules',
    });
  }

  const insert = (tx: Tx, subscriptionId: string, id: string, config: RuleConfig, by: Mover): Rule => {
    refuseFull(tx, subscriptionId);
    insertRule(tx, { id, subscriptionId, config, at: clock.now() });
    return saved(tx, id, by);
  };
  const update = (tx: Tx, rule: Rule, config: RuleConfig, by: Mover): Rule => {
    if (sameConfig(configOfRule(rule), config)) return rule;
    updateRule(tx, rule.id, config, clock.now());
    const now = saved(tx, rule.id, by);
    jobs.strengthen(tx, now, by);
    return now;
  };
  const saved = (tx: Tx, id: string, by: Mover): Rule => {
    const rule = readRule(tx, id) as Rule;
    const { version, subscriptionId, executionMode, botId } = rule;
    const body = { v: 1, id, version, subscriptionId, executionMode, botId };
    ledger.append(tx, { type: 'automation.rule.saved', ...by, subject: `automation-rule:${id}`, body });
    tx.afterCommit(deps.moved);
    return rule;
  };
  const drop = (tx: Tx, rule: Rule, by: Mover, why: string) => {
    jobs.cancelPending(tx, rule.id, by, why);
    deleteRule(tx, rule.id);
    const body = { v: 1, id: rule.id, subscriptionId: rule.subscriptionId };
    ledger.append(tx, { type: 'automation.rule.removed', ...by, subject: `automation-rule:${rule.id}`, body });
    tx.afterCommit(deps.moved);
  };

  const find: Rules['find'] = (tx, subscriptionId, id) => {
    const rule = readRule(tx, id);
    if (rule !== null && rule.subscriptionId === subscriptionId) return rule;
    throw new AppError('not_found', `There is no rule ${id}.`, 'List the rules of the subscription.', {
      wireCode: 'rule_not_found',
    });
  };

  async function plan(subscriptionId: string, ruleId: string | null, config: RuleConfig): Promise<RulePlan> {
    const [past, pending] = await store.read((tx) => [
      deps.tickets.past(tx, `${subscriptionId}/`, maxScanned),
      ruleId === null ? [] : jobs.weaker(tx, { id: ruleId, executionMode: config.executionMode }),
    ]);
    const matches = [];
    for (const { id, ref, data, at } of past) {
      if (!(await fits(config.match, data))) continue;
      const eventId = ref.slice(subscriptionId.length + 1);
      matches.push({ eventId, about: aboutOf(data), ticketId: id, receivedAt: iso(at), at });
    }
    return {
      dryRun: true,
      plan: {
        rule: config,
        looked: past.length,
        matches: matches.map(({ at: _, ...match }) => match),
        runs: runsOf(matches.map(({ at }) => at).toReversed(), config.batchSeconds),
        pending: pending.map(({ id }) => id),
      },
    };
  }

  async function fits(match: RuleConfig['match'], data: unknown): Promise<boolean> {
    return match === null || (await deps.schemas.check(match, data)).ok;
  }

  return {
    find,
    list: rulesOf,
    async create(subscription, body, by) {
      const config = await checked(configFor(subscription, body));
      if (body.dryRun === true) return plan(subscription.id, null, config);
      return store.write((tx) => insert(tx, subscription.id, deps.ids.next('rule'), config, by));
    },
    async change(subscription, id, { dryRun, ...change }, by) {
      const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
      const next = (rule: Rule): RuleConfig => ({ ...configOfRule(rule), ...given });
      const before = await store.read((tx) => find(tx, subscription.id, id));
      const { botId } = await checkedChange(next(before), before);
      if (dryRun === true) return plan(subscription.id, id, { ...next(before), botId });
      // Another change may have come between: the named fields change in the current rule.
      return store.write((tx) => {
        const rule = find(tx, subscription.id, id);
        return update(tx, rule, { ...next(rule), ...(change.botId !== undefined && { botId }) }, by);
      });
    },
    remove: (subscription, id, by) =>
      store.write((tx) => drop(tx, find(tx, subscription.id, id), by, 'Its rule was removed.')),
    removeAll(tx, subscriptionId) {
      for (const rule of rulesOf(tx, subscriptionId)) drop(tx, rule, engine, 'Its subscription has ended.');
    },
    async checkDefault(subscription, automation) {
      await checked(configFor(subscription, automation));
    },
    saveDefault(tx, subscription, automation) {
      const id = defaultId(subscription.id);
      const config = configFor(subscription, automation);
      const known = { ...config, botId: enforceable(config.botId) };
      const rule = readRule(tx, id);
      if (rule === null) insert(tx, subscription.id, id, known, engine);
      else update(tx, rule, known, engine);
    },
    async matching(subscriptionId, data) {
      const rules = await store.read((tx) => rulesOf(tx, subscriptionId));
      const wanted = await Promise.all(rules.map(async (rule) => ((await fits(rule.match, data)) ? rule.id : null)));
      return wanted.filter((id) => id !== null);
    },
  };

  /** A bot that has become unfit does not prevent pausing its rule. */
  function checkedChange(config: RuleConfig, before: Rule): Promise<RuleConfig> | RuleConfig {
    const onlyLess = config.botId === before.botId && config.paused;
    return onlyLess && sameMatch(config.match, before.match) ? config : checked(config);
  }
}

const sameMatch = (a: RuleConfig['match'], b: RuleConfig['match']) => JSON.stringify(a) === JSON.stringify(b);

/** `times` ascending, milliseconds: how many jobs they would have become. */
function runsOf(times: readonly number[], batchSeconds: number): number {
  if (batchSeconds === 0) return times.length;
  let runs = 0;
  let until = Number.NEGATIVE_INFINITY;
  let gathered = 0;
  for (const at of times) {
    if (at < until && gathered < maxGathered) {
      gathered += 1;
      continue;
    }
    runs += 1;
    gathered = 1;
    until = at + batchSeconds * 1000;
  }
  return runs;
}
