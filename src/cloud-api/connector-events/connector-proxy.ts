/**
 * Passes the routes of connectors to the caller's computer, at both mounts, unread. Only the trail of events is changed: the cloud adds the events
 * that never reached the computer. Must not know what the other routes mean.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { twinOf } from '../../contracts/connectors/mount.ts';
import { connectorAreaRoutes } from '../../contracts/connectors/routes.ts';
import { listTrail, type TrailEvent } from '../../contracts/connectors/subscription.ts';
import { iso } from '../../kit/clock/clock.ts';
import { baseHeaders } from '../../kit/http/base-headers.ts';
import { defaultBodyLimit } from '../../kit/http/body.ts';
import { type BoundRoute, bindPassThrough, type Context } from '../../kit/http/types.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { Unanswered } from '../link/ask.ts';
import { deliver } from '../link/deliver.ts';
import type { Engines } from '../link/engines.ts';
import { passToEngine, unavailable } from '../link/pass-to-engine.ts';
import { readAnswer } from '../link/read-answer.ts';
import { leftBefore, receivedAt } from './receipts.ts';
import { mergeTrail, readPlace, trailStart, writePlace } from './trail.ts';

export interface ConnectorProxyDeps {
  readonly store: SharedStore;
  readonly engines: Pick<Engines, 'targetOf' | 'ask'>;
  /** What to do when a computer does not answer. */
  readonly advice: string;
}

/** Bytes of one page. */
const largestPage = 8 * 1024 * 1024;
const defaultLimit = 50;

type Page = { readonly events: TrailEvent[]; readonly nextCursor: string | null };

export function createConnectorProxy({ store, engines, advice }: ConnectorProxyDeps): readonly BoundRoute[] {
  const pass = async (context: Context<Route>, route: Route): Promise<void> => {
    const limit = route.bodyLimit ?? defaultBodyLimit;
    await passToEngine(engines, advice, { context, ...(await engines.targetOf(context)), limit });
  };

  async function passTrail(context: Context<Route>): Promise<void> {
    const { computerId, path } = await engines.targetOf(context);
    const [plain = path, search = ''] = path.split('?', 2);
    const query = new URLSearchParams(search);
    const at = query.has('cursor') ? readPlace(query.get('cursor') ?? '') : trailStart;
    if (at === null) {
      throw new AppError('usage', 'The cursor is not one of this list.', 'Start without one.', {
        wireCode: 'bad_request',
      });
    }
    query.delete('cursor');
    if (at.cursor !== null) query.set('cursor', at.cursor);
    const asked = query.size === 0 ? plain : `${plain}?${query}`;
    const answer = await engines.ask({ context, computerId, path: asked }).catch((thrown: unknown) => {
      throw thrown instanceof Unanswered ? unavailable(thrown, advice) : thrown;
    });
    // The computer has already refused an invalid limit or an unknown subscription.
    if (answer.statusCode !== 200) return deliver(answer, context);
    const theirs = JSON.parse((await readAnswer(answer, largestPage)).toString()) as Page;
    const limit = Number(query.get('limit') ?? defaultLimit);
    const subscriptionId = plain.split('/').at(-2) ?? '';
    const name = { computerId, subscriptionId };
    const { left, times } = await store.read(function* (tx) {
      return {
        left: yield* leftBefore(tx, name, at.before, limit),
        times: yield* receivedAt(
          tx,
          name,
          theirs.events.map(({ eventId }) => eventId),
        ),
      };
    });
    const timed = theirs.events.map((event) => {
      const received = times.get(event.eventId);
      return event.receivedAt !== null || received === undefined ? event : { ...event, receivedAt: iso(received) };
    });
    const { events, next } = mergeTrail(at, limit, { ...theirs, events: timed }, left);
    send(context, { events, nextCursor: next === null ? null : writePlace(next) });
  }

  const trails = new Set([listTrail.op, twinOf(listTrail).op]);
  return connectorAreaRoutes.map((route) =>
    bindPassThrough(route, (context) => (trails.has(route.op) ? passTrail(context) : pass(context, route))),
  );
}

function send({ response }: Context<Route>, body: Page): void {
  const text = JSON.stringify(body);
  response.writeHead(200, {
    ...baseHeaders,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
