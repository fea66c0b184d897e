/** What was proven since the person last looked at Home, newest first. Gone once nothing is new. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { z } from 'zod';
import { useServices } from '../../base/services.tsx';
import { Card } from '../../ui/card.tsx';
import { Ago } from '../../ui/now.tsx';
import { nodeStatus, StatusIcon } from '../../ui/status.tsx';

const lookedKey = 'gantry.home-looked';
/** Of one look. */
const most = 8;

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

export function ProvenCard() {
  const { api, keys } = useServices();
  const since = useLastLook();
  const rows = useQuery({
    // Keyed under the ledger, so that newly proven work is read automatically.
    queryKey: [...keys.ledgers, 'proven'],
    queryFn: ({ signal }) => api.factory.queryLedger({ query: { type: 'proof.recorded', limit: 30 } }, { signal }),
    enabled: since !== null,
  });
  const proven = (rows.data?.rows ?? []).flatMap(({ id, at, body }) => {
    const proof = Proven.safeParse(body).data;
    return proof === undefined || since === null || at <= since ? [] : [{ id, at, ...proof }];
  });
  if (proven.length === 0) return null;
  return (
    <Card
      title="Proven since you last looked"
      aside={
        <span>
          {proven.length > most && `${proven.length} · `}since <Ago at={since ?? ''} />
        </span>
      }
    >
      <ul>
        {proven.slice(0, most).map(({ id, at, dagId, nodeId, line }) => (
          <li key={id}>
            <Link
              to="/work"
              search={{ dag: dagId, node: nodeId, view: 'graph' }}
              className="flex h-8 items-center gap-2 px-3 hover:bg-raised pointer-coarse:h-10"
            >
              <span className="text-proven">
                <StatusIcon look={nodeStatus.done} />
              </span>
              <span className="min-w-0 flex-1 truncate">{line}</span>
              <span className="shrink-0 text-meta text-faint">
                <Ago at={at} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  );
}
