/**
 * Where other replicas reach the computers that are linked here: each connection becomes one pipe to one computer, bytes for bytes. It opens only
 * links of this process, so nothing is forwarded twice. The asking replica has let the caller in; the credential inside the pipe names who acts, and
 * the computer checks it. Must not know routes.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { AppError } from '../../contracts/common/errors.ts';
import { render, toAppError } from '../../kit/http/faults.ts';
import { endWith } from '../../kit/http/server.ts';
import type { Link, LinkSide } from './link.ts';
import { keepAliveMs } from './replica-pipes.ts';
import {
  isProven,
  pipeHeaders,
  pipeMount,
  pipeProtocol,
  prove,
  type Question,
  questionIn,
  untilTooOld,
} from './replica-proof.ts';

/** Without a computer, the request only checks that this replica is up. */
const shape = /^([a-zA-Z0-9_]{1,80})(?:\/([a-zA-Z0-9_]{1,80})\/(engine|peer))?$/;

/** Takes an upgrade below {@link pipeMount}. */
export function createReplicaEndpoint(deps: {
  /** Of this process. */
  readonly id: string;
  readonly internalToken: string;
  /** The store's. */
  readonly clock: { now(): number };
  /** Links of this process. */
  readonly here: Pick<Link, 'open'>;
}): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  /** Each request is answered once, so nobody who read one on its way can replay it. Maps a request to the time from which it is too old anyway. */
  const answered = new Map<string, number>();

  function isNew({ nonce, at }: Question): boolean {
    const now = deps.clock.now();
    for (const [known, until] of answered) {
      if (until > now) break;
      answered.delete(known);
    }
    if (answered.has(nonce)) return false;
    answered.set(nonce, untilTooOld(Number(at)));
    return true;
  }

  async function admit(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { url = '', headers } = request;
    const question = questionIn(url, headers, deps.clock.now());
    const proven = question !== null && isProven(deps.internalToken, 'asks', question, headers[pipeHeaders.proof]);
    if (!proven || !isNew(question)) {
      throw new AppError('refused', 'Only replicas of this cloud may connect here.', 'Use its public address.', {
        status: 401,
        wireCode: 'unauthorized',
      });
    }
    const [, to, computerId, side] = shape.exec(url.slice(pipeMount.length)) ?? [];
    if (to !== deps.id) {
      throw new AppError('transport', 'This is another replica.', 'Look up again which one holds the link.', {
        wireCode: 'unavailable',
      });
    }
    const proof = `${pipeHeaders.proof}: ${prove(deps.internalToken, 'is asked', question)}`;
    if (computerId === undefined) {
      endWith(socket, `HTTP/1.1 204 No Content\r\nconnection: close\r\n${proof}\r\n\r\n`);
      return;
    }
    const pipe = await deps.here.open(computerId, side as LinkSide);
    if (socket.destroyed) {
      pipe.destroy();
      return;
    }
    const lines = ['HTTP/1.1 101 Switching Protocols', 'connection: Upgrade', `upgrade: ${pipeProtocol}`];
    socket.write(`${[...lines, proof].join('\r\n')}\r\n\r\n`);
    if (head.length > 0) pipe.write(head);
    join(socket as Socket, pipe);
  }

  return (request, socket, head) => {
    socket.on('error', () => {});
    admit(request, socket, head).catch((thrown: unknown) => {
      const { status, body, headers } = render(toAppError(thrown, 'link'), 'plain');
      const text = JSON.stringify(body);
      const lines = [
        `HTTP/1.1 ${status} Refused`,
        'connection: close',
        'content-type: application/json; charset=utf-8',
      ];
      for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
      endWith(socket, `${lines.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    });
  };
}

/** Passes an end on as an end and a cut as a cut: the reader must see that something is missing. */
function join(socket: Socket, pipe: Duplex): void {
  socket.setNoDelay(true);
  // A computer that lost its power closes nothing, and a link takes only so many pipes.
  socket.setKeepAlive(true, keepAliveMs);
  socket.pipe(pipe).pipe(socket);
  pipe.once('error', () => socket.resetAndDestroy());
  // Sends the rest of the queued bytes first.
  pipe.once('close', () => socket.destroySoon());
  socket.once('close', () => pipe.destroy());
}
