/**
 * Rows in every table of a cloud, by what its columns are: a few of one person, under ids that routes can be asked with, and very many of
 * somebody else, with some of a thousand others. What a table's checks ask for is said by column. For plans beside somebody else's rows.
 */
import type { SharedStore } from '../../src/kit/store/shared-store.ts';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
}

export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
}

/** What is never a person's: kept by the database, by the steps of the schema, or of the cloud itself. */
const ofNobody =
  /^(sqlite_|store_|schema_|row_check|work_|ticket_key|cloud_|price|push_key|hosted_pool|hosted_job|edge_position|daily)/;

/** The tables, as SQLite has them; PostgreSQL has the same. */
export async function tablesOf(store: SharedStore): Promise<Table[]> {
  const names = await store.all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
  const tables: Table[] = [];
  for (const { name } of names.filter((one) => !ofNobody.test(one.name))) {
    const columns = await store.all<Column>(`SELECT name, type, "notnull", pk FROM pragma_table_info('${name}')`);
    tables.push({ name, columns });
  }
  return tables;
}

type Values = Readonly<Record<string, string>>;

/** SQL of columns whose value a check or a query asks for. */
const said: Readonly<Record<string, Values>> = {
  api_key: { scopes: `'agents:read'` },
  edge_app: { scopes: `'agents:read'` },
  hosted_meter: { meter: `'computer_minute'` },
  hosted_settings: { approval_mode: `'owner'`, browser_toolset: '1' },
  approval: {
    state: "CASE WHEN n % 2 = 0 THEN 'pending' ELSE 'resolved' END",
    resolved_at: 'CASE WHEN n % 2 = 1 THEN 1 END',
    source: `'gate'`,
    risk: `'low'`,
    kind: `'tool'`,
    agent_id: `'bot'`,
  },
  computer: { token: `'token_' || n`, embedded: '0', is_default: '0' },
  connector_receipt: {
    kind: `'event'`,
    status: "CASE WHEN n % 2 = 0 THEN 'taken' ELSE 'waiting' END",
    said: `'{}'`,
  },
  edge_subscription: { gap: `'none'`, arguments: `'{}'`, url: `'https://app.example/'` },
  hosted_computer: {
    phase: "CASE WHEN n > 100 THEN 'deleted' ELSE 'sleeping' END",
    removed_at: 'CASE WHEN n > 100 THEN 1 END',
    metadata: `'{}'`,
    toolset: `'desktop'`,
    egress: `'public'`,
    sleep_keeps: `'memory'`,
  },
  hosted_approval: {
    risk: `'low'`,
    toolset: `'browser'`,
    state: "CASE WHEN n % 2 = 0 THEN 'pending' ELSE 'approved' END",
  },
  hosted_event: { data: `'{}'`, type: `'computer.created'` },
  lane_item: { sending: '0', interrupted: '0', body: `'{}'` },
  notification: { outcome: `'sent'`, read_at: 'CASE WHEN n % 2 = 0 THEN 1 END' },
  notification_preference: { enabled: '1' },
  notification_quiet: { timezone: `'UTC'`, questions: '1', digest: '1', held: '0' },
  pairing: { state: `'pending'` },
  phone_call: {
    direction: `'out'`,
    status: "CASE WHEN n > 20 THEN 'ended' ELSE 'active' END",
    ended_at: 'CASE WHEN n > 20 THEN 1 END',
    muted: '0',
  },
  phone_call_leg: { role: `'person'`, state: `'talking'` },
  phone_call_ref: { kind: `'call'` },
  phone_number: {
    type: `'local'`,
    origin: `'bought'`,
    phase: `'held'`,
    country: `'US'`,
    carrier: `'simulator'`,
    sms_state: `'active'`,
    voice_state: `'active'`,
    told: '0',
  },
  phone_opt_out: { action: `'stop'`, source: `'text'` },
  phone_registration: { stage: `'filed'`, kind: `'toll_free'`, form: `'{}'`, problems: `'[]'`, ended_at: '1' },
  phone_text: { direction: `'in'`, status: `'received'`, media: `'[]'` },
  push_message: { direct: '0' },
  sign_in: { kind: `'browser'` },
  account: { plan: `'free'` },
  user_event: {
    type: `'agent.run.completed'`,
    data: `'{"runId":"1","status":"done","title":"t","botId":"b","botName":"b"}'`,
  },
  usage_line: { kind: `'model'`, month: `'2026-01'` },
  usage_month: { month: `'2026-' || n` },
};

/** Columns that name a thing of another table, of which each person has one. */
const parents =
  /^(computer|number|registration|call|project|runtime|subscription|key|conversation|bot|device|client|connector)_id$/;
/** A tenth of very many are of a thousand people, as elsewhere. */
function someOf({ ids, many }: Whose, one: string): string {
  return many < 1_000 ? one : `CASE WHEN n % 10 = 0 THEN '${ids}_' || (n % 10000) ELSE ${one} END`;
}
/** Older than what is looked for as new, and not yet what is kept no longer. */
const recent = Date.now() - 5 * 24 * 60 * 60_000;

function sqlOf(table: Table, { name, type, notnull, pk }: Column, whose: Whose): string {
  const given = said[table.name]?.[name];
  if (given !== undefined) return given;
  if (name === 'user_id' || name === 'person') return someOf(whose, `'${whose.userId}'`);
  const alone = table.columns.filter((one) => one.pk > 0).length === 1 && pk === 1;
  if (type === 'TEXT' && parents.test(name) && !alone) return someOf(whose, `'${whose.ids}_1'`);
  if (notnull === 0 && pk === 0) return 'NULL';
  if (name === 'e164' || name === 'peer' || name === 'ours') return `'+1' || (4150000000 + n)`;
  if (type === 'TEXT') return `'${whose.ids}_' || n`;
  return name.endsWith('_at') || name === 'at' ? `${recent} + n` : 'n';
}

export interface Whose {
  readonly userId: string;
  /** How their ids begin: `own` has `own_1`, `own_2`. */
  readonly ids: string;
  readonly many: number;
}

/** So many rows of that person in each table. One that is there already stays. */
export async function fillTables(store: SharedStore, tables: readonly Table[], whose: Whose): Promise<void> {
  for (const table of tables) {
    // The database counts these itself.
    const columns = table.columns.filter(({ name }) => name !== 'seq');
    const names = columns.map(({ name }) => name).join(', ');
    const values = columns.map((column) => sqlOf(table, column, whose)).join(', ');
    await store.write((tx) =>
      tx.run(`INSERT INTO ${table.name} (${names}) WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${whose.many})
        SELECT ${values} FROM n WHERE true ON CONFLICT DO NOTHING`),
    );
  }
}
