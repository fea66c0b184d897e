/** One line at the foot: which computer, the link to it, the home cloud, live panes, who needs a person, the last event. */
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from '@tanstack/react-router';
import { Bell, BellDot, Cloud, Hand, Monitor, TerminalSquare } from 'lucide-react';
import { memo } from 'react';
import { ComputerSelect, PlaceState, useOnlyComputer } from '../base/computers.tsx';
import type { Place } from '../base/data/places.ts';
import { useBots, usePlaces } from '../base/floors.tsx';
import { useFeed, useLink, useServices } from '../base/services.tsx';
import { useHomeCloud } from '../base/use-home-cloud.ts';
import { useUnread } from '../base/use-news.ts';
import { useWaiting } from '../base/use-waiting.ts';
import { costOf, tokensOf } from '../ui/money.ts';
import { Ago, formatMoment, Since, useNow } from '../ui/now.tsx';
import { computerStatus, connectionStatus, Status } from '../ui/status.tsx';

/** Where there is no status bar: one line, and only while something is wrong. */
export function LinkNotice() {
  const link = useLink();
  const here = usePlaceHere();
  if (link.kind === 'linked' || link.kind === 'linking') return null;
  return (
    <p role="status" className="flex h-7 shrink-0 items-center gap-2 border-t border-line bg-raised px-3 text-meta">
      {here === undefined ? noComputer : here.away && <span className="truncate">{here.name}</span>}
      <HereStatus />
    </p>
  );
}

const noComputer = 'No computer';

/** The computer that answers when none is named. */
function usePlaceHere(): Place | undefined {
  return usePlaces().find((place) => place.scope === null);
}

function HereStatus() {
  const here = usePlaceHere();
  if (here === undefined) return null;
  return here.away ? <PlaceState place={here} /> : <LinkStatus />;
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
    return <Status look={{ ...look, word: `Off since ${formatMoment(link.since, now)}` }} wire={link.kind} />;
  }
  return <Status look={look} wire={link.kind} />;
}

function Home() {
  const home = useHomeCloud();
  if (home === null) return null;
  const { name, linked, since } = home;
  return (
    <span
      className="hidden min-w-0 items-center gap-1.5 whitespace-nowrap sm:inline-flex"
      title={since === null ? 'Home cloud' : `Home cloud, since ${new Date(since).toLocaleString()}`}
    >
      <Cloud className="size-3.5 shrink-0" aria-hidden="true" />
      <span className="sr-only">Home cloud: </span>
      <span className="truncate">{name}</span>
      {linked === false && (
        <>
          <Status look={computerStatus.away} wire="away" />
          {since !== null && <Since at={since} />}
        </>
      )}
    </span>
  );
}

/** Transcripts are read without an event; ms. */
const spendingEvery = 60_000;

/** Pages of the person, or of all computers; the others show one. */
const ofAll: readonly string[] = ['/', '/floor', '/inbox'];

function WhichComputer() {
  const places = usePlaces();
  const { pathname } = useLocation();
  const only = useOnlyComputer();
  const place = places.find((one) => (only === null ? one.scope === null : one.id === only));
  if (places.length > 1) {
    return (
      <span className="inline-flex items-center gap-1.5 whitespace-nowrap">
        <Monitor className="size-3.5" aria-hidden="true" />
        <ComputerSelect all={ofAll.includes(pathname) ? 'All computers' : null} />
      </span>
    );
  }
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap" title={place?.id}>
      <Monitor className="size-3.5" aria-hidden="true" />
      {place?.name ?? noComputer}
    </span>
  );
}

/** Its parts are drawn again one by one: each says something that changes at another time. */
export const StatusBar = memo(function StatusBar() {
  const { queries } = useServices();
  const version = useQuery(queries.session).data?.version ?? '';
  return (
    <footer className="flex h-6 shrink-0 items-center gap-4 overflow-hidden border-t border-line bg-panel px-3 text-meta text-muted">
      <WhichComputer />
      <HereStatus />
      <Home />
      <LivePanes />
      <Needs />
      <SpentToday />
      <LastEvent />
      <Unread />
      <span className="hidden whitespace-nowrap text-faint md:inline">Gantry {version}</span>
    </footer>
  );
});

function LivePanes() {
  const { queries } = useServices();
  const here = usePlaceHere();
  const running = useQuery({
    ...queries.agents,
    enabled: here !== undefined && !here.away,
    select: ({ engine }) => engine.running,
  }).data;
  const live = useBots().filter((bot) => !bot.place.away && bot.pane !== null).length;
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap tabular-nums">
      <TerminalSquare className="size-3.5" aria-hidden="true" />
      {running === false ? 'Panes are unavailable' : `${live} ${live === 1 ? 'pane' : 'panes'} live`}
    </span>
  );
}

function Needs() {
  const waiting = useWaiting();
  const need = waiting.approvals + waiting.bots + waiting.steps;
  if (need === 0) return null;
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap text-need tabular-nums">
      <Hand className="size-3.5" aria-hidden="true" />
      {need} {need === 1 ? 'needs' : 'need'} you
    </span>
  );
}

function LastEvent() {
  const { queries } = useServices();
  const here = usePlaceHere();
  const feed = useFeed();
  const before = useQuery({ ...queries.lastEvent, enabled: here !== undefined && !here.away }).data ?? undefined;
  const last = feed[0]?.event.at ?? before;
  return (
    <span className="ml-auto hidden whitespace-nowrap sm:inline">
      {last === undefined ? (
        'No events yet'
      ) : (
        <>
          Last event <Ago at={last} />
        </>
      )}
    </span>
  );
}

/** What the bots of this computer used today; nothing while that is nothing. */
function SpentToday() {
  const { queries } = useServices();
  const here = usePlaceHere();
  const spending = useQuery({
    ...queries.spending,
    enabled: here !== undefined && !here.away,
    refetchInterval: spendingEvery,
  }).data;
  if (spending === undefined || spending.today.requests === 0) return null;
  const { today } = spending;
  const tokens = tokensOf(today);
  // Of models whose price nobody knows, what is known is how much they did.
  const priced = today.unpriced < today.requests;
  if (!priced && tokens === '') return null;
  return (
    <Link
      to="/settings/usage"
      title={priced ? tokens : 'The cost of these models is unknown'}
      className="hidden whitespace-nowrap tabular-nums hover:text-ink md:inline"
    >
      {priced ? costOf(today) : tokens} today
    </Link>
  );
}

function Unread() {
  const unread = useUnread();
  return (
    <Link
      to="/inbox"
      aria-label={
        unread === 0 ? 'Notifications' : `${unread} unread ${unread === 1 ? 'notification' : 'notifications'}`
      }
      title="Notifications"
      className="inline-flex items-center gap-1 rounded-control tabular-nums hover:text-ink"
    >
      {unread === 0 ? (
        <Bell className="size-3.5" aria-hidden="true" />
      ) : (
        <BellDot className="size-3.5" aria-hidden="true" />
      )}
      {unread > 0 && unread}
    </Link>
  );
}
