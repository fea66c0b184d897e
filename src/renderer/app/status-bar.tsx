/** One line at the foot: this computer, the link to it, live panes, who needs a person, the last event. */
import { useQuery } from '@tanstack/react-query';
import { Hand, Monitor, TerminalSquare } from 'lucide-react';
import { Ago, useNow } from '../ui/now.tsx';
import { connectionStatus, Status } from '../ui/status.tsx';
import { useFeed, useLink, useServices } from './services.tsx';
import { useWaiting } from './use-waiting.ts';

/** Where there is no status bar: one line, and only while something is wrong. */
export function LinkNotice() {
  const link = useLink();
  if (link.kind === 'linked' || link.kind === 'linking') return null;
  return (
    <p role="status" className="flex h-7 shrink-0 items-center border-t border-line bg-raised px-3 text-meta">
      <LinkStatus />
    </p>
  );
}

function LinkStatus() {
  const link = useLink();
  const now = useNow();
  const look = connectionStatus[link.kind];
  if (link.kind === 'reconnecting' && link.retryAt !== null) {
    const seconds = Math.max(0, Math.ceil((link.retryAt - now) / 1000));
    return (
      <Status
        look={{ ...look, word: seconds === 0 ? 'Reconnecting' : `Reconnecting in ${seconds} s` }}
        wire={link.kind}
      />
    );
  }
  if (link.kind === 'off') {
    const since = new Date(link.since).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
    return <Status look={{ ...look, word: `Off since ${since}` }} wire={link.kind} />;
  }
  return <Status look={look} wire={link.kind} />;
}

export function StatusBar() {
  const { queries } = useServices();
  const session = useQuery(queries.session);
  const agents = useQuery(queries.agents);
  const feed = useFeed();
  const list = agents.data?.agents ?? [];
  const live = list.filter((agent) => agent.pane !== null).length;
  const waiting = useWaiting();
  const need = waiting.approvals + waiting.bots + waiting.steps;
  const engine = agents.data?.engine;
  const before = useQuery(queries.lastEvent).data ?? undefined;
  const last = feed[0]?.event.at ?? before;
  return (
    <footer className="flex h-6 shrink-0 items-center gap-4 overflow-hidden border-t border-line bg-panel px-3 text-meta text-muted">
      <span className="inline-flex items-center gap-1.5 whitespace-nowrap" title={session.data?.computer?.id}>
        <Monitor className="size-3.5" aria-hidden="true" />
        {session.data?.computer?.name ?? 'This computer'}
      </span>
      <LinkStatus />
      <span className="inline-flex items-center gap-1.5 whitespace-nowrap tabular-nums">
        <TerminalSquare className="size-3.5" aria-hidden="true" />
        {engine !== undefined && !engine.running
          ? 'Panes cannot be read'
          : `${live} ${live === 1 ? 'pane' : 'panes'} live`}
      </span>
      {need > 0 && (
        <span className="inline-flex items-center gap-1.5 whitespace-nowrap text-need tabular-nums">
          <Hand className="size-3.5" aria-hidden="true" />
          {need} {need === 1 ? 'needs' : 'need'} you
        </span>
      )}
      <span className="ml-auto hidden whitespace-nowrap sm:inline">
        {last === undefined ? (
          'No event yet'
        ) : (
          <>
            Last event <Ago at={last} />
          </>
        )}
      </span>
      <span className="hidden whitespace-nowrap text-faint md:inline">Gantry {session.data?.version ?? ''}</span>
    </footer>
  );
}
