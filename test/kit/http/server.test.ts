/** What a listener takes. */
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { closeServer, listenOnSocket } from '../../../src/kit/http/server.ts';
import { onEnd } from './support.ts';

test.skipIf(process.platform !== 'linux')(
  'a Unix socket takes 2,000 connections that come before it has accepted one',
  async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'gantry-socket-')), 's');
    const server = createServer();
    await listenOnSocket(server, path);
    onEnd(() => closeServer(server));
    // In one turn of the loop, so that the server accepts nothing in between.
    const sockets = Array.from({ length: 2_000 }, () => connect({ path }));
    onEnd(() => {
      for (const socket of sockets) socket.destroy();
    });
    const connected = await Promise.allSettled(sockets.map((socket) => once(socket, 'connect')));
    expect(connected.filter(({ status }) => status === 'rejected')).toEqual([]);
  },
);
