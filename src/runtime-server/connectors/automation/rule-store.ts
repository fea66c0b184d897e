/** SQL of rules. Each call is one step of an operation and decides nothing. */
import type { Rule, RuleConfig } from '../../../contracts/connectors/rule.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Tx } from '../../../kit/store/store.ts';

type Read = Pick<Tx, 'get' | 'all'>;

interface RuleRow {
  id: string;
  subscription_id: string;
  version: number;
  config: string;
  created_at: number;
  updated_at: number;
}

const toRule = (row: RuleRow): Rule => ({
  ...(JSON.parse(row.config) as RuleConfig),
  id: row.id,
  subscriptionId: row.subscription_id,
  version: row.version,
  createdAt: iso(row.created_at),
  updatedAt: iso(row.updated_at),
});

export function configOfRule({
  id: _,
  subscriptionId: _s,
  version: _v,
  createdAt: _c,
  updatedAt: _u,
  ...config
}: Rule): RuleConfig {
  return config;
}

export function insertRule(tx: Tx, rule: { id: string; subscriptionId: string; config: RuleConfig; at: number }): void {
  tx.run(
    'INSERT INTO automation_rule (id, subscription_id, version, config, created_at, updated_at) VALUES (?, ?, 1, ?, ?, ?)',
    rule.id,
    rule.subscriptionId,
    JSON.stringify(rule.config),
    rule.at,
    rule.at,
  );
}

export function updateRule(tx: Tx, id: string, config: RuleConfig, at: number): void {
  const sql = 'UPDATE automation_rule SET config = ?, version = version + 1, updated_at = ? WHERE id = ?';
  tx.run(sql, JSON.stringify(config), at, id);
}

export function deleteRule(tx: Tx, id: string): void {
  tx.run('DELETE FROM automation_rule WHERE id = ?', id);
}

export function readRule(tx: Read, id: string): Rule | null {
  const row = tx.get<RuleRow>('SELECT * FROM automation_rule WHERE id = ?', id);
  return row === undefined ? null : toRule(row);
}

/** Oldest first. */
export function rulesOf(tx: Read, subscriptionId: string): Rule[] {
  const sql = 'SELECT * FROM automation_rule WHERE subscription_id = ? ORDER BY created_at, id';
  return tx.all<RuleRow>(sql, subscriptionId).map(toRule);
}
