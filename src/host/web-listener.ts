/** Serves the web interface's port: the API, then the pages, and the upgrades of links. Must not know what any of them serves. */
import { existsSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import { join } from 'node:path';
import type { ErrorRequestHandler } from 'express';
import { claimedShape } from '../contracts/common/areas.ts';
import { AppError } from '../contracts/common/errors.ts';
import { edgeBase, edgePage } from '../contracts/edge/routes.ts';
import { protectedResource } from '../contracts/identity/resource.ts';
import { login, loginCallback } from '../contracts/identity/routes.ts';
import { oauthCallback } from '../contracts/tool-server/mcp.ts';
import type { Dispatcher, HttpLog } from '../kit/http/dispatcher.ts';
import type { Guard } from '../kit/http/guard.ts';
import { endWith } from '../kit/http/server.ts';
import type { UpgradeListener } from './listeners.ts';
import { packageRoot } from './places.ts';

/** The API comes before Express, which serves the pages: a call must not pay for a framework that it does not use. */
export function createWebListener({
  dispatcher,
  log,
  folder,
  edgeUrl,
}: {
  readonly dispatcher: Pick<Dispatcher, 'handle'>;
  readonly log: HttpLog;
  /** Of the built web interface; default `out/renderer`. */
  readonly folder?: string | undefined;
  /** An origin that serves only the edge. */
  readonly edgeUrl?: string | undefined;
}): RequestListener {
  let pages: Promise<RequestListener> | null = null;
  const edgeHost = edgeUrl === undefined ? null : new URL(edgeUrl).host;
  return (request, response) => {
    if (edgeHost !== null && request.headers.host?.toLowerCase() === edgeHost) {
      request.url = belowEdge(request.url ?? '/');
    }
    dispatcher.handle(request, response).then((handled) => {
      if (handled) return;
      // With the first page: what is loaded stays in memory, and a Gantry that nobody looks at sends none.
      pages ??= loadPages(folder ?? builtPages(), log);
      return pages.then((listener) => listener(request, response));
    });
  };
}

async function loadPages(folder: string, log: HttpLog): Promise<RequestListener> {
  const [{ default: express }, { createPages }] = await Promise.all([
    import('express'),
    import('../cloud-api/pages/index.ts'),
  ]);
  const pages = express();
  pages.disable('x-powered-by');
  pages.disable('etag');
  for (const page of createPages({ folder, buildCommand: 'npm run build' })) pages.use(page);
  pages.use(((fault, _request, response, _next) => {
    log.error('page failed', { fault: fault instanceof Error ? fault.stack : String(fault) });
    if (response.headersSent) response.destroy();
    else response.status(500).json(new AppError('internal', 'The page failed.', 'Reload the page.').toPlain());
  }) satisfies ErrorRequestHandler);
  return pages;
}

/** Requests at the edge's own origin: only paths below the edge are reachable there. */
function belowEdge(url: string): string {
  const about = protectedResource.path;
  if (url.startsWith(`${about}/`)) return `${about}${edgeBase}${url.slice(about.length)}`;
  return url === '/' || url.startsWith('/?') ? `${edgeBase}${url.slice(1)}` : `${edgeBase}${url}`;
}

/** Whether the web interface is built. */
export const hasPages = (folder: string | undefined): boolean => existsSync(join(folder ?? builtPages(), 'index.html'));

const builtPages = () => join(packageRoot(), 'out', 'renderer');

/** Paths that another site may link to: pages, and the ends of a sign-in. */
export function isPage(path: string): boolean {
  return (
    claimedShape(path) === null ||
    path === edgePage.path ||
    path === login.path ||
    path === loginCallback.path ||
    path.startsWith('/sms/') ||
    isWayBack(path)
  );
}

/** The address to which an attached server's provider returns a person, also on their own computer. */
export function isWayBack(path: string): boolean {
  return path === oauthCallback.path;
}

/** Passes on the upgrades of either; answers and closes all others. */
export function createUpgradeListener({
  guard,
  dialled,
  between,
}: {
  readonly guard: Guard;
  /** Upgrades of computers' links, at this path. */
  readonly dialled: { readonly path: string; readonly take: UpgradeListener };
  /** Pipes of other replicas, below this path. Replicas use another host name than people do, and prove who they are. */
  readonly between?: { readonly mount: string; readonly take: UpgradeListener } | undefined;
}): UpgradeListener {
  return (request: IncomingMessage, socket, head) => {
    if (between !== undefined && request.url?.startsWith(between.mount) && request.headers.origin === undefined) {
      between.take(request, socket, head);
      return;
    }
    const isDialled = request.url === dialled.path && request.headers.upgrade?.toLowerCase() === 'websocket';
    const refused =
      guard(request) ??
      (isDialled ? null : new AppError('not_found', 'This path takes no connections.', `Use ${dialled.path}.`));
    if (refused === null) {
      dialled.take(request, socket, head);
      return;
    }
    const body = JSON.stringify(refused.toPlain());
    socket.on('error', () => {});
    endWith(
      socket,
      `HTTP/1.1 ${refused.status} Refused\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  };
}
