/** How a program hears that it has no connection: in the words of what it speaks. Must not know what is allowed. */
import type { Duplex } from 'node:stream';
import { AppError } from '../../contracts/common/errors.ts';
import { type HostAndPort, showHostAndPort } from '../../kit/egress/host-name.ts';
import type { Reason } from './protocol.ts';
import type { Speech } from './sniff.ts';

export interface Refusal {
  readonly reason: Reason;
  /** A sentence. */
  readonly says: string;
}

/** Allowed, and not reached. */
export interface Fault {
  readonly reason: null;
  readonly says: string;
}

/** The header that names the reason. */
export const refusedHeader = 'gantry-refused';
/** TLS alert `access_denied`, fatal (RFC 8446, 6.2). */
const accessDenied = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x31]);
/** Milliseconds for the other side to read it. */
const readMs = 2000;

export function refusalOf(what: string, reason: Reason, why: string): Refusal {
  return { reason, says: `Gantry has not opened ${what}: ${why}.` };
}

/** Of a connection that could not be made. */
export function faultOf(to: HostAndPort, error: Error): Refusal | Fault {
  if (!(error instanceof AppError))
    return { reason: null, says: `${showHostAndPort(to)} broke off: ${error.message}.` };
  return error.code === 'refused'
    ? { reason: 'private', says: `${error.fact} ${error.action}` }
    : { reason: null, says: error.fact };
}

/** A whole HTTP answer, after which the connection ends. */
export function plainAnswer({ reason, says }: Refusal | Fault): string {
  const body = `${says}\n`;
  return [
    `HTTP/1.1 ${reason === null ? '502 Bad Gateway' : '403 Forbidden'}`,
    'content-type: text/plain; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    ...(reason === null ? [] : [`${refusedHeader}: ${reason}`]),
    'connection: close',
    '',
    body,
  ].join('\r\n');
}

export function refuse(client: Duplex, speech: Speech | null, refusal: Refusal | Fault): void {
  if (speech?.is === 'http') endWith(client, plainAnswer(refusal));
  else if (speech?.is === 'tls' && refusal.reason !== null) endWith(client, accessDenied);
  else client.destroy();
}

/** Says it and ends. What still comes is read and dropped, because a connection that ends before that may lose what it said. */
export function endWith(client: Duplex, last: string | Buffer): void {
  client.end(last);
  client.resume();
  const timer = setTimeout(() => client.destroy(), readMs);
  client.once('close', () => clearTimeout(timer));
}
