/** Calls the tool routes of this computer's runtime with the caller's own credential. Must not know what the tools mean. */
import { type Client, createClient } from '../../client/client.ts';
import { serverRoutes } from '../../contracts/tool-server/servers.ts';
import { toolRoutes } from '../../contracts/tool-server/tools.ts';
import type { Context } from '../command.ts';

const routes = [...toolRoutes, ...serverRoutes] as const;
export type ToolsClient = Client<typeof routes>;

export async function connectTools(context: Context): Promise<ToolsClient> {
  const { baseUrl, fetch, where, token } = await context.connect();
  return createClient(routes, { baseUrl, fetch, where, token, ifGone: `Start it with: ${context.names.start}` });
}
