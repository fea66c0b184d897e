/** `gantry wait`: ends when a bot, a step, a run, a task or an approval has a state. The exit code is the answer. */
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '../../client/client.ts';
import { waitForApproval } from '../../contracts/approvals/routes.ts';
import { AppError, exitCode } from '../../contracts/common/errors.ts';
import { maxHeldSeconds, type Waited, type WaitOutcome } from '../../contracts/common/waiting.ts';
import { waitForTask } from '../../contracts/work-queue/routes.ts';
import { type Action, type Context, type Input, optionalText, text } from '../command.ts';
import { type Connection, connect } from '../connect.ts';
import { webAddress } from '../running.ts';
import { inCell, spoken } from '../words.ts';

/** None of an error's: a script must tell a failed step from a refused request. */
const endedOtherwise = 6;
const exitOf: Readonly<Record<WaitOutcome, number>> = {
  met: 0,
  needs_you: exitCode.needs_person,
  ended: endedOtherwise,
  waiting: exitCode.timeout,
};
/** Between attempts to reach a Gantry that is away. */
const againMs = 1_000;
const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

export const wait: Action = async (context, input) => {
  const seconds = timeout(input);
  const end = performance.now() + seconds * 1000;
  const left = () => Math.max(0, end - performance.now()) / 1000;
  let reached = false;
  for (;;) {
    try {
      // Connected each time: a Gantry that was started again may be found elsewhere.
      const connection = await connect(context.env, context.names);
      reached = true;
      const answer = await ask(context, connection, input, Math.min(maxHeldSeconds, left()));
      if (answer.outcome === 'waiting' && left() > 0) continue;
      context.output.result(answer, () => sentence(context, answer));
      return exitOf[answer.outcome];
    } catch (error) {
      // It was there: it is being started again, or its computer sleeps.
      if (!reached || !isAway(error) || left() === 0) throw error;
      await pause(Math.min(againMs, left() * 1000));
    }
  }
};

async function ask(
  { env, names }: Context,
  { as, token, factory }: Connection,
  input: Input,
  seconds: number,
): Promise<Waited> {
  const id = text(input, 'what');
  const query = { for: optionalText(input, 'for'), seconds };
  if (!/^(apr|task)_/.test(id))
    return factory.waitFor({ params: { id }, query: { ...query, run: optionalText(input, 'run') } });
  if (as === 'bot') {
    throw new AppError('refused', 'A bot cannot wait for tasks or approvals.', 'Wait for a bot, a step or a run.');
  }
  const home = createClient([waitForApproval, waitForTask], {
    baseUrl: webAddress(env, names),
    token,
    ifGone: `Start it with: ${names.start}`,
  });
  return id.startsWith('apr_')
    ? home.waitForApproval({ params: { id }, query })
    : home.waitForTask({ params: { id }, query });
}

const isAway = (error: unknown) =>
  error instanceof AppError && (error.code === 'transport' || error.code === 'timeout');

/** Seconds; without the option there is no limit. */
function timeout(input: Input): number {
  const given = optionalText(input, 'timeout');
  if (given === undefined) return Number.POSITIVE_INFINITY;
  const [, number, unit = 's'] = /^(\d{1,6})([smhd])?$/.exec(given) ?? [];
  if (number !== undefined) return Number(number) * secondsOf[unit]!;
  throw new AppError('usage', `--timeout is ${JSON.stringify(given)}.`, 'Give seconds, or a time such as 10m or 2h.');
}

function sentence({ names }: Context, { kind, id, title, state, reason, outcome }: Waited): string {
  const what = kind === 'bot' ? inCell(title) : `“${inCell(title)}”`;
  const is = `${what}: ${inCell(spoken(state))}${reason === null ? '' : `, ${inCell(reason)}`}.`.replace(/\.\.$/, '.');
  if (outcome === 'waiting') return `${is} Timed out waiting.`;
  if (outcome !== 'needs_you') return is;
  return `${is} See why: ${names.gantry} why ${inCell(kind === 'bot' ? title : id)}`;
}
