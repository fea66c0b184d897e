/** The routes of the tool server by the server that has them. Must not know what they do. */
import { internalMcpServer, mcpServer, oauthCallback, oauthClientDocument } from './mcp.ts';
import { serverRoutes } from './servers.ts';
import { toolRoutes } from './tools.ts';

/** Routes of the computer, which the cloud forwards; it answers the protocol of {@link mcpServer} itself. */
export const toolServerRoutes = [mcpServer, ...toolRoutes, ...serverRoutes, oauthCallback] as const;
/** Only on the cloud. */
export const toolServerCloudRoutes = [internalMcpServer, oauthClientDocument] as const;
