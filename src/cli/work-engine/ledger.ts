/** `gantry ledger query|verify|export`. */
import { exitCode } from '../../contracts/common/errors.ts';
import { ledgerSentence } from '../../contracts/factory/work-engine/ledger-words.ts';
import { verb } from '../route-verb.ts';
import { listed } from '../table.ts';
import { ago, count, inCell, oneLine } from '../words.ts';

export const query = verb('queryLedger', {
  words: (answer, context) =>
    listed(
      context,
      answer.rows,
      'No matching rows.',
      {
        id: (row) => row.id,
        when: (row) => ago(row.at, context.now()),
        by: (row) => row.names?.actor ?? row.actor,
        what: (row) => (row.body === null ? `DAMAGED: ${row.type}` : oneLine(ledgerSentence(row), 300)),
        type: (row) => row.type,
        subject: (row) => row.subject,
      },
      answer.nextCursor,
    ),
});

export const verify = verb('verifyLedger', {
  progress: 'Verifying',
  words: (verdict) => {
    if (!verdict.ok) {
      return `${inCell(verdict.fact)}\nRow ${verdict.id}: ${verdict.problem}. Sound before it: ${count(verdict.rows, 'row')}.\n${inCell(verdict.action)}`;
    }
    const heads = verdict.heads === 0 ? 'no exported head to compare with' : count(verdict.heads, 'exported head');
    return `The ledger is whole: ${count(verdict.rows, 'row')}, ${heads}.\nHead ${verdict.head.id} ${verdict.head.hash}`;
  },
  // A damaged ledger needs its person.
  exit: ({ ok }) => (ok ? 0 : exitCode.needs_person),
});

export const exportRows = verb('exportLedger', {
  words: ({ dryRun, rows, file, head, headsFile }) =>
    `${dryRun === true ? 'Would write' : 'Wrote'} ${count(rows, 'row')} to ${file}, and the head ${head.id} to ${headsFile}.`,
});
