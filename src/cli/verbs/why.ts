/** `gantry why`: one sentence with the reason for a state; the screen shows the same sentence. */
import { leaseWords } from '../../contracts/factory/node-lease.ts';
import { verb } from '../route-verb.ts';
import { clockTime, inCell, lasting, localTimes, oneLine } from '../words.ts';

export const why = verb('explainWhy', {
  fields: { id: 'what' },
  words: ({ sentence, since, because, receipts, lease }, { now }) => {
    const next = because.map((one) => `  ${one.kind} ${one.id}  ${oneLine(one.title, 100)}`);
    return [
      inCell(localTimes(sentence)),
      ...(since === null ? [] : [`For ${lasting(since, now())}, since ${clockTime(since)}.`]),
      ...(lease === undefined ? [] : [`Its lease: ${Object.values(leaseWords(lease, now())).join(' ')}`]),
      ...(next.length === 0 ? [] : ['Because of:', ...next]),
      ...(receipts.length === 0 ? [] : [`Ledger: ${inCell(receipts.join(', '))}`]),
    ].join('\n');
  },
});
