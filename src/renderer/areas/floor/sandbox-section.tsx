/** What a bot can reach, read, change and spend, tried from inside of its sandbox when a person asks. */
import { useQuery } from '@tanstack/react-query';
import { ShieldCheck } from 'lucide-react';
import { useState } from 'react';
import type { Agent } from '../../../contracts/factory/agent.ts';
import type { SandboxRow } from '../../../contracts/factory/sandbox-routes.ts';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';

const topics: Readonly<Record<SandboxRow['topic'], string>> = {
  files: 'Files',
  network: 'Network',
  processes: 'Processes',
  keys: 'Keys',
  spending: 'Spending',
};

const foundWords: Readonly<Record<SandboxRow['found'], string>> = {
  change: 'can change',
  read: 'can read',
  see: 'can see',
  reach: 'can reach',
  nothing: 'nothing',
  set: 'set',
  open: 'no limit',
};

export function SandboxSection({ agent }: { agent: Agent }) {
  const { queries } = useServices();
  const [asked, setAsked] = useState(false);
  const tried = useQuery({ ...queries.sandboxTry(agent), enabled: asked, staleTime: 0, retry: false });
  const one = tried.data?.bots[0];
  return (
    <section aria-label="Sandbox">
      <div className="flex items-center gap-2 px-3 pb-1">
        <h2 className="flex-1 font-semibold">Sandbox: {agent.sandbox ?? 'none'}</h2>
        <Button
          icon={ShieldCheck}
          disabled={tried.isFetching}
          onClick={() => (asked ? void tried.refetch() : setAsked(true))}
        >
          {asked ? 'Try again' : 'Try it'}
        </Button>
      </div>
      {!asked ? (
        <p className="px-3 text-muted">
          A small program tries from inside what this bot can reach, read, change and spend. It changes nothing.
        </p>
      ) : (
        <ListStates source={tried} skeleton={<SkeletonRows count={6} height={24} />} isEmpty={() => false} empty={null}>
          {() =>
            one !== undefined && (
              <>
                {one.trouble !== null && <p className="px-3 break-words text-fail">{one.trouble}</p>}
                {Object.entries(topics).map(([topic, title]) => (
                  <Topic key={topic} title={title} rows={one.rows.filter((row) => row.topic === topic)} />
                ))}
              </>
            )
          }
        </ListStates>
      )}
    </section>
  );
}

function Topic({ title, rows }: { title: string; rows: readonly SandboxRow[] }) {
  if (rows.length === 0) return null;
  return (
    <>
      <h3 className="px-3 pt-1.5 text-meta text-muted">{title}</h3>
      <ul className="px-3 text-meta">
        {rows.map(({ what, found, note }) => (
          <li key={what} className="flex gap-2 py-0.5">
            <span className="min-w-0 flex-1">
              <span className="block font-mono break-all">{what}</span>
              {note !== null && <span className="block break-words text-muted">{note}</span>}
            </span>
            <span className={`shrink-0 ${found === 'nothing' ? 'text-faint' : ''}`}>{foundWords[found]}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
