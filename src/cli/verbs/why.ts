/** `gantry why`: one sentence that says why something is as it is; the screen shows the same. */
import { type Action, optionalText, text } from '../command.ts';
import { clockTime, inCell, lasting, localTimes, oneLine } from '../words.ts';

export const why: Action = async (context, input) => {
  const { factory } = await context.connect();
  const query = { run: optionalText(input, 'run') };
  const answer = await factory.explainWhy({ params: { id: text(input, 'what') }, query });
  context.output.result(answer, () => {
    const since =
      answer.since === null ? [] : [`For ${lasting(answer.since, context.now())}, since ${clockTime(answer.since)}.`];
    const next = answer.because.map((one) => `  ${one.kind} ${one.id}  ${oneLine(one.title, 100)}`);
    const receipts = answer.receipts.length === 0 ? [] : [`Ledger: ${inCell(answer.receipts.join(', '))}`];
    return [
      inCell(localTimes(answer.sentence)),
      ...since,
      ...(next.length === 0 ? [] : ['Because of:', ...next]),
      ...receipts,
    ].join('\n');
  });
  return undefined;
};
