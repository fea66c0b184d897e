/** `gantry orchestration steer`: checkpoints, and to checkpoint, consult or interrupt a bot. */
import { AppError, exitCode } from '../../contracts/common/errors.ts';
import { type SteerAnswer, steerActions } from '../../contracts/factory/work-engine/steer.ts';
import { type Context, optionalText } from '../command.ts';
import { byOption, verb } from '../route-verb.ts';
import { listed } from '../table.ts';
import { ago, oneLine, spoken } from '../words.ts';

const steerBot = verb('steerAgent', {
  fields: {
    agent: 'bot',
    action: (input) => {
      const asked = optionalText(input, 'action');
      const action = steerActions.find((one) => one === asked);
      if (action !== undefined) return action;
      throw new AppError('usage', `${JSON.stringify(asked)} is not a steer action.`, `Use ${steerActions.join(', ')}.`);
    },
  },
  words: inWords,
  exit: (answer) => {
    const delivery = 'delivery' in answer ? answer.delivery : null;
    if (delivery?.state === 'unconfirmed') return exitCode.timeout;
    return delivery?.state === 'failed' ? exitCode.transport : 0;
  },
});

function inWords(answer: SteerAnswer, context: Context): string {
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
  return `The question is ${spoken(answer.delivery.state)}. Read the answer: ${gantry} orchestration threads ${answer.threadId}`;
}

const checkpoints = verb('listCheckpoints', {
  fields: { agent: 'bot' },
  words: (answer, context) =>
    listed(
      context,
      answer.checkpoints,
      'No checkpoints yet.',
      {
        checkpoint: (one) => one.id,
        when: (one) => ago(one.at, context.now()),
        bot: (one) => one.agent,
        state: (one) => spoken(one.state),
        commit: (one) => one.git?.head.slice(0, 12) ?? '-',
        note: (one) => oneLine(one.note ?? '', 200),
      },
      answer.nextCursor,
    ),
});

export const steer = byOption({ action: steerBot }, checkpoints);
