/** The computers of the person: which one answers by default, their names, and the end of a pairing. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Monitor, Pencil } from 'lucide-react';
import { useState } from 'react';
import type { Computer } from '../../../contracts/link/computers.ts';
import { skewWords } from '../../../contracts/link/knows.ts';
import { PlaceState } from '../../base/computers.tsx';
import { useServices } from '../../base/services.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Command, ShortId } from '../../ui/copy.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, Since } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { PairWithCloud } from './pair-with-cloud.tsx';
import { Chip, Facts } from './parts.tsx';

/** People usually open this page to wait for a new computer, so it polls often; ms. */
const lookedAtEvery = 2000;

export function ComputersPage() {
  const { api, queries, keys } = useServices();
  const client = useQueryClient();
  const session = useQuery(queries.session).data;
  const computers = useQuery({ ...queries.computers, staleTime: 0, refetchInterval: lookedAtEvery });
  const [revoking, setRevoking] = useState<Computer | null>(null);
  const read = () => client.invalidateQueries({ queryKey: keys.computers });
  return (
    <>
      <Card title="Computers" aside={computers.data === undefined ? undefined : `${computers.data.computers.length}`}>
        <ListStates
          source={computers}
          skeleton={<SkeletonRows count={2} height={60} />}
          isEmpty={(data) => data.computers.length === 0}
          empty={<Empty>Computers that you pair appear here, with their connection status.</Empty>}
        >
          {(data) => (
            <ul>
              {data.computers.map((one) => (
                <ComputerRow
                  key={one.id}
                  computer={one}
                  own={one.id === session?.computer?.id}
                  only={data.computers.length === 1}
                  onRevoke={() => setRevoking(one)}
                  onChanged={read}
                />
              ))}
            </ul>
          )}
        </ListStates>
      </Card>
      {session?.mode === 'headless' && <PairAnother />}
      {session?.mode === 'embedded' && <PairWithCloud />}
      {revoking !== null && (
        <ConfirmDialog
          title={`Revoke ${revoking.name}?`}
          description="This cannot be undone; the computer can be paired again."
          label="Revoke"
          act={async () => {
            await api.computers.revokeComputer({ params: { id: revoking.id } });
            await read();
          }}
          onClose={() => setRevoking(null)}
        >
          <ul className="flex list-disc flex-col gap-1 pl-4 text-muted">
            <li>Its link ends now, with every pane and stream open over it.</li>
            <li>Its keys are revoked. Nobody there can act for you.</li>
            <li>Its bots keep running and can be reached only on that computer.</li>
          </ul>
        </ConfirmDialog>
      )}
    </>
  );
}

function ComputerRow({
  computer,
  own,
  only,
  onRevoke,
  onChanged,
}: {
  computer: Computer;
  /** The computer this very page is served by. */
  own: boolean;
  only: boolean;
  onRevoke: () => void;
  onChanged: () => Promise<void>;
}) {
  const { api } = useServices();
  const [renaming, setRenaming] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  async function change(body: { name?: string; default?: true }): Promise<void> {
    setFailure(null);
    try {
      await api.computers.updateComputer({ params: { id: computer.id }, body });
      await onChanged();
      setRenaming(false);
    } catch (error) {
      setFailure(error);
    }
  }
  const { name, id, since, state } = computer;
  const skew = skewWords(computer.clockAheadMs);
  return (
    <li className="border-b border-line px-3 py-2 last:border-b-0" data-computer={id}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Monitor className="size-4 shrink-0 text-muted" aria-hidden="true" />
        <div className="min-w-0 flex-1 basis-56">
          {renaming ? (
            <RenameForm
              name={name}
              onName={(next) => void change({ name: next })}
              onCancel={() => setRenaming(false)}
            />
          ) : (
            <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
              <span className="min-w-0 break-words font-medium">{name}</span>
              {own && <Chip>this computer</Chip>}
              {computer.default && !only && <Chip>default</Chip>}
              <PlaceState place={{ id, name, scope: id, away: state === 'away', since }} />
            </p>
          )}
          <Facts>
            <ShortId id={id} />
            <span>Gantry {computer.version}</span>
            {skew !== null && <span className="text-ink">its clock is {skew} this cloud’s: set its time</span>}
            <span>
              {computer.embedded ? 'here' : 'paired'}{' '}
              {computer.embedded ? <Since at={computer.pairedAt} /> : <Ago at={computer.pairedAt} />}
            </span>
          </Facts>
        </div>
        {!renaming && (
          <span className="ml-auto flex flex-wrap items-center justify-end gap-2">
            <IconButton label={`Rename ${name}`} onClick={() => setRenaming(true)}>
              <Pencil aria-hidden="true" />
            </IconButton>
            {!computer.default && (
              <Button
                onClick={() => void change({ default: true })}
                aria-label={`Make default: ${name}`}
                title="Used when no computer is named"
              >
                Make default
              </Button>
            )}
            {!computer.embedded && (
              <Button kind="danger" onClick={onRevoke} aria-label={`Revoke ${name}`}>
                Revoke
              </Button>
            )}
          </span>
        )}
      </div>
      {failure !== null && <Problem error={failure} />}
    </li>
  );
}

function RenameForm({
  name,
  onName,
  onCancel,
}: {
  name: string;
  onName: (name: string) => void;
  onCancel: () => void;
}) {
  const [text, setText] = useState(name);
  return (
    <form
      className="flex flex-wrap items-center gap-2 pb-1"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== '') onName(text.trim());
      }}
      onKeyDown={(event) => event.key === 'Escape' && onCancel()}
    >
      <input
        aria-label={`New name for ${name}`}
        value={text}
        maxLength={120}
        ref={(element) => element?.focus()}
        onChange={(event) => setText(event.target.value)}
        className="h-7 min-w-0 flex-1 rounded-control border border-line bg-window px-2 pointer-coarse:h-10"
      />
      <Button type="submit" kind="primary" disabled={text.trim() === ''}>
        Rename
      </Button>
      <Button kind="quiet" onClick={onCancel}>
        Cancel
      </Button>
    </form>
  );
}

function PairAnother() {
  return (
    <Card title="Pair a computer">
      <div className="flex flex-col items-start gap-2 px-3 py-2.5">
        <p className="text-muted">
          Run this on the computer and follow the link that it prints. Without a terminal, open Gantry there and pair it
          under Settings, Computers.
        </p>
        <Command text={`npx gantry pair ${window.location.origin}`} />
        <Link to="/pair" className="text-muted underline decoration-line-strong hover:text-ink">
          Enter the code that it shows
        </Link>
      </div>
    </Card>
  );
}
