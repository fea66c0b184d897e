/** SQL of new runs and their bots. Each call is one step of an operation and decides nothing. */
import type { QuickDiff, QuickOutcome, QuickProgram } from '../../contracts/factory/quick-run-routes.ts';
import type { SandboxMode, TeamFile } from '../../contracts/factory/team-file.ts';
import type { Tx } from '../../kit/store/store.ts';

type Read = Pick<Tx, 'get' | 'all'>;
export type Setup = NonNullable<TeamFile['setup']>;

export interface QuickBotRecord {
  readonly slug: string;
  readonly harness: QuickProgram | null;
  readonly model: string | null;
  readonly sandbox: SandboxMode;
  readonly outcome: QuickOutcome | null;
  readonly outcomeAt: number | null;
  /** Its branch when it ended, and where its work was set aside. */
  readonly branch: string | null;
  readonly keptAs: string | null;
  readonly diff: QuickDiff | null;
  /** The commits between which its work lies, once it ended; null: it had none, or ended before Gantry noted them. */
  readonly diffBase: string | null;
  readonly diffHead: string | null;
}

export interface QuickRunRecord {
  readonly team: string;
  /** Null while its run is not started. */
  readonly dagId: string | null;
  readonly title: string;
  readonly prompt: string;
  readonly repository: string;
  readonly baseBranch: string | null;
  readonly baseCommit: string;
  readonly setup: Setup | null;
  readonly savedAs: string | null;
  readonly createdAt: number;
  readonly bots: readonly QuickBotRecord[];
}

interface RunRow {
  team: string;
  dag_id: string | null;
  title: string;
  prompt: string;
  repository: string;
  base_branch: string | null;
  base_commit: string;
  setup: string | null;
  saved_as: string | null;
  created_at: number;
}

interface BotRow {
  team: string;
  slug: string;
  harness: QuickProgram | null;
  model: string | null;
  sandbox: SandboxMode;
  outcome: QuickOutcome | null;
  outcome_at: number | null;
  branch: string | null;
  kept_as: string | null;
  files: number | null;
  added: number | null;
  removed: number | null;
  diff_base: string | null;
  diff_head: string | null;
}

/** All of the workspace, oldest first. */
export function readQuickRuns(tx: Read, workspace: string): QuickRunRecord[] {
  const bots = Map.groupBy(
    tx.all<BotRow>('SELECT * FROM quick_bot WHERE workspace = ? ORDER BY team, seq', workspace),
    (row) => row.team,
  );
  return tx
    .all<RunRow>('SELECT * FROM quick_run WHERE workspace = ? ORDER BY created_at, team', workspace)
    .map((row) => ({
      team: row.team,
      dagId: row.dag_id,
      title: row.title,
      prompt: row.prompt,
      repository: row.repository,
      baseBranch: row.base_branch,
      baseCommit: row.base_commit,
      setup: row.setup === null ? null : (JSON.parse(row.setup) as Setup),
      savedAs: row.saved_as,
      createdAt: row.created_at,
      bots: (bots.get(row.team) ?? []).map(toBot),
    }));
}

function toBot(row: BotRow): QuickBotRecord {
  const { slug, harness, model, sandbox, outcome, branch, files, added, removed } = row;
  const diff = files === null || added === null || removed === null ? null : { files, added, removed };
  const commits = { diffBase: row.diff_base, diffHead: row.diff_head };
  return {
    slug,
    harness,
    model,
    sandbox,
    outcome,
    outcomeAt: row.outcome_at,
    branch,
    keptAs: row.kept_as,
    diff,
    ...commits,
  };
}

export function insertQuickRun(tx: Tx, workspace: string, run: QuickRunRecord): void {
  tx.run(
    `INSERT INTO quick_run (workspace, team, dag_id, title, prompt, repository, base_branch, base_commit, setup, created_at)
     VALUES (?, ?, NULL, ?, ?, ?, ?, ?, ?, ?)`,
    workspace,
    run.team,
    run.title,
    run.prompt,
    run.repository,
    run.baseBranch,
    run.baseCommit,
    run.setup === null ? null : JSON.stringify(run.setup),
    run.createdAt,
  );
  run.bots.forEach((bot, seq) => {
    tx.run(
      'INSERT INTO quick_bot (workspace, team, seq, slug, harness, model, sandbox) VALUES (?, ?, ?, ?, ?, ?, ?)',
      workspace,
      run.team,
      seq,
      bot.slug,
      bot.harness,
      bot.model,
      bot.sandbox,
    );
  });
}

export function removeQuickRun(tx: Tx, workspace: string, team: string): void {
  tx.run('DELETE FROM quick_bot WHERE workspace = ? AND team = ?', workspace, team);
  tx.run('DELETE FROM quick_run WHERE workspace = ? AND team = ?', workspace, team);
}

export function setDag(tx: Tx, workspace: string, team: string, dagId: string): void {
  tx.run('UPDATE quick_run SET dag_id = ? WHERE workspace = ? AND team = ?', dagId, workspace, team);
}

export function setSavedAs(tx: Tx, workspace: string, team: string, savedAs: string): void {
  tx.run('UPDATE quick_run SET saved_as = ? WHERE workspace = ? AND team = ?', savedAs, workspace, team);
}

export function setOutcome(tx: Tx, workspace: string, team: string, bot: QuickBotRecord): void {
  tx.run(
    `UPDATE quick_bot SET outcome = ?, outcome_at = ?, branch = ?, kept_as = ?, files = ?, added = ?, removed = ?,
       diff_base = ?, diff_head = ?
     WHERE workspace = ? AND team = ? AND slug = ?`,
    bot.outcome,
    bot.outcomeAt,
    bot.branch,
    bot.keptAs,
    bot.diff?.files ?? null,
    bot.diff?.added ?? null,
    bot.diff?.removed ?? null,
    bot.diffBase,
    bot.diffHead,
    workspace,
    team,
    bot.slug,
  );
}
