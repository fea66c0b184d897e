/** A service of MCP behind the real dispatcher at `/mcp/server` of a loopback port; everybody who asks is the owner. */
import { scopes } from '../../../src/contracts/common/route.ts';
import { mcpServer } from '../../../src/contracts/tool-server/mcp.ts';
import { createDispatcher } from '../../../src/kit/http/dispatcher.ts';
import { closeServer, createHttpServer, listenOnLoopback } from '../../../src/kit/http/server.ts';
import { bind, type Principal } from '../../../src/kit/http/types.ts';
import { createMcpEndpoint, type McpEndpointOptions } from '../../../src/kit/mcp/endpoint.ts';
import type { McpService } from '../../../src/kit/mcp/service.ts';

const owner: Principal = { kind: 'owner', userId: 'local', scopes: new Set(scopes), via: 'file-token' };

export interface LogLine {
  readonly message: string;
  readonly fields?: Record<string, unknown>;
}

export interface ServedProfile {
  readonly port: number;
  /** `http://localhost:<port>/mcp/server` */
  readonly url: string;
  readonly lines: readonly LogLine[];
  close(): Promise<void>;
}

export async function serveMcp(
  service: McpService,
  options: Partial<McpEndpointOptions> = {},
  port = 0,
): Promise<ServedProfile> {
  const lines: LogLine[] = [];
  const push = (message: string, fields?: Record<string, unknown>) => {
    lines.push(fields === undefined ? { message } : { message, fields });
  };
  const log = { warn: push, error: push };
  let count = 0;
  const dispatcher = createDispatcher({
    listener: { kind: 'tcp', origins: 'own' },
    authenticators: [{ name: 'everybody', authenticate: () => owner }],
    owners: {},
    ids: {
      next: (prefix) => {
        count += 1;
        return `${prefix}_${count}`;
      },
    },
    log,
    answers: 'throw',
    routes: [bind(mcpServer, createMcpEndpoint({ service, log, ...options }) as never)],
  });
  const server = createHttpServer((request, response) => void dispatcher.handle(request, response));
  const at = await listenOnLoopback(server, port, '--port');
  return {
    port: at,
    url: `http://localhost:${at}/mcp/server`,
    lines,
    close: async () => {
      dispatcher.close('the test is over');
      await closeServer(server);
    },
  };
}
