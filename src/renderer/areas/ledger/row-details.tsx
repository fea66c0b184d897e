/** One row of the ledger, in full. */
import { ArrowLeft, X } from 'lucide-react';
import type { LedgerRow } from '../../../contracts/factory/work-engine/ledger.ts';
import { ledgerSentence } from '../../../contracts/factory/work-engine/ledger-words.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { ShortId } from '../../ui/copy.tsx';
import { Fact } from '../../ui/fact.tsx';
import { Ago } from '../../ui/now.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { useActorName } from './use-actor-name.ts';

export function RowDetails({
  row,
  tight,
  onClose,
  onFilter,
}: {
  row: LedgerRow;
  tight: boolean;
  onClose: () => void;
  onFilter: (change: { subject: string }) => void;
}) {
  const nameOf = useActorName();
  return (
    <section aria-label={`Row ${row.id}`} className="flex min-h-0 flex-1 flex-col bg-panel">
      <header className="flex h-10 shrink-0 items-center gap-2 border-b border-line pr-2 pl-3">
        {tight && (
          <IconButton label="Back to the rows" onClick={onClose}>
            <ArrowLeft aria-hidden="true" />
          </IconButton>
        )}
        <h2 className="min-w-0 flex-1 truncate text-title font-semibold">
          Row <span className="font-normal text-muted tabular-nums">{row.id}</span>
        </h2>
        {!tight && (
          <IconButton label="Close the row" shortcut="Esc" onClick={onClose}>
            <X aria-hidden="true" />
          </IconButton>
        )}
      </header>
      <div className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto p-3">
        <p className="break-words">{ledgerSentence(row)}</p>
        <dl className="flex flex-col gap-1">
          <Fact name="When">
            <Ago at={row.at} /> <span className="text-muted">{row.at}</span>
          </Fact>
          <Fact name="Kind">
            <span className="font-mono text-code">{row.type}</span>
          </Fact>
          <Fact name="Subject">
            <span className="font-mono text-code">{row.subject}</span>
          </Fact>
          <Fact name="Actor">
            <span title={row.actor}>{nameOf(row)}</span> <span className="text-muted">via {row.surface}</span>
          </Fact>
          <Fact name="Hash">
            <ShortId id={row.hash} />
          </Fact>
        </dl>
        <div>
          <Button onClick={() => onFilter({ subject: row.subject })}>Show all rows of this subject</Button>
        </div>
        {row.body === null ? (
          <p className="text-fail">This row cannot be read. Press Verify to see what is wrong with it.</p>
        ) : (
          <TextView text={JSON.stringify(row.body, null, 2)} label="Body" maxLines={40} />
        )}
      </div>
    </section>
  );
}
