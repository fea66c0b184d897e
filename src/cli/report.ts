/**
 * What a bot reports with a verb: kept in its spool first, then handed to the runtime. While the runtime is away it stays there, and the verb says so.
 * A person's verbs, and those that ask something, do not come here.
 */
import { AppError } from '../contracts/common/errors.ts';
import { type KeptAnswer, type ReportOp, reportOps } from '../contracts/factory/report-routes.ts';
import { readTokenFile } from '../kit/secrets/token-file.ts';
import { type KeptReport, keepReport, SpoolFull } from '../kit/spool/bot-spool.ts';
import type { Context } from './command.ts';

interface ReportRequest {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
  readonly form?: { readonly type: string; readonly bytes: Uint8Array };
}

type Reported = { readonly kept: KeptAnswer } | { readonly answer: unknown };

/** Null: the verb is to be sent as anybody's. */
export async function report(context: Context, op: string, request: ReportRequest): Promise<Reported | null> {
  const { GANTRY_SPOOL: folder, GANTRY_TOKEN_FILE: tokenFile, GANTRY_URL_FILE: urlFile } = context.env;
  if (!folder || !tokenFile || !urlFile || !isReport(op, request)) return null;
  let kept: ReturnType<typeof keep>;
  try {
    kept = keep(folder, readTokenFile(tokenFile), { op, ...request }, context.now());
  } catch (error) {
    // The runtime takes it without the spool, if it is there.
    if (await isThere(context)) return null;
    throw error;
  }
  try {
    const { factory } = await context.connect();
    const { answer } = await factory.takeReport({ body: { id: kept.id } });
    // Taken, but not while this verb waited for it.
    return answer === null ? { kept: { kept: true, id: kept.id } } : { answer };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'transport' || error.code === 'timeout') return { kept: { kept: true, id: kept.id } };
    kept.remove();
    throw error;
  }
}

async function isThere(context: Context): Promise<boolean> {
  try {
    const { factory } = await context.connect();
    await factory.factoryHealth();
    return true;
  } catch {
    return false;
  }
}

/** What a person reads of a kept report. */
export const keptWords = (): string => 'kept; it will be delivered';

function isReport(op: string, { query, body }: ReportRequest): op is ReportOp {
  const { dryRun } = { ...(query as object), ...(body as object) } as { dryRun?: unknown };
  if (dryRun === true || dryRun === '1') return false;
  if (op !== 'sendMessage') return reportOps.some((one) => one === op);
  // A message to another bot is answered with its delivery.
  return String((body as { to?: unknown }).to).startsWith('channel:');
}

function keep(
  folder: string,
  token: string,
  given: ReportRequest & { readonly op: string },
  at: number,
): Pick<KeptReport, 'id' | 'remove'> {
  try {
    return keepReport(folder, token, given, at);
  } catch (error) {
    const fact =
      error instanceof SpoolFull ? error.message : `The report cannot be kept in ${folder}: ${String(error)}.`;
    const isFull = (error as NodeJS.ErrnoException).code === 'ENOSPC';
    const action = isFull
      ? 'Free space on this disk, then report again.'
      : 'Ask the person who started this team to start Gantry again.';
    throw new AppError('transport', fact, action, { cause: error });
  }
}
