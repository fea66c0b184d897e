/**
 * Takes the reports in the spools of bots: in order, each once, with the authority of the bot's token. A live report and one that was kept go the
 * same way; a live one has its verb waiting for the answer. A refusal that nobody waited for comes back to its bot as a message and is noted at its
 * step. Must not know what operations do: they are routes.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { staleReport } from '../../contracts/factory/report-routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { LocalCall } from '../../kit/http/local-call.ts';
import type { Principal, ReportTaken } from '../../kit/http/types.ts';
import { actionHash } from '../../kit/signing/action-hash.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Approvals } from '../approvals/approvals.ts';
import type { Base } from '../base/base.ts';
import type { SpooledReport, Spools } from './spool.ts';

/** What became of a report that was asked for. */
type Taken = { readonly answer: Promise<unknown> } | { readonly error: AppError };

export interface Taker {
  /** Takes everything up to this report. Throws what refused it. */
  take(agentId: string, id: string): Promise<unknown>;
  /** Takes everything that lies in the spools. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface TakerDeps extends Pick<Base, 'store' | 'ledger' | 'clock' | 'timers' | 'log'> {
  readonly spools: Spools;
  readonly tokens: {
    spoolKeys(agentId: string): Promise<readonly string[]>;
    principalOf(agentId: string): Principal;
  };
  readonly call: LocalCall;
  readonly approvals: Pick<Approvals, 'ask'>;
  /** Who outside reads what is said in this thread, by name; null: nobody. */
  readerOf(threadId: string): Promise<string | null>;
  /** Ids of the bots of all teams. */
  bots(): readonly string[];
  /** A message of the engine to a bot; nothing if there is no such bot. */
  tellBot(agentId: string, text: string, idempotencyKey: string): Promise<void>;
  /** Notes at a step that a report about it was refused. */
  note(step: { readonly dagId: string; readonly nodeId: string }, text: string): Promise<void>;
}

/** What a bot said longer ago may not be what it would say now. Milliseconds. */
const lateMs = 10 * 60_000;
/** A clock that was set back while the report lay there makes it seem newer than it is. */
const clockSkewMs = 60_000;
/** For so long its person may still let a late reply leave. */
const lateReplyLivesMs = 24 * 60 * 60_000;
/** A verb that was killed between writing its report and sending it. */
const sweepMs = 10_000;
/** No program takes so long to write a report. What it left half written counts against the limits of its spool until then. */
const halfWrittenMs = 60 * 60_000;
/** Duplicates are recognised, and refusals can be looked up, for so long. Milliseconds. */
const retentionMs = 30 * 24 * 60 * 60_000;
/** Answers of reports that were taken before their own verb asked. */
const maxEarly = 1_000;

/** Reports that are carried out at once. The engine does nothing else while their commit is made. */
const maxTogether = 32;

class Repeated extends Error {}
/** The report before it is not recorded. */
class TooEarly extends Error {}

interface Kept {
  readonly file: string;
  readonly report: SpooledReport;
}

/** `again`: it was taken before. `too early`: nothing was recorded. */
type Outcome = Taken | 'again' | 'too early';

interface Row {
  id: string;
  agent_id: string;
  op: string;
  dag_id: string | null;
  node_id: string | null;
  outcome: 'applied' | 'refused' | 'stale';
  why: string | null;
}

export function createTaker(deps: TakerDeps): Taker {
  const { store, clock, spools } = deps;
  /** The end of each bot's queue: its reports are taken one after the other. */
  const tails = new Map<string, Promise<void>>();
  const early = new Map<string, Taken>();
  /** Bots that were in a team while this program ran. */
  const known = new Set<string>();
  /** Files that lay there at the last sweep. */
  let seen = new Set<string>();
  /** Late replies that their person is asked about; their files stay in the spool. */
  const asked = new Set<string>();
  const leaving = new AbortController();
  let closed = false;
  let telling = false;
  let tidied = 0;
  let cancel = () => {};

  function inTurn<T>(agentId: string, work: () => Promise<T>): Promise<T> {
    const turn = (tails.get(agentId) ?? Promise.resolve()).then(work);
    const tail = turn.then(
      () => {},
      () => {},
    );
    tails.set(agentId, tail);
    void tail.then(() => {
      if (tails.get(agentId) === tail) tails.delete(agentId);
    });
    return turn;
  }

  /** Takes these files in order, up to this report. Resolves with what stopped it before the end. */
  async function takeFiles(agentId: string, files: readonly string[], upTo: string | null): Promise<AppError | null> {
    if (files.length === 0) return null;
    const keys = await deps.tokens.spoolKeys(agentId);
    let left = files;
    while (left.length > 0) {
      if (closed) return new AppError('transport', 'Gantry is stopping.', 'The report is delivered at its next start.');
      const { batch, rest } = await nextBatch(agentId, left, keys, upTo);
      left = rest;
      const stopped = await takeBatch(agentId, batch);
      if (stopped !== null || batch.at(-1)?.report.id === upTo) return stopped;
    }
    return null;
  }

  /** The next reports that may share a commit. What is not fit, or has to be asked about, is dealt with on the way. */
  async function nextBatch(agentId: string, files: readonly string[], keys: readonly string[], upTo: string | null) {
    const batch: Kept[] = [];
    for (const [index, file] of files.entries()) {
      const report = spools.read(agentId, file, keys);
      if (report === null) {
        deps.log.warn('A file in the spool of a bot is not a report of it and was set aside.', { agentId, file });
        continue;
      }
      if (asked.has(report.id)) continue;
      const reader = await lateReader(report);
      if (reader !== null) {
        await askFirst(agentId, file, report, reader).catch((error: unknown) => {
          // It stays in the spool, and is asked about again at the next sweep.
          asked.delete(report.id);
          deps.log.warn('Nobody could be asked about a late reply.', { agentId, id: report.id, error: String(error) });
        });
        continue;
      }
      if (!sharesCommit(report) && batch.length > 0) return { batch, rest: files.slice(index) };
      batch.push({ file, report });
      const isFull = batch.length === maxTogether || !sharesCommit(report) || report.id === upTo;
      if (isFull) return { batch, rest: files.slice(index + 1) };
    }
    return { batch, rest: [] };
  }

  /**
   * Carries the reports out at once, so that one commit takes many. Each is recorded only behind the one before it, and one that failed beside others
   * is carried out a second time without the others: it may have been refused only for what was not recorded yet.
   */
  async function takeBatch(agentId: string, batch: readonly Kept[]): Promise<AppError | null> {
    const outcomes = batch.map(({ report }, index) => takeOne(agentId, report, batch[index - 1]?.report.id ?? null));
    for (const outcome of outcomes) outcome.catch(() => {});
    try {
      for (const [index, { file, report }] of batch.entries()) {
        const beside = await (outcomes[index] as Promise<Outcome>);
        const failed = beside === 'too early' || (index > 0 && beside !== 'again' && 'error' in beside);
        const taken = failed ? await takeOne(agentId, report, null) : beside;
        const stopped = taken === 'too early' ? null : await settle(agentId, file, report, taken);
        if (stopped !== null) return stopped;
      }
      return null;
    } finally {
      // What is left of the batch records nothing any more: the one before it is missing.
      await Promise.allSettled(outcomes);
    }
  }

  /** Removes what was taken. Resolves with a failure that may pass: the report stays, and what comes after it waits. */
  async function settle(agentId: string, file: string, report: SpooledReport, taken: Taken | 'again') {
    if (taken === 'again') {
      spools.remove(agentId, file, report);
      return null;
    }
    if ('error' in taken) {
      if (passes(taken.error)) return taken.error;
      await refuse(agentId, report, taken.error);
      if (isStale(taken.error)) spools.setAside(agentId, file, report);
      else spools.remove(agentId, file, report);
    } else spools.remove(agentId, file, report);
    remember(agentId, report.id, taken);
    return null;
  }

  /** Who outside would read a reply that was kept too long to leave unasked; null for anything else. */
  async function lateReader({ op, at, body }: SpooledReport): Promise<string | null> {
    const age = clock.now() - at;
    if (op !== 'sendMessage' || (age <= lateMs && age >= -clockSkewMs)) return null;
    return deps.readerOf(threadOf(body));
  }

  async function askFirst(agentId: string, file: string, report: SpooledReport, reader: string): Promise<void> {
    asked.add(report.id);
    const { text } = report.body as { text?: unknown };
    const { answer } = await deps.approvals.ask(
      {
        source: 'gate',
        kind: 'late_reply',
        title: `Send a late reply to ${reader}`,
        summary: String(text),
        reason: `It was written at ${iso(report.at)}, while Gantry was away.`,
        risk: 'medium',
        agentId,
        actionHash: actionHash({ report: report.id, text: String(text) }),
        expiresInMs: lateReplyLivesMs,
        dedupeKey: `report:${report.id}`,
      },
      { signal: leaving.signal },
    );
    const decided = async () => {
      const { kind } = await answer;
      if (closed) return;
      await inTurn(agentId, async () => {
        const taken = kind === 'approve' ? await takeOne(agentId, report, null) : { error: notSent(kind) };
        asked.delete(report.id);
        if (typeof taken === 'object' && 'error' in taken) {
          // It stays in the spool; the answer is kept for who asks again.
          if (passes(taken.error)) return;
          await refuse(agentId, report, taken.error);
        }
        spools.remove(agentId, file, report);
      });
    };
    decided().catch((error: unknown) => {
      asked.delete(report.id);
      deps.log.warn('A late reply could not be sent.', { agentId, id: report.id, error: String(error) });
    });
  }

  /** `after`: the report that has to be recorded before it; null: it is. */
  async function takeOne(agentId: string, report: SpooledReport, after: string | null): Promise<Outcome> {
    const isHook = report.op === 'agentHook';
    if (!isHook && (await store.read((tx) => find(tx, agentId, report.id))) !== undefined) return 'again';
    let marked = false;
    const applied = Promise.withResolvers<void>();
    const insert = (tx: Tx) => {
      if (after !== null && find(tx, agentId, after) === undefined) throw new TooEarly(report.id);
      if (find(tx, agentId, report.id) !== undefined) throw new Repeated(report.id);
      insertRow(tx, agentId, report, 'applied', null);
    };
    const reported: ReportTaken = {
      id: report.id,
      attemptOf: (dagId, nodeId) =>
        report.work?.dagId === dagId && report.work.nodeId === nodeId ? report.work.attempt : null,
      take(tx) {
        insert(tx);
        marked = true;
        tx.afterCommit(applied.resolve);
      },
    };
    try {
      const answer = deps.call(
        report.op,
        { ...deps.tokens.principalOf(agentId), report: reported },
        {
          params: report.params,
          query: report.query,
          body: report.body,
          headers: {
            'idempotency-key': report.id,
            ...(report.form === null ? {} : { 'content-type': report.form.type }),
          },
          ...(await bytesOf(agentId, report)),
          signal: leaving.signal,
        },
      );
      answer.catch(() => {});
      // Once it is recorded, the answer concerns only its own verb: that of a message may take ten seconds.
      await Promise.race([answer, applied.promise]);
      // A message with this key was sent before: nothing of it was recorded now.
      if (!marked && !isHook) await store.write(insert);
      return { answer };
    } catch (error) {
      if (error instanceof Repeated) return 'again';
      if (error instanceof TooEarly) return 'too early';
      if (error instanceof AppError) return { error };
      deps.log.warn('A report of a bot could not be taken.', {
        agentId,
        id: report.id,
        op: report.op,
        error: error instanceof Error ? (error.stack ?? '') : String(error),
      });
      return { error: new AppError('internal', 'Gantry failed to take the report.', 'Report it again.') };
    }
  }

  async function bytesOf(agentId: string, report: SpooledReport) {
    if (report.form === null) return {};
    const bytes = await spools.form(agentId, report);
    if (bytes !== null) return { bytes };
    throw new AppError('refused', 'The file of the report is damaged.', 'Upload it again.');
  }

  async function refuse(agentId: string, report: SpooledReport, error: AppError): Promise<void> {
    if (report.op === 'agentHook') return;
    await store.write((tx) => {
      if (find(tx, agentId, report.id) !== undefined) return;
      const outcome = isStale(error) ? 'stale' : 'refused';
      insertRow(tx, agentId, report, outcome, `${error.fact} ${error.action}`.trim());
      deps.ledger.append(tx, {
        type: `report.${outcome}`,
        actor: agentId,
        surface: 'bot',
        subject: `report:${report.id}`,
        body: { v: 1, id: report.id, op: report.op, ...stepOf(report), why: error.fact },
      });
    });
  }

  function insertRow(tx: Tx, agentId: string, report: SpooledReport, outcome: Row['outcome'], why: string | null) {
    const { dagId = null, nodeId = null } = stepOf(report);
    const now = clock.now();
    tx.run(
      `INSERT INTO bot_report (id, agent_id, op, dag_id, node_id, at, taken_at, outcome, why, told_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      report.id,
      agentId,
      report.op,
      dagId,
      nodeId,
      Math.round(report.at),
      now,
      outcome,
      why,
      // What changes nothing concerns nobody: it is evidence.
      outcome === 'refused' ? null : now,
    );
  }

  const told = (agentId: string, id: string) =>
    store.write((tx) =>
      tx.run(
        'UPDATE bot_report SET told_at = ? WHERE agent_id = ? AND id = ? AND told_at IS NULL',
        clock.now(),
        agentId,
        id,
      ),
    );

  /** Its own verb does not wait any more: it was taken so long ago. */
  async function tellRefused(since: number): Promise<void> {
    const rows = await store.read((tx) =>
      tx.all<Row>(
        'SELECT * FROM bot_report WHERE told_at IS NULL AND taken_at <= ? ORDER BY taken_at, id LIMIT 100',
        clock.now() - since,
      ),
    );
    for (const row of rows) {
      if (closed) return;
      const what = verbs[row.op] ?? row.op;
      const about = row.node_id === null ? '' : ` about the step ${row.node_id}`;
      const text = `Gantry was away when you reported \`${what}\`${about}. It was refused when it was delivered: ${row.why}`;
      try {
        // First what may fail, as when the bot's queue is full: a message with this key goes out once, a note is written each time.
        await deps.tellBot(row.agent_id, text, `report:${row.id}`);
        if (row.dag_id !== null && row.node_id !== null) {
          const step = { dagId: row.dag_id, nodeId: row.node_id };
          await deps.note(step, `a kept report (${what}) was refused: ${row.why}`);
        }
        await told(row.agent_id, row.id);
      } catch (error) {
        if (closed) return;
        deps.log.warn('A bot did not get the message that its report was refused.', {
          id: row.id,
          error: String(error),
        });
      }
    }
  }

  async function sweep(all: boolean): Promise<void> {
    const now = new Set<string>();
    for (const id of deps.bots()) known.add(id);
    // What bots of other teams and other days left is looked for once.
    const agents = all ? spools.agents() : [...known];
    // One bot's spool that cannot be read keeps no other from being taken.
    const ends = await Promise.allSettled(
      agents.map((agentId) =>
        inTurn(agentId, async () => {
          const files = spools.files(agentId);
          // A file that is new has its verb on the way here.
          const due = files.filter((file) => all || seen.has(`${agentId}/${file}`));
          for (const file of files) now.add(`${agentId}/${file}`);
          const last = due.at(-1);
          if (last === undefined) return;
          await takeFiles(agentId, files.slice(0, files.indexOf(last) + 1), null);
        }),
      ),
    );
    seen = now;
    if (all || clock.monotonic() - tidied >= halfWrittenMs) {
      tidied = clock.monotonic();
      spools.tidy(clock.now() - halfWrittenMs);
    }
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  const keyOf = (agentId: string, id: string) => `${agentId}/${id}`;

  function remember(agentId: string, id: string, taken: Taken): void {
    early.set(keyOf(agentId, id), taken);
    const oldest = early.keys().next().value;
    if (early.size > maxEarly && oldest !== undefined) early.delete(oldest);
  }

  function nextSweep(): void {
    if (closed) return;
    cancel = deps.timers.after(sweepMs, () => {
      quietly(sweep(false)).finally(nextSweep);
      quietly(tell(sweepMs));
    });
  }

  /** Apart from the sweeps: a message may take seconds to arrive. */
  async function tell(since: number): Promise<void> {
    if (telling) return;
    telling = true;
    await tellRefused(since).finally(() => {
      telling = false;
    });
  }

  const quietly = (work: Promise<void>) =>
    work.catch((error: unknown) => {
      if (!closed) deps.log.warn('The spools of bots could not be read.', { error: String(error) });
    });

  return {
    async take(agentId, id) {
      const stopped = await inTurn(agentId, async () =>
        early.has(keyOf(agentId, id)) ? null : takeFiles(agentId, spools.files(agentId), id),
      );
      if (stopped !== null) throw stopped;
      // It waits for its person.
      if (asked.has(id)) return null;
      const ours = early.get(keyOf(agentId, id));
      early.delete(keyOf(agentId, id));
      const row = await store.read((tx) => find(tx, agentId, id));
      if (row?.outcome === 'refused') await told(agentId, id);
      if (ours !== undefined) return answerOf(ours);
      if (row === undefined) {
        throw new AppError('not_found', `The spool has no report ${id}.`, 'Report it again.');
      }
      if (row.outcome === 'applied') return null;
      throw new AppError('refused', row.why ?? 'The report was refused.', '', { status: 409 });
    },
    async start() {
      await store.write((tx) => tx.run('DELETE FROM bot_report WHERE taken_at < ?', clock.now() - retentionMs));
      await quietly(sweep(true));
      // No verb can wait yet.
      quietly(tell(0));
      nextSweep();
    },
    async close() {
      closed = true;
      leaving.abort();
      cancel();
      await Promise.all(tails.values());
    },
  };
}

function notSent(kind: string): AppError {
  const why =
    kind === 'reject' ? 'Your person did not let the late reply leave.' : 'Nobody answered whether it may leave.';
  return new AppError('refused', why, 'Look at the thread before you write again.');
}

/** `channel:<thread>` */
function threadOf(body: unknown): string {
  return String((body as { to?: unknown }).to).replace(/^channel:/, '');
}

/** A hook has no row that the next one could follow, and a file is large. */
const sharesCommit = ({ op, form }: SpooledReport) => op !== 'agentHook' && form === null;

/** Operations by the verbs that a bot knows. */
const verbs: Readonly<Record<string, string>> = {
  progressNode: 'progress',
  doneNode: 'done',
  failNode: 'fail',
  uploadProof: 'proof',
  sendMessage: 'reply',
  sendMail: 'mail',
  draftPlan: 'plan draft',
  refinePlan: 'plan refine',
  discardPlan: 'plan discard',
  releaseLease: 'lease release',
};

const find = (tx: Pick<Tx, 'get'>, agentId: string, id: string) =>
  tx.get<Row>('SELECT * FROM bot_report WHERE agent_id = ? AND id = ?', agentId, id);

/** The disk is full, or what it concerns cannot be reached: it is tried again. */
const passes = ({ code }: AppError) => code === 'transport' || code === 'timeout';

const isStale = (error: AppError) => error.options.wireCode === staleReport;

function answerOf(taken: Taken): Promise<unknown> {
  if ('error' in taken) throw taken.error;
  return taken.answer;
}

/** The step that a report names. */
function stepOf({ params }: SpooledReport): { dagId?: string; nodeId?: string } {
  const { dagId, nodeId } = params ?? {};
  return typeof dagId === 'string' && typeof nodeId === 'string' ? { dagId, nodeId } : {};
}
