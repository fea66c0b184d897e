/** `gantry orchestration steer`: checkpoints, and to checkpoint, consult or interrupt a bot. */
import { AppError, exitCode } from '../../contracts/common/errors.ts';
import { type SteerAnswer, steerActions } from '../../contracts/factory/work-engine/steer.ts';
import { type Action, type Context, flag, type Input, integer, optionalText, words } from '../command.ts';
import { table } from '../table.ts';
import { ago, oneLine, spoken } from '../words.ts';

export const steer: Action = async (context, input) => {
  const asked = optionalText(input, 'action');
  if (asked === undefined) return checkpoints(context, input);
  const action = steerActions.find((one) => one === asked);
  if (action === undefined) {
    throw new AppError('usage', `${JSON.stringify(asked)} is no way to steer.`, `Use ${steerActions.join(', ')}.`);
  }
  const note = words(input, 'note').join(' ');
  const { factory } = await context.connect();
  const answer = await factory.steerAgent({
    body: {
      agent: optionalText(input, 'bot') ?? '',
      action,
      note: note === '' ? undefined : note,
      dryRun: flag(input, 'dryRun') || undefined,
    },
  });
  context.output.result(answer, () => inWords(context, answer));
  const delivery = 'delivery' in answer ? answer.delivery : null;
  if (delivery?.state === 'unconfirmed') return exitCode.timeout;
  return delivery?.state === 'failed' ? exitCode.transport : 0;
};

function inWords(context: Context, answer: SteerAnswer): string {
  if ('dryRun' in answer) {
    const { action, agent, keys } = answer.plan;
    return `Would ${action} ${agent}${keys.length === 0 ? '' : ` by ${keys.join(' ')}`}.`;
  }
  if (answer.action === 'checkpoint') {
    const { id, agent, state, git } = answer.checkpoint;
    const at = git === null ? '' : `, at ${git.head.slice(0, 12)} with ${git.changed} changed`;
    return `${agent} is ${spoken(state)}${at} (${id}).`;
  }
  const told = answer.delivery === null ? '' : ` The note is ${spoken(answer.delivery.state)} (${answer.delivery.id}).`;
  if (answer.action === 'interrupt') {
    const pressed = answer.keys.length === 0 ? '' : ` ${answer.keys.join(' ')} was pressed.`;
    const not = pressed === '' ? 'No turn was ended.' : `Its turn has not ended.${pressed} Look at its pane.`;
    return `${answer.interrupted ? 'Its turn ended.' : not}${told}`;
  }
  const { gantry } = context.names;
  return `The question is ${spoken(answer.delivery.state)}. The answer comes here: ${gantry} orchestration threads ${answer.threadId}`;
}

async function checkpoints(context: Context, input: Input): Promise<undefined> {
  const { factory } = await context.connect();
  const answer = await factory.listCheckpoints({
    query: {
      agent: optionalText(input, 'bot'),
      limit: integer(input, 'limit', 1, 200),
      cursor: optionalText(input, 'cursor'),
    },
  });
  context.output.result(answer, () => {
    if (answer.checkpoints.length === 0) return 'No checkpoints yet.';
    const rows = answer.checkpoints.map((one) => [
      one.id,
      ago(one.at, context.now()),
      one.agent,
      spoken(one.state),
      one.git?.head.slice(0, 12) ?? '-',
      oneLine(one.note ?? '', 200),
    ]);
    const more = answer.nextCursor === null ? '' : `\nThere are more: --cursor ${answer.nextCursor}`;
    return table(['checkpoint', 'when', 'bot', 'state', 'commit', 'note'], rows, context.output.width) + more;
  });
  return undefined;
}
