/**
 * Takes the reports in the spools of bots: in order, each once, with the authority of the bot's token. A live report and one that was kept go the
 * same way; a live one has its verb waiting for the answer. Must not know what operations do: they are routes.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { createCarryOut, isStale, type Outcome, passes, type Taken } from './carry-out.ts';
import type { TakerDeps } from './deps.ts';
import { createLateReplies } from './late-replies.ts';
import { createRefusals } from './refusals.ts';
import type { SpooledReport } from './spool.ts';
import { findReport, markTold } from './store.ts';

export interface Taker {
  /** Takes everything up to this report. Throws what refused it. */
  take(agentId: string, id: string): Promise<unknown>;
  /** Takes everything that lies in the spools. */
  start(): Promise<void>;
  close(): Promise<void>;
}

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

interface Kept {
  readonly file: string;
  readonly report: SpooledReport;
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
  const leaving = new AbortController();
  const { signal } = leaving;
  const { carryOut, refuse } = createCarryOut({ ...deps, signal });
  const late = createLateReplies({ ...deps, carryOut, refuse, signal, inTurn });
  const refusals = createRefusals({ ...deps, signal });
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
      if (signal.aborted) {
        return new AppError('transport', 'Gantry is stopping.', 'The report is delivered at its next start.');
      }
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
      if (await late.holds(agentId, file, report)) continue;
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
    const outcomes = batch.map(({ report }, index) => carryOut(agentId, report, batch[index - 1]?.report.id ?? null));
    for (const outcome of outcomes) outcome.catch(() => {});
    try {
      for (const [index, { file, report }] of batch.entries()) {
        const beside = await (outcomes[index] as Promise<Outcome>);
        const failed = beside === 'too early' || (index > 0 && beside !== 'again' && 'error' in beside);
        const taken = failed ? await carryOut(agentId, report, null) : beside;
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
    if (signal.aborted) return;
    cancel = deps.timers.after(sweepMs, () => {
      quietly(sweep(false)).finally(nextSweep);
      quietly(refusals.tell(sweepMs));
    });
  }

  const quietly = (work: Promise<void>) =>
    work.catch((error: unknown) => {
      if (!signal.aborted) deps.log.warn('The spools of bots could not be read.', { error: String(error) });
    });

  return {
    async take(agentId, id) {
      const stopped = await inTurn(agentId, async () =>
        early.has(keyOf(agentId, id)) ? null : takeFiles(agentId, spools.files(agentId), id),
      );
      if (stopped !== null) throw stopped;
      // It waits for its person.
      if (late.isAsked(id)) return null;
      const ours = early.get(keyOf(agentId, id));
      early.delete(keyOf(agentId, id));
      const row = await store.read((tx) => findReport(tx, agentId, id));
      if (row?.outcome === 'refused') await store.write((tx) => markTold(tx, agentId, id, clock.now()));
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
      quietly(refusals.tell(0));
      nextSweep();
    },
    async close() {
      leaving.abort();
      cancel();
      await Promise.all(tails.values());
    },
  };
}

/** A hook has no row that the next one could follow, and a file is large. */
const sharesCommit = ({ op, form }: SpooledReport) => op !== 'agentHook' && form === null;

function answerOf(taken: Taken): Promise<unknown> {
  if ('error' in taken) throw taken.error;
  return taken.answer;
}
