/**
 * `gantry gate check`: asks whether an action is allowed. Waits for the person where the policy asks; the exit code is the answer. A bot also waits for
 * a runtime that is away, and without one the answer is no.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { maxGateWaitSeconds } from '../../contracts/approvals/gate.ts';
import { AppError, exitCode } from '../../contracts/common/errors.ts';
import { type Action, type Context, flag, integer, optionalText, text } from '../command.ts';
import { type Connection, connect } from '../connect.ts';
import { inCell } from '../words.ts';

/** A day: nobody waits longer at a prompt. Seconds. */
const maxWaitSeconds = 24 * 60 * 60;
/** Between attempts to reach a runtime that is away. */
const againMs = 1000;

export const check: Action = async (context, input) => {
  const dryRun = flag(input, 'dryRun');
  const action = {
    tool: text(input, 'tool'),
    path: optionalText(input, 'path'),
    host: optionalText(input, 'host'),
    command: optionalText(input, 'command'),
    reason: optionalText(input, 'reason'),
    dryRun: dryRun || undefined,
  };
  const wanted = integer(input, 'wait', 0, maxWaitSeconds) ?? maxGateWaitSeconds;
  const seconds = dryRun ? 0 : wanted;
  const end = performance.now() + seconds * 1000;
  const left = () => Math.max(0, end - performance.now()) / 1000;
  while (true) {
    const { factory } = await reach(context, left);
    const waitSeconds = Math.min(Math.round(left()), maxGateWaitSeconds);
    const answer = await factory.checkGate({ body: { ...action, waitSeconds } }).catch((error: unknown) => {
      if (isAway(error) && isBot(context) && left() > 0) return null;
      throw isAway(error) && isBot(context) ? nobodyToAsk(error) : error;
    });
    if (answer === null) {
      await pause(againMs);
      continue;
    }
    if (answer.verdict === 'ask' && left() >= 1) continue;
    context.output.result(answer, () => {
      const words = { allow: 'Yes', ask: 'Not yet: a person has to answer', deny: 'No' }[answer.verdict];
      return [
        `${words} (${answer.rule}).`,
        ...(answer.note === null ? [] : [`Note: ${inCell(answer.note)}`]),
        ...(answer.verdict === 'ask' && answer.approvalId !== null
          ? [`Asked as ${answer.approvalId}. Run this again to keep waiting.`]
          : []),
      ].join('\n');
    });
    return { allow: 0, ask: exitCode.needs_person, deny: exitCode.refused }[answer.verdict];
  }
};

/** Connects to the runtime again: after a restart it may have another address. */
async function reach(context: Context, left: () => number): Promise<Connection> {
  if (!isBot(context)) return context.connect();
  while (true) {
    try {
      return await connect(context.env, context.names);
    } catch (error) {
      if (!isAway(error)) throw error;
      if (left() === 0) throw nobodyToAsk(error);
      await pause(Math.min(againMs, left() * 1000));
    }
  }
}

const isBot = ({ env }: Context) => env.GANTRY_TOKEN_FILE !== undefined && env.GANTRY_URL_FILE !== undefined;

const isAway = (error: unknown) =>
  error instanceof AppError && (error.code === 'transport' || error.code === 'timeout');

function nobodyToAsk(cause: unknown): AppError {
  return new AppError(
    'transport',
    'Not allowed: Gantry is away, so nobody can be asked.',
    'Do not do it. Ask again later, or ask the person who started this team to start Gantry again.',
    { cause },
  );
}
