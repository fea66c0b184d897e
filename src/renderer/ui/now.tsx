/** Time on the screen: relative times with the exact one on hover, and durations that count up. One timer for all. */
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';

const NowContext = createContext(0);

/** Ticks once a second while the page is visible. */
export function NowProvider({ children }: { children: ReactNode }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  return <NowContext value={now}>{children}</NowContext>;
}

export function useNow(): number {
  return useContext(NowContext);
}

/** `4 s`, `3:12`, `2:05:40`, `3 d`. */
export function formatElapsed(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const two = (value: number) => String(value).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}:${two(minutes % 60)}:${two(seconds % 60)}`;
  return `${Math.floor(hours / 24)} d`;
}

/** `now`, `2 min ago`, `3 h ago`, then the date. */
export function formatRelative(at: number, now: number): string {
  const seconds = Math.floor((now - at) / 1000);
  if (seconds < 10) return 'now';
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(at).toLocaleDateString(undefined, { month: 'short', day: 'numeric' });
}

/** What `since` goes before: the time of day, with the date where that is not today. */
export function formatMoment(at: number, now: number): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${date.toLocaleDateString(undefined, { month: 'short', day: 'numeric' })}, ${time}`;
}

function exact(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

export function Ago({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={exact(at)} className="tabular-nums">
      {formatRelative(Date.parse(at), now)}
    </time>
  );
}

export function Since({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={exact(at)} className="tabular-nums">
      since {formatMoment(Date.parse(at), now)}
    </time>
  );
}

export function Elapsed({ since }: { since: string }) {
  const now = useNow();
  return (
    <time dateTime={since} title={`Since ${exact(since)}`} className="tabular-nums">
      {formatElapsed(now - Date.parse(since))}
    </time>
  );
}
