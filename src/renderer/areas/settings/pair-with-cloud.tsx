/**
 * Pairing this computer with a cloud: its address, then a code that a signed-in person approves there, then how its link is.
 * The server here does the asking and the waiting; this shows it.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ExternalLink } from 'lucide-react';
import { useState } from 'react';
import { skewWords } from '../../../contracts/link/knows.ts';
import type { LocalPairing } from '../../../contracts/link/local-pairing.ts';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Command } from '../../ui/copy.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { formatElapsed, Since, useNow } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { computerStatus, Status } from '../../ui/status.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { Chip } from './parts.tsx';

/** While a code waits to be approved elsewhere nothing tells of it here; ms. */
const waitingEvery = 2000;
const restingEvery = 10_000;

export function PairWithCloud() {
  const { queries } = useServices();
  const pairing = useQuery({
    ...queries.pairing,
    refetchInterval: (query) => (query.state.data?.state === 'waiting' ? waitingEvery : restingEvery),
  });
  return (
    <Card title="Reach this computer from elsewhere">
      <ListStates source={pairing} skeleton={<SkeletonRows count={3} />} isEmpty={() => false} empty={null}>
        {(data) => (
          <div className="flex flex-col gap-3 px-3 py-2.5">
            {data.problem !== undefined && <p className="break-words text-fail">{data.problem}</p>}
            {data.state === 'unpaired' && <Unpaired />}
            {data.state === 'waiting' && <Waiting pairing={data} />}
            {data.state === 'paired' && <Paired pairing={data} />}
          </div>
        )}
      </ListStates>
    </Card>
  );
}

function usePut() {
  const { keys } = useServices();
  const client = useQueryClient();
  return (answer: object): void => {
    if ('state' in answer) client.setQueryData(keys.pairing, answer);
    else void client.invalidateQueries({ queryKey: keys.pairing });
    void client.invalidateQueries({ queryKey: keys.computers });
  };
}

function Unpaired() {
  const { api } = useServices();
  const put = usePut();
  const [url, setUrl] = useState('');
  const { busy, failure, run } = useAct(async () => {
    put(await api.pairing.startLocalPairing({ body: { cloudUrl: url.trim() } }));
  });
  return (
    <form
      className="flex flex-col items-start gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (url.trim() !== '') run();
      }}
    >
      <p className="text-muted">
        Pair this computer with a Gantry cloud to reach it and get its notifications on your other devices. Bots stay
        here and keep working while the cloud is away.
      </p>
      <div className="flex w-full flex-wrap items-end gap-2">
        <div className="min-w-52 flex-1">
          <TextField
            label="Cloud address"
            value={url}
            type="text"
            inputMode="url"
            placeholder="https://gantry.example.com"
            spellCheck={false}
            onChange={setUrl}
          />
        </div>
        <Button kind="primary" type="submit" disabled={busy || url.trim() === ''}>
          {busy ? 'Pairing' : 'Pair with this cloud'}
        </Button>
      </div>
      {failure !== null && <Problem error={failure} />}
    </form>
  );
}

function Waiting({ pairing }: { pairing: LocalPairing }) {
  const { api } = useServices();
  const put = usePut();
  const now = useNow();
  const link = pairing.verificationUri;
  return (
    <div className="flex flex-col items-start gap-3">
      <p className="text-muted">
        Open this link where you are signed in at {hostOf(pairing.cloudUrl)}, enter this code, and approve:
      </p>
      <p className="font-mono text-page tracking-[0.12em]" data-code="true">
        {pairing.userCode}
      </p>
      {link !== undefined && (
        <div className="flex max-w-full flex-wrap items-center gap-2">
          <Command text={link} />
          <a
            href={link}
            target="_blank"
            rel="noreferrer"
            className="inline-flex h-7 items-center gap-1.5 rounded-control border border-line bg-raised px-2.5 hover:border-line-strong pointer-coarse:h-10"
          >
            <ExternalLink className="size-3.5" aria-hidden="true" /> Open here
          </a>
        </div>
      )}
      <p role="status" className="text-muted">
        Waiting for your approval
        {pairing.expiresAt !== undefined && (
          <span className="tabular-nums">; {formatElapsed(Date.parse(pairing.expiresAt) - now)} left</span>
        )}
        .
      </p>
      <Button onClick={() => void api.pairing.endLocalPairing({ query: {} }).then(put)}>Stop waiting</Button>
    </div>
  );
}

function Paired({ pairing }: { pairing: LocalPairing }) {
  const { api } = useServices();
  const put = usePut();
  const [ending, setEnding] = useState(false);
  const { link, user, cloudUrl, clockBehindMs } = pairing;
  const skew = skewWords(clockBehindMs === undefined ? undefined : -clockBehindMs);
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <div className="min-w-52 flex-1">
        <p className="flex flex-wrap items-center gap-2">
          <span className="min-w-0 break-words font-medium">{hostOf(cloudUrl)}</span>
          {link !== undefined && (
            <Status look={computerStatus[link.linked ? 'linked' : 'away']} wire={link.linked ? 'linked' : 'away'} />
          )}
          {link !== undefined && (
            <span className="text-meta text-muted">
              <Since at={link.since} />
            </span>
          )}
          <Chip>home cloud</Chip>
        </p>
        <p className="text-muted">
          Paired by {user?.name ?? 'you'}. This computer’s approvals, notifications and spending are there.
        </p>
        {skew !== null && <p>The clock of this computer is {skew} its cloud’s: set its time.</p>}
      </div>
      <Button kind="danger" onClick={() => setEnding(true)}>
        Unpair
      </Button>
      {ending && (
        <ConfirmDialog
          title={`Unpair from ${hostOf(cloudUrl)}?`}
          description="This computer becomes its own home again."
          label="Unpair"
          act={async () => put(await api.pairing.endLocalPairing({ query: {} }))}
          onClose={() => setEnding(false)}
        >
          <ul className="flex list-disc flex-col gap-1 pl-4 text-muted">
            <li>It can no longer be reached from elsewhere. Bots keep running here.</li>
            <li>Approvals that wait at the cloud can no longer be answered there.</li>
            <li>Bots that your other computers started here can be stopped only from this computer.</li>
          </ul>
        </ConfirmDialog>
      )}
    </div>
  );
}

function hostOf(url: string | undefined): string {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : (url ?? 'the cloud');
}
