/**
 * The listener of one replica, and behind it an engine: answers `{}`, and below `/events` an endless stream. Arguments: its id and the internal
 * service token.
 */
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { createReplicaEndpoint } from '../../../src/cloud-api/link/replica-endpoint.ts';
import { createHttpServer } from '../../../src/kit/http/server.ts';

const [id = '', internalToken = ''] = process.argv.slice(2);
const engine = createServer((request, response) => {
  if (request.url === '/events') response.write('data: 1\n\n');
  else response.end('{}');
});
await new Promise<void>((resolve) => engine.listen(0, '127.0.0.1', resolve));
const { port } = engine.address() as AddressInfo;
const server = createHttpServer((_request, response) => response.end());
const here = { open: async () => connect(port, '127.0.0.1') };
server.on('upgrade', createReplicaEndpoint({ id, internalToken, clock: { now: () => Date.now() }, here }));
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
