/**
 * An offer hands the program of a hosted computer the connection that was made to its socket, to dial its cloud on. The program has no other way
 * out and no address. One line in JSON, proven with the secret of the program's start: a process in the computer cannot pass for its cloud. After it the
 * connection is the program's. First users: the cloud's drivers, and the program. Must not know who listens.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { z } from 'zod';
import { readFirstLine } from './first-line.ts';

/** As whom to dial. */
const Dial = z.strictObject({
  computer: z.string().min(1).max(80),
  /** Signs for this start of the computer. */
  key: z.string().min(32).max(256),
  /** The cloud's time, by which it judges signatures. Milliseconds since the epoch. */
  at: z.number().int().min(0),
  /** The cloud's address, where the connection ends at its public listener, which answers only to its name. Absent: at what takes only this dial. */
  cloud: z
    .url({ protocol: /^https?$/ })
    .max(300)
    .optional(),
});
export type Dial = z.infer<typeof Dial>;

const Offer = z.strictObject({ dial: Dial.nullable(), proof: z.string() });

/** Answers an offer without a dial: the program could dial now. */
export const readyWord = 'ready\n';
/** Bytes. */
const longestLine = 1024;

/** Connects to a program's socket and offers it the connection. Rejects with the connection's error. */
export function offerAt(path: string, secret: string, dial: Dial): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.off('error', reject);
      resolve(offerOn(socket, secret, dial));
    });
    socket.once('error', reject);
  });
}

/** Offers a program a connection that leads to its socket. */
export function offerOn<Connection extends Duplex>(connection: Connection, secret: string, dial: Dial): Connection {
  connection.on('error', () => {});
  connection.write(offerLine(secret, dial));
  return connection;
}

/** Whether the program at this socket could dial now. Never rejects. */
export function isReadyAt(path: string, secret: string, withinMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => socket.write(offerLine(secret, null)));
    let said = '';
    socket.setTimeout(Math.max(1, withinMs), () => socket.destroy());
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      said += chunk.toString('latin1');
    });
    socket.once('close', () => resolve(said === readyWord));
    socket.once('end', () => socket.destroy());
  });
}

/** `secret`: of the program's start. `dial` null asks only whether it is ready. */
function offerLine(secret: string, dial: Dial | null): string {
  return `${JSON.stringify({ dial, proof: prove(secret, dial) })}\n`;
}

/** The offer of that line; undefined if it is not one, or was made without the secret. */
function readOffer(secret: string, line: string): Dial | null | undefined {
  let read: unknown;
  try {
    read = JSON.parse(line);
  } catch {
    return undefined;
  }
  const offer = Offer.safeParse(read);
  if (!offer.success) return undefined;
  const { dial, proof } = offer.data;
  const expected = Buffer.from(prove(secret, dial));
  const given = Buffer.from(proof);
  return given.length === expected.length && timingSafeEqual(given, expected) ? dial : undefined;
}

/** Reads the offer of a connection, and nothing after it. Destroys one that makes none. Never rejects. */
export async function takeOffer(socket: Socket, secret: string): Promise<Dial | null | undefined> {
  socket.on('error', () => {});
  const first = await readFirstLine(socket, longestLine);
  // It speaks only after the program did.
  const offer = first === null || first.rest.length > 0 ? undefined : readOffer(secret, first.line);
  if (offer === undefined) socket.destroy();
  return offer;
}

function prove(secret: string, dial: Dial | null): string {
  const { computer, key, at, cloud } = dial ?? {};
  const said = [computer, key, at, cloud].filter((part) => part !== undefined).join(' ');
  return createHmac('sha256', secret).update(`offer ${said}`).digest('hex');
}
