/** What ended since the person last looked at Home: runs that wait for an outcome, and what was proven. Gone once nothing is new. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { z } from 'zod';
import { useServices } from '../../base/services.tsx';
import { Card } from '../../ui/card.tsx';
import { Ago } from '../../ui/now.tsx';
import { ProvenRow } from './proven-row.tsx';
import { endedRows } from './quick-rows.ts';
import { QuickRunList } from './quick-run-list.tsx';
import { useQuickRuns } from './quick-runs.ts';

const lookedKey = 'gantry.home-looked';
/** Of one look. */
const max = 8;

const Proven = z.object({ dagId: z.string(), nodeId: z.string(), outcome: z.literal('proven'), line: z.string() });

/** When Home was looked at before; it counts as looked at once it is left. Null: never. */
function useLastLook(): string | null {
  const [before] = useState(() => localStorage.getItem(lookedKey));
  useEffect(() => {
    const looked = (): void => localStorage.setItem(lookedKey, new Date().toISOString());
    window.addEventListener('pagehide', looked);
    return () => {
      window.removeEventListener('pagehide', looked);
      looked();
    };
  }, []);
  return before;
}

export function SinceCard() {
  const { api, keys } = useServices();
  const since = useLastLook();
  const runs = useQuickRuns().data?.runs ?? [];
  const ended = endedRows(runs, since);
  const rows = useQuery({
    // Keyed under the ledger, so that newly proven work is read automatically.
    queryKey: [...keys.ledgers, 'proven'],
    queryFn: ({ signal }) => api.factory.queryLedger({ query: { type: 'proof.recorded', limit: 30 } }, { signal }),
    enabled: since !== null,
  });
  const proven = (rows.data?.rows ?? []).flatMap(({ id, at, body }) => {
    const proof = Proven.safeParse(body).data;
    if (proof === undefined || since === null || at <= since || runs.some((run) => run.id === proof.dagId)) return [];
    return [{ id, at, ...proof }];
  });
  if (proven.length === 0 && ended.length === 0) return null;
  return (
    <Card
      title="Since you last looked"
      aside={
        <span>
          {proven.length > max && `${proven.length} proven`}
          {proven.length > max && since !== null && ' · '}
          {since !== null && (
            <>
              since <Ago at={since} />
            </>
          )}
        </span>
      }
    >
      <QuickRunList rows={ended} ended label="Ended runs" first={max} what="ended runs" />
      <ul>
        {proven.slice(0, max).map((one) => (
          <ProvenRow key={one.id} proven={one} />
        ))}
      </ul>
    </Card>
  );
}
