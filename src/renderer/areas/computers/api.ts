/** The calls of the area of computers, loaded with it: its route tables are large, and most pages need none of them. Must not know React. */
import { type ClientOptions, createClient } from '../../../client/client.ts';
import { ComputerUseClient } from '../../../client/computer-use.ts';
import { deviceRoutes } from '../../../contracts/computer-use/device-routes.ts';
import { hostedComputerRoutes } from '../../../contracts/hosted-computers/routes.ts';

/** `wire` reaches the computer that is meant, `home` the cloud, which has the hosted ones. */
export function createHandsApi(wire: ClientOptions, home: ClientOptions) {
  return {
    /** Runs of a computer, and its hands and screen. */
    computerUse: new ComputerUseClient(wire),
    device: createClient(deviceRoutes, wire),
    hosted: createClient(hostedComputerRoutes, home),
  };
}

export type HandsApi = ReturnType<typeof createHandsApi>;
