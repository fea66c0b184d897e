/**
 * One request of the person at this computer, passed on to their home cloud and back unread (gaps.md "Home cloud"). Owns the
 * credential that signs them in there; must not know which routes pass.
 */
import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request as startRequest } from 'node:http';
import { Agent as SecureAgent, request as startSecureRequest } from 'node:https';
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { linkHeaders, surfaceOf } from '../../kit/http/principals.ts';
import type { Context } from '../../kit/http/types.ts';
import { deliver } from '../factory/deliver.ts';

/** The cloud that this computer is paired with. */
export interface PairedWith {
  readonly cloudUrl: string;
  /** Signs in the person who sits here. */
  readonly credential: string;
  readonly computerId: string;
}

export interface HomeDoor {
  /** Null while this computer is not paired. */
  current(): PairedWith | null;
  /** Another home, or none. */
  onChange(listener: () => void): () => void;
  readonly link: {
    state(): { readonly linked: boolean; readonly since: number };
    onChange(listener: () => void): () => void;
  };
}

export interface ForwardDeps {
  readonly home: HomeDoor;
  readonly timers: Timers;
}

export interface Forward {
  /** Throws `transport`, saying since when, while home cannot be reached; nothing was answered then. */
  pass(context: Context<Route>, options?: { readonly computer?: string }): Promise<void>;
  close(): void;
}

const requestHeaders = [
  'accept',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'last-event-id',
  'idempotency-key',
  'x-gantry-computer',
] as const;
/** A server that is there takes a connection sooner. */
const connectMs = 5_000;
/** Some answers come only when something happens: the longest wait of a route is half of it. */
const answerMs = 60_000;
const askAgainMs = 30_000;
/** With the link down, home is most likely away. */
const awayAnswerMs = 5_000;

export function createForward({ home, timers }: ForwardDeps): Forward {
  const plain = new Agent({ keepAlive: true });
  const secure = new SecureAgent({ keepAlive: true });
  /** Knew this computer no more when last asked: a page that reads on must not look like somebody who guesses credentials. */
  let refusedBy: string | null = null;
  let cancelAgain = () => {};

  function away(paired: PairedWith, cause: Error): AppError {
    const { linked, since } = home.link.state();
    const when = linked ? '' : ` since ${iso(since)}`;
    return new AppError(
      'transport',
      `The home cloud ${paired.cloudUrl} cannot be reached${when} (${(cause as NodeJS.ErrnoException).code ?? cause.message}).`,
      'Bots of this computer can still be seen, written to and stopped. Try again later.',
      { cause },
    );
  }

  function ask(context: Context<Route>, paired: PairedWith, computer: string | undefined): Promise<IncomingMessage> {
    const { request, response, principal } = context;
    const url = new URL(paired.cloudUrl);
    const isSecure = url.protocol === 'https:';
    const headers: OutgoingHttpHeaders = { host: url.host };
    for (const name of requestHeaders) {
      const value = request.headers[name];
      if (value !== undefined) headers[name] = String(value);
    }
    if (computer !== undefined) headers['x-gantry-computer'] = computer;
    if (principal.kind !== 'public') {
      headers.authorization = `Bearer ${paired.credential}`;
      headers[linkHeaders.surface] = surfaceOf(principal);
    }
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    return new Promise((resolve, reject) => {
      const upstream = (isSecure ? startSecureRequest : startRequest)({
        agent: isSecure ? secure : plain,
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port === '' ? undefined : url.port,
        method: request.method,
        path: request.url,
        headers,
      });
      const late = () => upstream.destroy(Object.assign(new Error('It does not answer.'), { code: 'ETIMEDOUT' }));
      let cancel = timers.after(connectMs, late);
      const connected = () => {
        cancel();
        cancel = timers.after(home.link.state().linked ? answerMs : awayAnswerMs, late);
      };
      upstream.once('socket', (socket) => {
        if (socket.connecting) socket.once(isSecure ? 'secureConnect' : 'connect', connected);
        else connected();
      });
      const leave = () => upstream.destroy();
      response.once('close', leave);
      let answered = false;
      upstream.once('response', (answer) => {
        answered = true;
        cancel();
        resolve(answer);
      });
      upstream.on('error', (cause) => {
        cancel();
        // Once an answer is under way, its own stream tells of the cut.
        if (answered) return;
        response.off('close', leave);
        reject(new Unanswered(cause, upstream.reusedSocket && !hasBody));
      });
      // Not a pipeline: that would cut the caller off before it hears that home is away.
      if (hasBody) request.pipe(upstream);
      else upstream.end();
    });
  }

  async function answerOf(context: Context<Route>, paired: PairedWith, computer?: string): Promise<IncomingMessage> {
    try {
      return await ask(context, paired, computer);
    } catch (thrown) {
      if (!(thrown instanceof Unanswered)) throw thrown;
      // Home closed an idle connection just as it was taken.
      if (!thrown.idle || context.request.method !== 'GET') throw away(paired, thrown.cause);
    }
    try {
      return await ask(context, paired, computer);
    } catch (thrown) {
      throw thrown instanceof Unanswered ? away(paired, thrown.cause) : thrown;
    }
  }

  return {
    async pass(context, options = {}) {
      const paired = home.current();
      const { kind } = context.principal;
      if (paired === null) throw new AppError('transport', 'This computer is not paired any more.', 'Try again.');
      if (kind !== 'owner' && kind !== 'public') {
        throw new AppError(
          'refused',
          `A ${kind} credential of this computer is unknown at ${paired.cloudUrl}, where it is at home now.`,
          'Use a credential that was made there, at that address.',
        );
      }
      if (kind === 'owner' && refusedBy === paired.credential) throw ended(paired);
      const answer = await answerOf(context, paired, options.computer);
      if (answer.statusCode === 401 && kind === 'owner') {
        answer.resume();
        refusedBy = paired.credential;
        cancelAgain();
        cancelAgain = timers.after(askAgainMs, () => {
          refusedBy = null;
        });
        throw ended(paired);
      }
      await deliver(answer, context);
    },
    close() {
      cancelAgain();
      plain.destroy();
      secure.destroy();
    },
  };
}

function ended({ cloudUrl }: PairedWith): AppError {
  return new AppError(
    'needs_person',
    `${cloudUrl} no longer knows this computer: its pairing was ended there.`,
    'End it here, too, then pair again: gantry pair --end',
  );
}

/** No answer began. */
class Unanswered extends Error {
  override readonly cause: Error;
  /** The connection was an idle one, and nothing was sent that could count twice. */
  readonly idle: boolean;

  constructor(cause: Error, idle: boolean) {
    super(cause.message);
    this.cause = cause;
    this.idle = idle;
  }
}
