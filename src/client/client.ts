/**
 * The client: one typed call for every declared route, in browsers and in Node.
 * `createClient(factoryRoutes, {…}).sendMessage({ body: { to, text } })`. Types come from the route tables; what a server answers
 * is trusted, because client and server ship together. Must not know sockets or files: `fetch` is passed in.
 */
import type { z } from 'zod';
import type { AppError } from '../contracts/common/errors.ts';
import type { Route } from '../contracts/common/route.ts';
import { type CallInput, type CallOptions, callRoute, type Fetch, openRoute, type Wire } from './call.ts';
import {
  type EventStream,
  openEventStream,
  type StreamEvent,
  type StreamState,
  type StreamTimers,
} from './event-stream.ts';

export interface ClientOptions {
  /** For example `http://127.0.0.1:3011`; empty (the default) means the page's own origin. */
  readonly baseUrl?: string;
  /** Bearer credential. Without one the browser's cookie is the credential. */
  readonly token?: string;
  /** Cookie mode: value of `x-platform-csrf`, sent with every write (`getSession` gives it). */
  csrf?(): Promise<string | null> | string | null;
  /** Default: the global one. The CLI passes one that speaks over the Unix socket. */
  readonly fetch?: Fetch;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How the server is named in messages; default `baseUrl` or "the server". */
  readonly where?: string;
  /** The action of the error when nobody answers. */
  readonly ifGone?: string;
  readonly timers?: StreamTimers;
}

export interface StreamHandlers {
  onEvent(event: StreamEvent): void;
  onState?(state: StreamState): void;
  /** Replays events after this one, then continues live. */
  readonly lastEventId?: string;
  /** Of a stream whose ids are times, as the work queue's. */
  readonly idsRepeat?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

type Part<R extends Route, K extends 'params' | 'query' | 'body'> = R[K] extends z.ZodType ? z.input<R[K]> : undefined;
/** Members whose every field may be left out may be left out themselves. */
type Member<K extends string, T> = T extends undefined
  ? { readonly [key in K]?: undefined }
  : Record<string, never> extends T
    ? { readonly [key in K]?: T }
    : { readonly [key in K]: T };
export type RouteInput<R extends Route> = Member<'params', Part<R, 'params'>> &
  Member<'query', Part<R, 'query'>> &
  Member<'body', Part<R, 'body'>>;
export type RouteResult<R extends Route> = z.output<R['answers'][keyof R['answers'] & number]>;

type Call<R extends Route> = R extends { readonly kind: 'sse' }
  ? (input: RouteInput<R>, handlers: StreamHandlers) => EventStream
  : Record<string, never> extends RouteInput<R>
    ? (input?: RouteInput<R>, options?: CallOptions) => Promise<RouteResult<R>>
    : (input: RouteInput<R>, options?: CallOptions) => Promise<RouteResult<R>>;

export type Client<T extends readonly Route[]> = { readonly [R in T[number] as R['op']]: Call<R> };

export function createClient<const T extends readonly Route[]>(routes: T, options: ClientOptions = {}): Client<T> {
  const wire = createWire(options);
  const calls = routes.map((route) => [
    route.op,
    route.kind === 'sse'
      ? (input: CallInput, handlers: StreamHandlers) => openStream(wire, route, input, handlers, options.timers)
      : (input: CallInput = {}, callOptions?: CallOptions) => callRoute(wire, route, input, callOptions),
  ]);
  return Object.fromEntries(calls) as Client<T>;
}

function createWire(options: ClientOptions): Wire {
  const baseUrl = (options.baseUrl ?? '').replace(/\/+$/, '');
  return {
    baseUrl,
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    where: options.where ?? (baseUrl === '' ? 'the server' : baseUrl),
    ifGone: options.ifGone ?? 'Check that Gantry is running.',
    async credentials(method) {
      const headers: Record<string, string> = { ...options.headers };
      if (options.token !== undefined) headers.authorization = `Bearer ${options.token}`;
      else if (method !== 'GET') {
        const csrf = await options.csrf?.();
        if (csrf !== undefined && csrf !== null) headers['x-platform-csrf'] = csrf;
      }
      return headers;
    },
  };
}

function openStream(
  wire: Wire,
  route: Route,
  input: CallInput,
  handlers: StreamHandlers,
  timers: StreamTimers | undefined,
): EventStream {
  return openEventStream({
    // A pane's stream ends with its `gone` event; all other streams continue until the caller stops them.
    lastEvent: route.events !== undefined && 'gone' in route.events ? 'gone' : undefined,
    lastEventId: handlers.lastEventId,
    idsRepeat: handlers.idsRepeat,
    onEvent: handlers.onEvent,
    onState: handlers.onState,
    timers,
    open: (lastEventId, signal) =>
      openRoute(wire, route, input, {
        signal,
        headers: { ...handlers.headers, ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }) },
      }),
  });
}

export type { AppError, CallOptions, EventStream, Fetch, StreamEvent, StreamState, StreamTimers };
