/** `gantry ledger query|verify|export`. */
import { exitCode } from '../../contracts/common/errors.ts';
import { type Action, flag, integer, optionalText } from '../command.ts';
import { table } from '../table.ts';
import { ago, count, inCell, oneLine } from '../words.ts';

export const query: Action = async (context, input) => {
  const { factory } = await context.connect();
  const answer = await factory.queryLedger({
    query: {
      type: optionalText(input, 'type'),
      subject: optionalText(input, 'subject'),
      actor: optionalText(input, 'actor'),
      after: optionalText(input, 'after'),
      before: optionalText(input, 'before'),
      limit: integer(input, 'limit', 1, 200),
      cursor: optionalText(input, 'cursor'),
    },
  });
  context.output.result(answer, () => {
    if (answer.rows.length === 0) return 'Nothing in the record fits.';
    const rows = answer.rows.map((row) => [
      row.id,
      ago(row.at, context.now()),
      row.type,
      row.actor,
      row.subject,
      row.body === null ? 'DAMAGED' : oneLine(JSON.stringify(row.body), 300),
    ]);
    const more = answer.nextCursor === null ? '' : `\nThere are more: --cursor ${answer.nextCursor}`;
    return table(['id', 'when', 'type', 'actor', 'subject', 'body'], rows, context.output.width) + more;
  });
  return undefined;
};

/** A damaged ledger needs its person. */
export const verify: Action = async (context) => {
  const { factory } = await context.connect();
  const verdict = await factory.verifyLedger();
  context.output.result(verdict, () => {
    if (!verdict.ok) {
      return `${inCell(verdict.fact)}\nRow ${verdict.id}: ${verdict.problem}. ${count(verdict.rows, 'row')} are sound.\n${inCell(verdict.action)}`;
    }
    const heads = verdict.heads === 0 ? 'no exported head to compare with' : count(verdict.heads, 'exported head');
    return `The ledger is whole: ${count(verdict.rows, 'row')}, ${heads}.\nHead ${verdict.head.id} ${verdict.head.hash}`;
  });
  return verdict.ok ? 0 : exitCode.needs_person;
};

export const exportRows: Action = async (context, input) => {
  const { factory } = await context.connect();
  const answer = await factory.exportLedger({
    body: { after: optionalText(input, 'after'), dryRun: flag(input, 'dryRun') || undefined },
  });
  context.output.result(answer, () => {
    const verb = answer.dryRun === true ? 'Would write' : 'Wrote';
    return `${verb} ${count(answer.rows, 'row')} to ${answer.file}, and the head ${answer.head.id} to ${answer.headsFile}.`;
  });
  return undefined;
};
