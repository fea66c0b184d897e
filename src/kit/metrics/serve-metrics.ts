/**
 * A server of nothing but `GET /metrics`, on 127.0.0.1, for a program that has no other: the worker, the computer host. Its token is in a file that
 * only its user can read.
 */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../clock/clock.ts';
import { createDispatcher, type HttpLog } from '../http/dispatcher.ts';
import { createOwnerAuthenticator } from '../http/principals.ts';
import { closeServer, createHttpServer, listenOn } from '../http/server.ts';
import { createIds } from '../ids/ids.ts';
import { ensureTokenFile } from '../secrets/token-file.ts';
import type { Metric } from './metric.ts';
import { metricsRoute } from './route.ts';

export interface MetricsServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Makes the token file unless it exists. Fails with `transport` when the port is taken. */
export async function serveMetrics(deps: {
  /** 0: any free one. */
  readonly port: number;
  readonly tokenFile: string;
  readonly metrics: readonly Metric[];
  readonly clock: Clock;
  readonly log: HttpLog;
}): Promise<MetricsServer> {
  const { port, tokenFile, metrics, clock, log } = deps;
  mkdirSync(dirname(tokenFile), { recursive: true, mode: 0o700 });
  const dispatcher = createDispatcher({
    listener: { kind: 'tcp', origins: 'none' },
    routes: [metricsRoute(metrics, log)],
    authenticators: [createOwnerAuthenticator(ensureTokenFile(tokenFile))],
    owners: {},
    ids: createIds(clock),
    log,
  });
  const server = createHttpServer((request, response) => void dispatcher.handle(request, response));
  const bound = await listenOn(server, { host: '127.0.0.1', port }, 'Choose another with --metrics <port>.');
  return {
    url: `http://127.0.0.1:${bound}/metrics`,
    close() {
      dispatcher.close('The program ends.');
      return closeServer(server);
    },
  };
}
