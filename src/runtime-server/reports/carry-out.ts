/** Carries out one report as its bot, and records that it did, or why it was refused. Must not know spools as a whole, or who comes next. */
import { AppError } from '../../contracts/common/errors.ts';
import { staleReport } from '../../contracts/factory/report-routes.ts';
import type { ReportTaken } from '../../kit/http/types.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { TakerDeps } from './deps.ts';
import type { SpooledReport } from './spool.ts';
import { findReport, insertReport, stepOf } from './store.ts';

/** What became of a report that was asked for. */
export type Taken = { readonly answer: Promise<unknown> } | { readonly error: AppError };

/** `again`: it was taken before. `too early`: nothing was recorded. */
export type Outcome = Taken | 'again' | 'too early';

class Repeated extends Error {}
/** The report before it is not recorded. */
class TooEarly extends Error {}

export type CarryOut = ReturnType<typeof createCarryOut>;

export function createCarryOut(
  deps: Pick<TakerDeps, 'store' | 'ledger' | 'clock' | 'log' | 'tokens' | 'call' | 'spools'> & {
    readonly signal: AbortSignal;
  },
) {
  const { store, ledger, clock } = deps;

  return { carryOut, refuse };

  /** `after`: the report that has to be recorded before it; null: it is. */
  async function carryOut(agentId: string, report: SpooledReport, after: string | null): Promise<Outcome> {
    const isHook = report.op === 'agentHook';
    if (!isHook && (await store.read((tx) => findReport(tx, agentId, report.id))) !== undefined) return 'again';
    let marked = false;
    const applied = Promise.withResolvers<void>();
    const insert = (tx: Tx) => {
      if (after !== null && findReport(tx, agentId, after) === undefined) throw new TooEarly(report.id);
      if (findReport(tx, agentId, report.id) !== undefined) throw new Repeated(report.id);
      insertReport(tx, agentId, report, clock.now(), 'applied', null);
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
          signal: deps.signal,
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
    const bytes = await deps.spools.form(agentId, report);
    if (bytes !== null) return { bytes };
    throw new AppError('refused', 'The file of the report is damaged.', 'Upload it again.');
  }

  async function refuse(agentId: string, report: SpooledReport, error: AppError): Promise<void> {
    if (report.op === 'agentHook') return;
    await store.write((tx) => {
      if (findReport(tx, agentId, report.id) !== undefined) return;
      const outcome = isStale(error) ? 'stale' : 'refused';
      insertReport(tx, agentId, report, clock.now(), outcome, `${error.fact} ${error.action}`.trim());
      ledger.append(tx, {
        type: `report.${outcome}`,
        actor: agentId,
        surface: 'bot',
        subject: `report:${report.id}`,
        body: { v: 1, id: report.id, op: report.op, ...stepOf(report), why: error.fact },
      });
    });
  }
}

/** The disk is full, or what it concerns cannot be reached: it is tried again. */
export const passes = ({ code }: AppError) => code === 'transport' || code === 'timeout';

export const isStale = (error: AppError) => error.options.wireCode === staleReport;
