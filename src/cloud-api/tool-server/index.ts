/**
 * The cloud's half of the tool server: it speaks the protocol, and gets tools, prompts and resources from the caller's computer. Has no table, and
 * must not know a single tool.
 */

import { AppError } from '../../contracts/common/errors.ts';
import { internalMcpServer, mcpServer } from '../../contracts/tool-server/mcp.ts';
import { linkHeaders } from '../../kit/http/principals.ts';
import { type BoundRoute, bindWithHead, type RawHandler } from '../../kit/http/types.ts';
import { createMcpEndpoint } from '../../kit/mcp/endpoint.ts';
import type { Engines } from '../link/engines.ts';
import type { Link } from '../link/link.ts';
import { createLastLists } from './last-lists.ts';
import { withNamedTools } from './named-tools.ts';
import { createOAuthEndpoints } from './oauth-endpoints.ts';
import { createPassingService } from './passing-service.ts';
import { createToolProxy } from './tool-proxy.ts';
import { createToolsOf } from './tools-of.ts';

export function createToolServer(deps: {
  readonly engines: Engines;
  readonly link: Pick<Link, 'state'>;
  /** What to do when a computer does not answer. */
  readonly advice: string;
  /** This cloud's address, without a slash at the end. */
  readonly origin: string;
  readonly version: string;
  /** The person of a computer, in a cloud of many people. */
  readonly ownerOf?: (computerId: string) => Promise<string | null>;
  readonly log: { error(message: string, fields?: Record<string, unknown>): void };
}): { readonly routes: readonly BoundRoute[] } {
  const toolsOf = createToolsOf(deps);
  const service = withNamedTools(createPassingService({ ...deps, lists: createLastLists() }), toolsOf);
  const endpoint = createMcpEndpoint({ service, log: deps.log });
  const forSomebody: RawHandler<typeof internalMcpServer> = (context) => {
    if (context.principal.userId === '') {
      throw new AppError('usage', `The header ${linkHeaders.user} is missing.`, 'Name the person to act for.', {
        wireCode: 'bad_request',
      });
    }
    return endpoint(context);
  };
  return {
    routes: [
      bindWithHead(mcpServer, endpoint),
      bindWithHead(internalMcpServer, forSomebody),
      ...createToolProxy({ ...deps, toolsOf }).routes,
      ...createOAuthEndpoints(deps).routes,
    ],
  };
}
