/** Browser sessions by their ids: opened with their own profile and proxy, used, watched, closed. Must not know the wire or the policy. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { toImage } from '../../../contracts/computer-use/frame.ts';
import { type BrowserMember, browserMembers, memberOf } from '../../../contracts/computer-use/members.ts';
import { systemClock } from '../../../kit/clock/clock.ts';
import { createEgressProxy } from '../egress-proxy.ts';
import { type ActedWith, type Emit, type Hands, HandsFault } from '../hands.ts';
import type { Act, CloseSession, OpenSession, Place, SaveTrace } from '../protocol.ts';
import { filmPictures, type PictureVideo } from '../video.ts';
import type { At } from './at.ts';
import { type Downloads, keepDownloads } from './downloads.ts';
import { type Filming, filmSession } from './film.ts';
import { launchChromium } from './launch.ts';
import { lookAt } from './look.ts';
import { type Done, members } from './members.ts';
import { screenOfTab } from './screen.ts';
import { createSession, type Session } from './session.ts';
import { settle } from './settle.ts';

interface BrowserDeps {
  readonly emit: Emit;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asks whether a host may be reached. */
  readonly askHost: AskHost;
}

export type AskHost = (question: {
  readonly session: string;
  readonly host: string;
  readonly port: number;
  readonly addresses: readonly string[];
}) => Promise<{ readonly allow: boolean; readonly why: string }>;

export interface BrowserHands extends Hands {
  /** Nothing happens where it is open already. */
  open(request: OpenSession): Promise<void>;
  closeSession(request: CloseSession): Promise<void>;
  /** The file; null where no trace is made. */
  trace(request: SaveTrace): Promise<string | null>;
}

interface Open {
  readonly session: Session;
  readonly request: OpenSession;
  readonly watching: Filming;
}

export function createBrowser({ emit, env, askHost }: BrowserDeps): BrowserHands {
  const sessions = new Map<string, Open>();
  /** Sessions whose browser ended unasked: the next call reports it, once. */
  const crashed = new Map<string, HandsFault>();
  const profiles = new Map<string, string>();
  /** By their files; one may be asked for after its session was closed. */
  const films = new Map<string, { readonly place: Place; readonly video: PictureVideo }>();

  function sessionAt(place: Place): Open {
    const id = place.kind === 'browser' ? place.session : '';
    const open = sessions.get(id);
    if (open !== undefined) return open;
    throw crashed.get(id) ?? new HandsFault('device', 'session_not_open', `The browser session ${id} is not open.`);
  }

  async function start(request: OpenSession): Promise<Open> {
    const { session: id, headless } = request;
    const proxy =
      request.proxy === null
        ? await createEgressProxy({ ask: (question) => askHost({ session: id, ...question }), clock: systemClock })
        : null;
    const partial = join(request.downloads, '.partial');
    let downloads: Downloads | null = null;
    try {
      const address = proxy?.address ?? request.proxy!;
      const context = await launchChromium({ profile: request.profile, partial, headless, proxy: address, env });
      const session = createSession({
        id,
        context,
        headless,
        traced: request.trace !== null,
        proxy,
        onDownload: (guid, url) => downloads?.began(guid, url),
        onPage: (url, title) => emit({ event: 'page', session: id, url, title }),
        onGone: (fault) => {
          sessions.delete(id);
          crashed.set(id, new HandsFault(fault.sort, fault.code, fault.message));
          emit({ event: 'gone', place: { kind: 'browser', session: id }, fault });
        },
      });
      downloads = keepDownloads(context, {
        session: id,
        folder: request.downloads,
        partial,
        emit,
        changed: session.changed,
      });
      if (request.trace !== null) await context.tracing.start({ screenshots: true, snapshots: true });
      if (request.trace !== null) await context.tracing.startChunk();
      const place = { kind: 'browser', session: id } as const;
      const watching = filmSession(session, ({ jpeg, width, height }) =>
        emit({ event: 'frame', place, width, height }, jpeg),
      );
      return { session, request, watching };
    } catch (error) {
      await proxy?.close();
      throw error;
    }
  }

  async function act(request: Act, stopped: AbortSignal): Promise<ActedWith> {
    const open = sessionAt(request.place);
    return whileOpen(open.session.ended, stopped, (signal) => actIn(open, request, signal));
  }

  async function actIn({ session, watching }: Open, request: Act, signal: AbortSignal): Promise<ActedWith> {
    const name = request.member as BrowserMember;
    const input = request.input as { readonly tab_id?: string };
    const tab = await session.tab(input.tab_id);
    const screen = await screenOfTab(tab, session.headless);
    const { seen } = request;
    if (seen !== undefined && (seen.url !== tab.page.url() || !isDeepStrictEqual(seen.screen, screen)))
      throw new HandsFault('page', 'changed', 'The page has changed since it was seen.');
    const at: At = {
      session,
      tab,
      screen,
      signal,
      timeoutMs: request.timeoutMs,
      pointed: (point) => {
        if (watching.isLookedAt()) emit({ event: 'pointer', place: request.place, ...toImage(screen, point) });
      },
    };
    // Which member takes which input is what the contract has checked.
    const member = members[name] as (at: At, input: unknown) => Promise<Done>;
    const done = await member(at, input).catch((error: Error) => {
      throw meant(error, session, tab.page.isClosed(), memberOf('browser', name)?.class !== 'observe');
    });
    if (browserMembers[name].class !== 'observe') await settle(session, tab, signal);
    const state = done.tabs === true || session.hasNews() ? session.state() : null;
    const text = [done.text, ...session.takeNotes()].filter((line) => line !== undefined && line !== '').join('\n');
    return {
      text: text === '' ? null : text,
      image: done.picture?.image ?? null,
      browser_state: state,
      screen,
      ...(done.picture === undefined ? {} : { bytes: done.picture.bytes }),
    };
  }

  return {
    async open(request) {
      if (sessions.has(request.session)) return;
      const open = await start(request);
      crashed.delete(request.session);
      profiles.set(request.session, request.profile);
      sessions.set(request.session, open);
      // It went while it was being set up.
      if (open.session.gone() !== null) sessions.delete(request.session);
    },
    async closeSession({ session: id, wipe }) {
      const open = sessions.get(id);
      sessions.delete(id);
      crashed.delete(id);
      await open?.session.close();
      if (open !== undefined) await rm(join(open.request.downloads, '.partial'), { recursive: true, force: true });
      const profile = profiles.get(id);
      if (wipe && profile !== undefined) await rm(profile, { recursive: true, force: true, maxRetries: 3 });
      profiles.delete(id);
    },
    async trace({ session: id, file }) {
      const { session, request } = sessionAt({ kind: 'browser', session: id });
      if (request.trace === null) return null;
      await session.context.tracing.stopChunk({ path: file });
      await session.context.tracing.startChunk();
      return file;
    },
    async look(request) {
      const { session } = sessionAt(request.place);
      const tab = await session.tab((request.input as { tab_id?: string }).tab_id);
      return lookAt(tab, await screenOfTab(tab, session.headless), request);
    },
    act,
    watch: (place, fps) => sessionAt(place).watching.set(fps),
    async record(place, file, stop) {
      if (!stop) {
        const { watching } = sessionAt(place);
        const video = filmPictures(file, env, systemClock.monotonic);
        films.set(file, { place, video });
        await watching.film(video);
        return null;
      }
      const film = films.get(file);
      films.delete(file);
      if (film?.place.kind === 'browser') await sessions.get(film.place.session)?.watching.film(null);
      return film?.video.finish() ?? null;
    },
    async close() {
      await Promise.allSettled([...films.values()].map(({ video }) => video.finish()));
      await Promise.allSettled([...sessions.values()].map(({ session }) => session.close()));
      sessions.clear();
    },
  };
}

/** Runs an action until it is done, is stopped, or its session ends; then at once, whatever the browser still does. */
async function whileOpen<T>(
  ended: AbortSignal,
  stopped: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ends = new AbortController();
  const gone = Promise.withResolvers<never>();
  const stop = () => ends.abort(stopped.reason);
  const lose = () => {
    ends.abort(ended.reason);
    gone.reject(ended.reason);
  };
  stopped.addEventListener('abort', stop, { once: true });
  ended.addEventListener('abort', lose, { once: true });
  try {
    return await Promise.race([work(ends.signal), gone.promise]);
  } finally {
    stopped.removeEventListener('abort', stop);
    // A session outlives its actions by far: one listener of each would make the next ones ever slower.
    ended.removeEventListener('abort', lose);
  }
}

/** The outcome of a failed action, for its caller. */
function meant(error: Error, session: Session, closed: boolean, unknownEnd: boolean): unknown {
  if (error instanceof HandsFault) return error;
  const gone = session.gone();
  if (gone !== null) return new HandsFault(gone.sort, gone.code, gone.message, unknownEnd);
  if (closed) return new HandsFault('page', 'tab_not_found', 'The tab was closed meanwhile.', unknownEnd);
  const why = error.message.split('\n')[0]!.replace(/^\w+\.\w+: /, '');
  if (/context was destroyed|Cannot find context|not attached|Frame was detached/.test(why))
    return new HandsFault('page', 'stale_ref', 'The page changed meanwhile. Read it again.', unknownEnd);
  return error;
}
