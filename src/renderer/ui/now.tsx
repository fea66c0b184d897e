/** Time on the screen: relative times with the exact one on hover, and durations that count up. One timer for all. */
import { createContext, type ReactNode, use, useEffect, useMemo, useState, useSyncExternalStore } from 'react';

interface Clock {
  now(): number;
  subscribe(listener: () => void): () => void;
  tick(): void;
}

function createClock(start: number): Clock {
  const listeners = new Set<() => void>();
  let now = start;
  return {
    now: () => now,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tick() {
      now = Date.now();
      for (const listener of listeners) listener();
    },
  };
}

const ClockContext = createContext(createClock(0));

/** Ticks once a second while the page is visible. */
export function NowProvider({ children }: { children: ReactNode }) {
  const [clock] = useState(() => createClock(Date.now()));
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) clock.tick();
    }, 1000);
    return () => clearInterval(timer);
  }, [clock]);
  return <ClockContext value={clock}>{children}</ClockContext>;
}

/** What `of` makes of the time now. The caller is drawn again only when that changes, so return something that compares with `===`. */
export function useOfNow<T>(of: (now: number) => T): T {
  const clock = use(ClockContext);
  return useSyncExternalStore(clock.subscribe, () => of(clock.now()));
}

export function useNow(): number {
  return useOfNow((now) => now);
}

// Made once: to make one costs a hundred times what it costs to write a time with it.
const exactWriter = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const dayWriter = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const minuteWriter = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

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
  return written(dayWriter, at);
}

/** What `since` goes before: the time of day, with the date where that is not today. */
export function formatMoment(at: number, now: number): string {
  const date = new Date(at);
  const time = written(minuteWriter, date);
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${written(dayWriter, date)}, ${time}`;
}

/** What the formatters write for a time that cannot be read; by themselves they throw. */
const written = (writer: Intl.DateTimeFormat, at: number | Date): string =>
  Number.isNaN(Number(at)) ? 'unknown' : writer.format(at);

/** The date and the time of day, with seconds. */
export function useExact(at: string): string {
  return useMemo(() => {
    const time = Date.parse(at);
    return Number.isNaN(time) ? at : exactWriter.format(time);
  }, [at]);
}

export function Ago({ at }: { at: string }) {
  const text = useOfNow((now) => formatRelative(Date.parse(at), now));
  return (
    <time dateTime={at} title={useExact(at)} className="tabular-nums">
      {text}
    </time>
  );
}

export function Since({ at }: { at: string }) {
  const text = useOfNow((now) => formatMoment(Date.parse(at), now));
  return (
    <time dateTime={at} title={useExact(at)} className="tabular-nums">
      since {text}
    </time>
  );
}

export function Elapsed({ since }: { since: string }) {
  const text = useOfNow((now) => formatElapsed(now - Date.parse(since)));
  return (
    <time dateTime={since} title={`Since ${useExact(since)}`} className="tabular-nums">
      {text}
    </time>
  );
}
