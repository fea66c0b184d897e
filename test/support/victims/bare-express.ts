/**
 * The comparison for `identity.auth`: Express with one route that answers a constant as JSON. Express features that an API does not want (ETag,
 * X-Powered-By) are off: they would only make it slower. `bare-express.ts <body>`.
 */
import type { AddressInfo } from 'node:net';
import express from 'express';

const body: unknown = JSON.parse(process.argv[2] ?? '{}');
const app = express();
app.disable('x-powered-by');
app.disable('etag');
app.get('/api/v1/session', (_request, response) => {
  response.json(body);
});
const server = app.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
