/** The program that dials for a computer in a Pod, with a computer's program and a cloud that are servers of this test. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { type Dial, readyWord, takeOffer } from '../../../src/kit/link/offer.ts';
import type { LinkBoot } from '../../../src/programs/computer-init/protocol.ts';

const program = fileURLToPath(new URL('../../../src/programs/computer-init/link.ts', import.meta.url));
const token = 't'.repeat(64);
const dial = { computer: 'cmp_000000000042', key: 'k'.repeat(64), name: 'https://gantry.example' };

const listen = (server: Server, at: string | number) =>
  new Promise<void>((resolve) =>
    typeof at === 'string' ? server.listen(at, resolve) : server.listen(at, '127.0.0.1', resolve),
  );

test('it dials once the computer can be called, in the cloud’s name, again after a cut, and ends with the computer’s program', {
  timeout: 60_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-link-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [socket, ready, file] = ['engine.sock', 'ready', 'link.json'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const dialled: Dial[] = [];
  const connections = new Set<Socket>();
  // As the program in a computer: it speaks on what it was offered.
  const computer = createServer((connection) => {
    connections.add(connection);
    void takeOffer(connection, token).then((offered) => {
      if (offered === null) connection.end(readyWord);
      if (offered == null) return;
      dialled.push(offered);
      connection.write('from the computer');
      connection.on('data', (bytes) => connection.write(bytes));
    });
  });
  const heard: string[] = [];
  const dials: Socket[] = [];
  const cloud = createServer((connection) => {
    dials.push(connection);
    connection.on('error', () => {}).on('data', (bytes) => heard.push(bytes.toString()));
  });
  await listen(cloud, 0);
  const { port } = cloud.address() as AddressInfo;
  const boot: LinkBoot = { socket, ready, token, cloud: { host: '127.0.0.1', port, tls: false }, dial };
  writeFileSync(file, JSON.stringify(boot));
  const link = spawn(process.execPath, [program, file], { stdio: ['ignore', 'inherit', 'inherit'] });
  const ended = new Promise<number | null>((resolve) => link.once('exit', resolve));
  onTestFinished(() => {
    link.kill('SIGKILL');
    cloud.close();
    computer.close();
  });
  // Nothing listens yet: nobody is dialled, and the Pod is not ready.
  expect([existsSync(ready), dials.length]).toEqual([false, 0]);
  await listen(computer, socket);
  await expect.poll(() => heard).toEqual(['from the computer']);
  expect(existsSync(ready)).toBe(true);
  expect(dialled).toEqual([{ computer: dial.computer, key: dial.key, at: expect.any(Number), cloud: dial.name }]);
  dials[0]!.write('from the cloud');
  await expect.poll(() => heard).toEqual(['from the computer', 'from the cloud']);
  dials[0]!.destroy();
  await expect.poll(() => dialled.length).toBe(2);
  computer.close();
  for (const connection of connections) connection.destroy();
  expect(await ended).toBe(0);
});
