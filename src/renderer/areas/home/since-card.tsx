/** What ended since the person last looked at Home: runs that wait for an outcome, and what was proven. Gone once nothing is new. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { z } from 'zod';
import type { LedgerRow } from '../../../contracts/factory/work-engine/ledger.ts';
import { useServices } from '../../base/services.tsx';
import { Card } from '../../ui/card.tsx';
import { Since } from '../../ui/now.tsx';
import { endedRows } from '../floor/runs/quick-rows.ts';
import { useQuickRuns } from '../floor/runs/quick-runs.ts';
import { ProvenRow, type ProvenStep } from './proven-row.tsx';
import { QuickRunList } from './quick-run-list.tsx';

const lookedKey = 'gantry.home-looked';
/** Of one look. */
const max = 8;

const Proof = z.object({ dagId: z.string(), nodeId: z.string(), outcome: z.literal('proven'), line: z.string() });

/** One row a step with all that was proven of it, the newest first. */
function provenSteps(rows: readonly LedgerRow[], since: string): readonly ProvenStep[] {
  const steps = new Map<string, ProvenStep>();
  for (const { at, body, names } of rows) {
    const proof = Proof.safeParse(body).data;
    if (proof === undefined || at <= since) continue;
    const { dagId, nodeId, line } = proof;
    const newer = steps.get(nodeId) ?? { at, dagId, nodeId, title: names?.title ?? nodeId, lines: [] };
    steps.set(nodeId, { ...newer, lines: [line, ...newer.lines.filter((one) => one !== line)] });
  }
  return [...steps.values()];
}

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
  const proven = (since === null ? [] : provenSteps(rows.data?.rows ?? [], since)).filter(
    ({ dagId }) => !runs.some((run) => run.id === dagId),
  );
  if (proven.length === 0 && ended.length === 0) return null;
  return (
    <Card
      title="Since you last looked"
      aside={
        <span>
          {proven.length > max && `${proven.length} proven`}
          {proven.length > max && since !== null && ' · '}
          {since !== null && <Since at={since} />}
        </span>
      }
    >
      <QuickRunList rows={ended} ended label="Ended runs" first={max} what="ended runs" />
      <ul>
        {proven.slice(0, max).map((one) => (
          <ProvenRow key={one.nodeId} proven={one} />
        ))}
      </ul>
    </Card>
  );
}
