/**
 * Dials the cloud for a hosted computer in a Pod, as a user of its own beside the computer: it connects to the cloud's address, offers the connection
 * to the computer's program, and passes bytes on. Nothing in the computer reaches that address, or this program. Ends once the computer's program is
 * gone, so that a Pod ends with its computer. Must not know what is said on the connection.
 */
import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectSecurely } from 'node:tls';
import { systemClock } from '../../kit/clock/clock.ts';
import { systemTimers } from '../../kit/clock/timers.ts';
import { isReadyAt, offerAt } from '../../kit/link/offer.ts';
import { type LinkBoot, refusedSamples, unrestrictedCode } from './protocol.ts';
import { reached } from './tries.ts';

/** Milliseconds. */
const looksEvery = 100;
const asksWithin = 5_000;
const connectsWithin = 10_000;
const keptAliveAfter = 30_000;
const provesEvery = 3_600_000;
/** Between two dials; up to the longest after those that led nowhere, so that a cloud that is back is not dialled by all at once. */
const againMs = { first: 250, longest: 15_000 };
/** A connection that held for so long was a link. */
const heldMs = 10_000;

const boot = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as LinkBoot;
const isReady = () => isReadyAt(boot.socket, boot.token, asksWithin);

// The first process of a container gets no signal that it does not ask for.
process.once('SIGTERM', () => process.exit(0));
while (!(await isReady())) await delay(looksEvery);
writeFileSync(boot.ready, '');
systemTimers.after(provesEvery, prove);

let waitMs = againMs.first;
for (;;) {
  const began = performance.now();
  await dialOnce().catch((fault: Error) =>
    console.error(`The cloud at ${boot.cloud.host} was not dialled: ${fault.message}`),
  );
  if (performance.now() - began > heldMs) waitMs = againMs.first;
  await delay(waitMs * (0.5 + randomInt(500) / 1000));
  waitMs = Math.min(waitMs * 2, againMs.longest);
  // One that is busy does not answer in time, and is there all the same.
  if (!(await isReady()) && !(await isReady())) process.exit(0);
}

/** Resolves when the connection has ended. */
async function dialOnce(): Promise<void> {
  const cloud = await connected();
  const { computer, key, name } = boot.dial;
  try {
    const program = await offerAt(boot.socket, boot.token, { computer, key, at: systemClock.now(), cloud: name });
    await joined(cloud, program);
  } finally {
    cloud.destroy();
  }
}

function connected(): Promise<Socket> {
  const { host, port, tls } = boot.cloud;
  return new Promise((resolve, reject) => {
    const socket = tls
      ? connectSecurely({ host, port, servername: host, ALPNProtocols: ['http/1.1'] })
      : connect({ host, port });
    const late = setTimeout(() => socket.destroy(new Error('it did not answer in time')), connectsWithin);
    socket.once(tls ? 'secureConnect' : 'connect', () => {
      clearTimeout(late);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, keptAliveAfter);
      resolve(socket);
    });
    socket.once('close', () => clearTimeout(late));
    socket.on('error', reject);
  });
}

function joined(one: Socket, other: Socket): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      one.destroy();
      other.destroy();
      resolve();
    };
    for (const socket of [one, other]) socket.on('error', end).once('close', end);
    one.pipe(other).pipe(one);
  });
}

/** The firewall of the Pod holds this user, too, but for the cloud's address: where it was taken away, the computer ends. */
function prove(): void {
  void reached([...refusedSamples]).then((wrong) => {
    if (wrong === null) return void systemTimers.after(provesEvery, prove);
    console.error(
      `From inside, ${wrong[0]} answers with "${wrong[1]}": the network is no longer restricted to public addresses.`,
    );
    process.exit(unrestrictedCode);
  });
}
