/**
 * The page's one event stream: keeps the query cache current, remembers the last events for the feed, and reports the state of the link to Gantry.
 * Must not know how any of it is shown.
 */
import type { QueryClient } from '@tanstack/react-query';
import type { Agent } from '../../../contracts/factory/agent.ts';
import type { Api } from './api.ts';
import { createEventCache, type KnownEvent, parseFactoryEvent } from './event-cache.ts';
import type { Keys } from './keys.ts';
import type { Slot, StreamSlots } from './stream-slots.ts';

/** How often a window without its own stream reads the lists again, in ms. */
const readEvery = 3000;

/** One event is shown at once; those that follow it faster than a person reads are shown together, so often at most, in ms. */
const showEvery = 100;

/** What changes together is drawn in two turns, ms apart: first the lists, then the feed, so that neither holds up a frame for long. */
const feedAfter = 40;

/** Events kept for the feed; more is in the ledger. */
const feedLength = 200;

export interface FeedEntry {
  readonly key: string;
  readonly event: KnownEvent;
  /** Address of the bot that it names by its id, as it was when the event came: the bot may be gone when a person reads it. */
  readonly who?: string;
}

export interface LinkState {
  readonly kind: 'linking' | 'linked' | 'reconnecting' | 'off';
  /** When the next try is, in ms since the epoch; only while reconnecting. */
  readonly retryAt: number | null;
  /** Why it is off: a sentence and what to do. */
  readonly error: unknown;
  /** When the state was entered, ms since the epoch. */
  readonly since: number;
}

export interface Events {
  link(): LinkState;
  feed(): readonly FeedEntry[];
  subscribe(listener: () => void): () => void;
  /** Idempotent. */
  start(): void;
  /** Nothing is read any more until it is started again. */
  stop(): void;
}

export function createEvents(
  {
    api,
    client,
    keys,
    slots,
  }: {
    readonly api: Api;
    readonly client: QueryClient;
    readonly keys: Keys;
    readonly slots: StreamSlots;
  },
  now: () => number = Date.now,
): Events {
  const cache = createEventCache(client, keys, (team) => api.factory.listAgents({ query: { team } }));
  const listeners = new Set<() => void>();
  let link: LinkState = { kind: 'linking', retryAt: null, error: null, since: now() };
  let feed: readonly FeedEntry[] = [];
  let stop: (() => void) | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  /** Grows with each start and stop, so that work of an earlier one ends. */
  let turn = 0;
  let running = false;
  let wasOpen = false;
  let count = 0;
  let gathered: FeedEntry[] = [];
  let shown = Number.NEGATIVE_INFINITY;
  let showTimer: ReturnType<typeof setTimeout> | null = null;
  /** Oldest first. */
  let unfed: FeedEntry[] = [];
  let feedTimer: ReturnType<typeof setTimeout> | null = null;

  function tell(): void {
    for (const listener of listeners) listener();
  }
  function setLink(next: Omit<LinkState, 'since'>): void {
    link = { ...next, since: next.kind === link.kind ? link.since : now() };
    tell();
  }

  function show(): void {
    if (showTimer !== null) clearTimeout(showTimer);
    showTimer = null;
    if (gathered.length === 0) return;
    shown = now();
    const entries = gathered;
    gathered = [];
    cache.apply(...entries.map(({ event }) => event));
    unfed.push(...entries);
    if (entries.length === 1) showFeed();
    else feedTimer ??= setTimeout(showFeed, feedAfter);
  }
  function showFeed(): void {
    if (feedTimer !== null) clearTimeout(feedTimer);
    feedTimer = null;
    // An approval's state arrives repeatedly under the same id: show it once as asked and once as answered.
    const fresh = new Map(unfed.toReversed().map((entry) => [entry.key, entry]));
    for (const { key } of feed) fresh.delete(key);
    feed = [...fresh.values(), ...feed].slice(0, feedLength);
    unfed = [];
    tell();
  }
  function addressOf(event: KnownEvent): string | undefined {
    if (event.type !== 'agent.state' && event.type !== 'agent.account') return undefined;
    const known = client.getQueryData<{ readonly agents: readonly Agent[] }>(keys.agents);
    return known?.agents.find(({ id }) => id === event.data.agentId)?.address;
  }
  function gather(entry: FeedEntry): void {
    gathered.push({ ...entry, who: addressOf(entry.event) });
    const wait = shown + showEvery - now();
    // A clock that was set back must not hold anything back.
    if (wait <= 0 || wait > showEvery) show();
    else showTimer ??= setTimeout(show, wait);
  }

  function open(slot: Slot): void {
    const opened = api.factory.factoryEvents(
      {},
      {
        onEvent(message) {
          if (message.event === 'reset') {
            show();
            return cache.voidAll();
          }
          const event = parseFactoryEvent(message.data);
          if (event === null) return;
          count += 1;
          gather({ key: message.id === null ? `live-${count}` : `${event.type} ${message.id}`, event });
        },
        onState(state) {
          if (state.kind === 'open') {
            // What is live only (states, the pane host) was missed while the stream was away.
            if (wasOpen) {
              api.renewSession();
              cache.voidAll();
            }
            wasOpen = true;
            setLink({ kind: 'linked', retryAt: null, error: null });
          } else if (state.kind === 'waiting') {
            setLink({ kind: 'reconnecting', retryAt: now() + state.retryInMs, error: state.error });
          } else if (state.kind === 'ended' && state.error !== null) {
            setLink({ kind: 'off', retryAt: null, error: state.error });
          }
        },
      },
    );
    stop = () => {
      opened.close();
      void slot.release();
    };
  }

  /** Streams if a slot is free, else reads the lists now and then until one is: other windows hold the streams. */
  async function begin(mine: number): Promise<void> {
    if (mine !== turn || stop !== null) return;
    const slot = await slots.take(false, () => {});
    if (slot !== null) {
      if (mine !== turn) return slot.release();
      return open(slot);
    }
    if (!document.hidden) {
      try {
        await api.factory.factoryHealth();
        if (mine !== turn) return;
        if (wasOpen) cache.voidAll();
        wasOpen = true;
        setLink({ kind: 'linked', retryAt: null, error: null });
      } catch (error) {
        if (mine !== turn) return;
        setLink({ kind: 'reconnecting', retryAt: now() + readEvery, error });
      }
    }
    if (mine === turn) timer = setTimeout(() => void begin(mine), readEvery);
  }

  return {
    link: () => link,
    feed: () => feed,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start() {
      if (running) return;
      running = true;
      turn += 1;
      void begin(turn);
    },
    stop() {
      running = false;
      turn += 1;
      if (timer !== null) clearTimeout(timer);
      show();
      showFeed();
      stop?.();
      stop = null;
      setLink({ kind: 'linking', retryAt: null, error: null });
    },
  };
}
