/**
 * What the ids in rows of the ledger stand for, read when the rows are: titles, addresses, the first words of a message. Nothing can be deleted from
 * the ledger, so it keeps no texts of messages. Must not know sentences.
 */
import type { LedgerRow } from '../../contracts/factory/work-engine/ledger.ts';
import type { FoundRow } from '../../kit/ledger/ledger.ts';
import type { Tx } from '../../kit/store/store.ts';
import { readHold } from '../approvals/holds.ts';
import { readDelivery } from '../messaging/store/deliveries.ts';
import { readThread } from '../messaging/store/threads.ts';
import { owner, type Parties } from '../parties/parties.ts';
import { titleOfNode, titleOfRun } from '../workflows/store/why.ts';

type Read = Pick<Tx, 'get' | 'all'>;
type Names = { -readonly [K in keyof NonNullable<LedgerRow['names']>]: NonNullable<LedgerRow['names']>[K] };

/** The names of one row; undefined where none is known. */
export function namesOf(
  tx: Read,
  row: Pick<FoundRow, 'actor' | 'subject' | 'body'>,
  parties: Pick<Parties, 'name'>,
): LedgerRow['names'] {
  const { subject, body } = row;
  const text = (key: string): string | null => {
    const value = body?.[key];
    return typeof value === 'string' ? value : null;
  };
  const address = (id: string | null): string | undefined => {
    if (id === null) return undefined;
    const name = parties.name(id);
    return name === id && id !== owner ? undefined : name;
  };
  const [kind, id] = [subject.slice(0, subject.indexOf(':')), subject.slice(subject.indexOf(':') + 1)];
  const delivery = deliveryOf(tx, kind === 'delivery' ? id : text('deliveryId'));
  const names: Names = {
    actor: address(row.actor),
    bot: address(text('agentId') ?? text('botId')),
    title: titleOf(tx, kind, id),
    from: delivery?.sender ?? address(text('from')),
    to: delivery?.to ?? address(text('to')),
    firstWords: delivery?.firstWords ?? undefined,
  };
  const known = Object.entries(names).filter(([, name]) => name !== undefined);
  return known.length === 0 ? undefined : (Object.fromEntries(known) as Names);
}

const deliveryOf = (tx: Read, id: string | null) => (id === null ? null : readDelivery(tx, id));

function titleOf(tx: Read, kind: string, id: string): string | undefined {
  switch (kind) {
    case 'node':
      return titleOfNode(tx, id);
    case 'run':
      return titleOfRun(tx, id);
    case 'thread':
      return readThread(tx, id)?.title;
    case 'approval':
      return readHold(tx, id)?.question.title;
    default:
      return undefined;
  }
}
