/**
 * Passes one request of the person at this computer to their home cloud, and the answer back, unread. Owns the credential that signs the person in
 * there; must not know which routes pass.
 */
import { Agent, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { linkHeaders, surfaceOf } from '../../kit/http/principals.ts';
import type { Context } from '../../kit/http/types.ts';
import { askUpstream, Unanswered } from '../link/ask.ts';
import { deliver } from '../link/deliver.ts';

/** The cloud that this computer is paired with. */
export interface PairedWith {
  readonly cloudUrl: string;
  /** Signs in the person who sits here. */
  readonly credential: string;
  readonly computerId: string;
}

export interface HomeConnection {
  /** Null while this computer is not paired. */
  current(): PairedWith | null;
  /** Called when the home changes or the computer is unpaired. */
  onChange(listener: () => void): () => void;
  readonly link: {
    state(): { readonly linked: boolean; readonly since: number };
    onChange(listener: () => void): () => void;
  };
}

export interface ForwardDeps {
  readonly home: HomeConnection;
  readonly timers: Timers;
}

interface Forward {
  /** Throws `transport` with the time since when, while home cannot be reached; no part of the response was sent then. */
  pass(context: Context<Route>, options?: { readonly computer?: string }): Promise<void>;
  close(): void;
}

const computerHeader = 'x-gantry-computer';
/** A server that is up accepts a connection sooner. */
const connectMs = 5_000;
/** Some routes answer only when something happens; the longest wait of a route is half of this. */
const answerMs = 60_000;
const askAgainMs = 30_000;
/** With the link down, home is most likely away. */
const awayAnswerMs = 5_000;

export function createForward({ home, timers }: ForwardDeps): Forward {
  const plain = new Agent({ keepAlive: true });
  const securely = new SecureAgent({ keepAlive: true });
  /** At the last request, home no longer knew this computer: a page that keeps reading must not look like somebody who guesses credentials. */
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

  async function ask(context: Context<Route>, paired: PairedWith, computer?: string): Promise<IncomingMessage> {
    const { request, principal } = context;
    const url = new URL(paired.cloudUrl);
    const secure = url.protocol === 'https:';
    const headers: OutgoingHttpHeaders = { host: url.host };
    const named = computer ?? request.headers[computerHeader];
    if (named !== undefined) headers[computerHeader] = String(named);
    if (principal.kind !== 'public') {
      headers.authorization = `Bearer ${paired.credential}`;
      headers[linkHeaders.surface] = surfaceOf(principal);
    }
    try {
      return await askUpstream({
        context,
        upstream: () => ({
          agent: secure ? securely : plain,
          secure,
          host: url.hostname.replace(/^\[|\]$/g, ''),
          ...(url.port === '' ? {} : { port: url.port }),
          path: request.url ?? '/',
          headers,
        }),
        patience: {
          timers,
          connectMs,
          answerMs: () => (home.link.state().linked ? answerMs : awayAnswerMs),
        },
      });
    } catch (thrown) {
      throw thrown instanceof Unanswered ? away(paired, thrown.cause) : thrown;
    }
  }

  return {
    async pass(context, options = {}) {
      const paired = home.current();
      const { kind } = context.principal;
      if (paired === null) throw new AppError('transport', 'This computer is no longer paired.', 'Try again.');
      if (kind !== 'owner' && kind !== 'public') {
        throw new AppError(
          'refused',
          `A ${kind} credential of this computer is unknown at ${paired.cloudUrl}, its home now.`,
          'Use a credential that was made there, at that address.',
        );
      }
      if (kind === 'owner' && refusedBy === paired.credential) throw ended(paired);
      const answer = await ask(context, paired, options.computer);
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
      securely.destroy();
    },
  };
}

function ended({ cloudUrl }: PairedWith): AppError {
  return new AppError(
    'needs_person',
    `${cloudUrl} no longer knows this computer: its pairing was ended there.`,
    'End it here too, then pair again: gantry pair --end',
  );
}
