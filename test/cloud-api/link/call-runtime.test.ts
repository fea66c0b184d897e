/** What the cloud asks of a computer on its own account, over a real link. */
import type { IncomingHttpHeaders } from 'node:http';
import { expect, test } from 'vitest';
import { createRuntimeCalls } from '../../../src/cloud-api/link/call-runtime.ts';
import type { Devices } from '../../../src/cloud-api/link/devices.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { signatureHeaders, signedHeaders } from '../../../src/kit/signing/signature.ts';
import { onEnd } from '../../kit/http/support.ts';
import { startTestCloud, startTestComputer } from '../../support/link.ts';

test('equal calls within a second are each signed for themselves, and by the newest key', async () => {
  const cloud = await startTestCloud();
  onEnd(() => cloud.close());
  const heard: IncomingHttpHeaders[] = [];
  const computer = await startTestComputer(cloud, {
    engine: (request, response) => {
      heard.push(request.headers);
      request.resume().on('end', () => response.end('{}'));
    },
  });
  onEnd(() => computer.close());
  await computer.linked();
  let key = 'ab'.repeat(32);
  const now = Date.now();
  const runtimes = createRuntimeCalls({
    link: cloud.dialIns,
    devices: { find: async () => ({ userId: 'user_1', keys: [key] }) } as unknown as Devices,
    clock: { ...systemClock, now: () => now },
  });
  onEnd(async () => runtimes.close());
  const request = { method: 'POST', path: '/api/v1/asked', body: { n: 1 }, signal: new AbortController().signal };
  const ask = () => runtimes.call(computer.id, request);
  expect((await Promise.all([ask(), ask(), ask()])).map(({ status }) => status)).toEqual([200, 200, 200]);
  const signatures = heard.map((headers) => headers[signatureHeaders.sig]);
  expect(new Set(signatures).size).toBe(3);

  key = 'cd'.repeat(32);
  await ask();
  const expected = signedHeaders({ runtimeId: computer.id, key, now: () => now }, { ...request, body: '{"n":1}' });
  expect(heard.at(-1)).toMatchObject(expected);
});
