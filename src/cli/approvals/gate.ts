/** `gantry gate check`: asks whether an action is allowed. Waits for the person where the policy asks; the exit code is the answer. */
import { maxGateWaitSeconds } from '../../contracts/approvals/gate.ts';
import { exitCode } from '../../contracts/common/errors.ts';
import { type Action, flag, integer, optionalText, text } from '../command.ts';
import { inCell } from '../words.ts';

/** A day: nobody waits longer at a prompt. Seconds. */
const maxWaitSeconds = 24 * 60 * 60;

export const check: Action = async (context, input) => {
  const { factory } = await context.connect();
  const dryRun = flag(input, 'dryRun');
  const action = {
    tool: text(input, 'tool'),
    path: optionalText(input, 'path'),
    host: optionalText(input, 'host'),
    command: optionalText(input, 'command'),
    reason: optionalText(input, 'reason'),
    dryRun: dryRun || undefined,
  };
  let left = integer(input, 'wait', 0, maxWaitSeconds) ?? maxGateWaitSeconds;
  while (true) {
    const waitSeconds = Math.min(left, maxGateWaitSeconds);
    const answer = await factory.checkGate({ body: { ...action, waitSeconds } });
    left -= waitSeconds;
    if (answer.verdict === 'ask' && left > 0 && !dryRun) continue;
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
