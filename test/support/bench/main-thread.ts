/** What the main thread of a page does, from Chromium's own trace. */
import type { Browser, Page } from 'playwright';

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

export interface MainThread {
  /** Each task: milliseconds by the clock, and of CPU where this Chromium tells them. */
  readonly tasks: readonly { readonly wall: number; readonly cpu: number | null }[];
  /** What all tasks together took, from the beginning of one frame to that of the next; CPU where it is told. Milliseconds. */
  readonly frames: readonly number[];
  /** Whether the times of `frames` are CPU. */
  readonly inCpu: boolean;
}

/** Traces the page while `work` runs. */
export async function traceMain(browser: Browser, page: Page, work: () => Promise<void>): Promise<MainThread> {
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline'] });
  await work();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  return mainThreadOf(traceEvents);
}

/** Of the page's own main thread: the renderer with the most to do. */
function mainThreadOf(events: readonly TraceEvent[]): MainThread {
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
  const mains = new Set(
    events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain').map(threadOf),
  );
  const byThread = new Map<string, TraceEvent[]>();
  for (const event of events) {
    const thread = threadOf(event);
    if (event.ph !== 'X' || !/(^|::)RunTask$/.test(event.name) || !mains.has(thread)) continue;
    byThread.set(thread, [...(byThread.get(thread) ?? []), event]);
  }
  const [thread, busiest] = [...byThread].sort(([, a], [, b]) => b.length - a.length)[0] ?? [];
  if (busiest === undefined) throw new Error('The trace holds no task of a page.');
  const inCpu = busiest.some(({ tdur }) => tdur !== undefined);
  const begins = events
    .filter((event) => event.name === 'FireAnimationFrame' && threadOf(event) === thread)
    .map(({ ts }) => ts)
    .sort((a, b) => a - b);
  return {
    tasks: busiest.map(({ dur, tdur }) => ({
      wall: (dur ?? 0) / 1000,
      cpu: tdur === undefined ? null : tdur / 1000,
    })),
    frames: framesOf(begins, busiest),
    inCpu,
  };
}

/** A task counts for the frame in which it began; what lies before the first frame and after the last is of neither. */
function framesOf(begins: readonly number[], tasks: readonly TraceEvent[]): number[] {
  const frames = begins.slice(1).map(() => 0);
  let at = 0;
  for (const { ts, dur, tdur } of tasks.toSorted((a, b) => a.ts - b.ts)) {
    while (at < begins.length && (begins[at] ?? 0) <= ts) at += 1;
    const frame = at - 1;
    if (frame >= 0 && frame < frames.length) frames[frame] = (frames[frame] ?? 0) + (tdur ?? dur ?? 0) / 1000;
  }
  return frames;
}
