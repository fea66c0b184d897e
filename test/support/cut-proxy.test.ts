/** The cutting proxy passes bytes exactly, cuts where it says, and counts what it cut. */

import { randomBytes } from 'node:crypto';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startCutProxy } from './cut-proxy.ts';

const payload = randomBytes(3_000_000);

/** A server that sends the payload, after echoing what it was sent. */
async function startSource(): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (hello) => {
      socket.write(hello);
      socket.end(payload);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function fetchAll(port: number): Promise<{ bytes: Buffer; error: string | null }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let error: string | null = null;
    const socket = connect(port, '127.0.0.1', () => socket.write('hello'));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', (cause) => {
      error = (cause as NodeJS.ErrnoException).code ?? cause.message;
    });
    socket.on('close', () => resolve({ bytes: Buffer.concat(chunks), error }));
  });
}

async function proxy(cutAfter: (connection: number) => number | null) {
  const target = { host: '127.0.0.1', port: await startSource() };
  const cutting = await startCutProxy({ target, cutAfter });
  onTestFinished(() => cutting.close());
  return cutting;
}

test('without a cut every byte passes, in order, and the end too', async () => {
  const through = await proxy(() => null);
  const { bytes, error } = await fetchAll(through.port);
  expect(error).toBeNull();
  expect(bytes.equals(Buffer.concat([Buffer.from('hello'), payload]))).toBe(true);
  expect(through.cuts()).toBe(0);
});

test('a cut comes after the planned bytes, which are the first ones', async () => {
  const plan = [10, 5000, 1_000_000, null];
  const through = await proxy((connection) => plan[connection] ?? null);
  for (const limit of plan) {
    const { bytes, error } = await fetchAll(through.port);
    const whole = Buffer.concat([Buffer.from('hello'), payload]);
    expect(bytes.equals(whole.subarray(0, bytes.length))).toBe(true);
    expect(bytes.length).toBeLessThanOrEqual(limit ?? whole.length);
    expect(error).toBe(limit === null ? null : 'ECONNRESET');
  }
  expect(through.cuts()).toBe(3);
});

test('all open connections can be cut at once', async () => {
  let connections = 0;
  const idle = createServer(() => {
    connections += 1;
  });
  await new Promise<void>((resolve) => idle.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void idle.close());
  const target = { host: '127.0.0.1', port: (idle.address() as AddressInfo).port };
  const through = await startCutProxy({ target, cutAfter: () => null });
  onTestFinished(() => through.close());
  const closed = [fetchAll(through.port), fetchAll(through.port)];
  await expect.poll(() => connections).toBe(2);
  through.cutAll();
  expect((await Promise.all(closed)).map(({ error }) => error)).toEqual(['ECONNRESET', 'ECONNRESET']);
  expect(through.cuts()).toBe(2);
});
