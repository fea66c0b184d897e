/** The calls of the tools, loaded with the first page that shows them. Must not know React. */
import { type ClientOptions, createClient } from '../../../client/client.ts';
import { serverRoutes } from '../../../contracts/tool-server/servers.ts';
import { toolRoutes } from '../../../contracts/tool-server/tools.ts';

/** `wire` reaches the computer that is meant, which has the servers. */
export const createToolApi = (wire: ClientOptions) => createClient([...toolRoutes, ...serverRoutes], wire);

export type ToolApi = ReturnType<typeof createToolApi>;
