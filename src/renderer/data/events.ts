/**
 * The page's one event stream: keeps the query cache true, remembers the last events for the feed, and says how the link to
 * Gantry is. Must not know how any of it is shown.
 */
import type { QueryClient } from '@tanstack/react-query';
import type { Api } from './api.ts';
import { createEventCache, type KnownEvent, parseFactoryEvent } from './event-cache.ts';

/** Events kept for the feed; more is in the ledger. */
const feedLength = 200;

export interface FeedEntry {
  readonly key: string;
  readonly event: KnownEvent;
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
  start(): void;
  close(): void;
}

export function createEvents(api: Api, client: QueryClient, now: () => number = Date.now): Events {
  const cache = createEventCache(client);
  const listeners = new Set<() => void>();
  let link: LinkState = { kind: 'linking', retryAt: null, error: null, since: now() };
  let feed: readonly FeedEntry[] = [];
  let stream: { close(): void } | null = null;
  let opened = false;
  let count = 0;

  function tell(): void {
    for (const listener of listeners) listener();
  }
  function setLink(next: Omit<LinkState, 'since'>): void {
    link = { ...next, since: next.kind === link.kind ? link.since : now() };
    tell();
  }

  return {
    link: () => link,
    feed: () => feed,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start() {
      stream ??= api.factory.factoryEvents(
        {},
        {
          onEvent(message) {
            if (message.event === 'reset') return cache.voidAll();
            const event = parseFactoryEvent(message.data);
            if (event === null) return;
            cache.apply(event);
            count += 1;
            feed = [{ key: message.id ?? `live-${count}`, event }, ...feed].slice(0, feedLength);
            tell();
          },
          onState(state) {
            if (state.kind === 'open') {
              // What is live only (states, the pane host) was missed while the stream was away.
              if (opened) {
                api.renewSession();
                cache.voidAll();
              }
              opened = true;
              setLink({ kind: 'linked', retryAt: null, error: null });
            } else if (state.kind === 'waiting') {
              setLink({ kind: 'reconnecting', retryAt: now() + state.retryInMs, error: state.error });
            } else if (state.kind === 'ended' && state.error !== null) {
              setLink({ kind: 'off', retryAt: null, error: state.error });
            }
          },
        },
      );
    },
    close() {
      stream?.close();
      stream = null;
      cache.close();
      listeners.clear();
    },
  };
}
