/**
 * Connections to computers that are linked at another replica: requested from it over HTTP, plain bytes from then on. Must not know who is linked
 * where.
 */
import { randomBytes } from 'node:crypto';
import { type IncomingMessage, request as startRequest } from 'node:http';
import { request as startSecureRequest } from 'node:https';
import type { Socket } from 'node:net';
import { AppError } from '../../contracts/common/errors.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { LinkSide } from './link.ts';
import { isProven, pipeHeaders, pipeMount, pipeProtocol, prove, type Question } from './replica-proof.ts';

export interface PipeTarget {
  readonly replica: string;
  /** `http://10.0.0.7:3010` */
  readonly address: string;
}

/** That replica does not answer, has been replaced, or does not prove itself. */
export class NotThere extends Error {}
/** That replica is up, but the computer is no longer linked to it. */
export class NotLinked extends Error {}

/** Within a network of replicas, an answer comes at once or not at all. */
const answerMs = 3_000;
/** After this much silence the system probes the other end. */
export const keepAliveMs = 15_000;
const largestRefusal = 4096;

export interface ReplicaPipes {
  /** Throws {@link NotThere}, {@link NotLinked}, or 429 if the link takes no more. */
  open(target: PipeTarget, computerId: string, side: LinkSide): Promise<Socket>;
  /** Whether that replica answers, and proves itself. Never rejects. */
  isThere(target: PipeTarget): Promise<boolean>;
}

export function createReplicaPipes({
  internalToken,
  clock,
  timers,
}: {
  readonly internalToken: string;
  /** The store's. */
  readonly clock: { now(): number };
  readonly timers: Timers;
}): ReplicaPipes {
  /** Sends a request below the mount: a replica that proved itself opens a pipe or, for null, only confirms that it is up. */
  function ask(address: string, path: string): Promise<Socket | null> {
    const at = String(Math.floor(clock.now() / 1000));
    const question: Question = { path: `${pipeMount}${path}`, at, nonce: randomBytes(18).toString('base64url') };
    const start = address.startsWith('https:') ? startSecureRequest : startRequest;
    return new Promise((resolve, reject) => {
      const asking = start(new URL(question.path, address), {
        agent: false,
        headers: {
          connection: 'Upgrade',
          upgrade: pipeProtocol,
          [pipeHeaders.at]: at,
          [pipeHeaders.nonce]: question.nonce,
          [pipeHeaders.proof]: prove(internalToken, 'asks', question),
        },
      });
      const cancel = timers.after(answerMs, () => asking.destroy(new NotThere('It does not answer.')));
      const isReplica = ({ headers }: IncomingMessage) =>
        isProven(internalToken, 'is asked', question, headers[pipeHeaders.proof]);
      asking.once('upgrade', (answer, socket: Socket, head) => {
        cancel();
        if (!isReplica(answer)) {
          socket.destroy();
          reject(new NotThere('What answers there is no replica of this cloud.'));
          return;
        }
        socket.setNoDelay(true);
        // A computer that lost its power closes nothing.
        socket.setKeepAlive(true, keepAliveMs);
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      });
      asking.once('response', (answer) => {
        if (isReplica(answer)) {
          cancel();
          answer.destroy();
          resolve(null);
          return;
        }
        refusalOf(answer).then((refusal) => {
          cancel();
          reject(refusal);
        });
      });
      asking.once('error', (fault) => {
        cancel();
        reject(fault instanceof NotThere ? fault : new NotThere(fault.message, { cause: fault }));
      });
      asking.end();
    });
  }

  return {
    async open({ replica, address }, computerId, side) {
      const socket = await ask(address, `${replica}/${computerId}/${side}`);
      if (socket === null) throw new NotThere('It opened nothing.');
      return socket;
    },
    isThere: ({ replica, address }) =>
      ask(address, replica).then(
        (socket) => {
          socket?.destroy();
          return true;
        },
        () => false,
      ),
  };
}

/** Passes on errors that a caller can act on; any other counts as absent. */
async function refusalOf(answer: IncomingMessage): Promise<Error> {
  answer.setEncoding('utf8');
  let text = '';
  try {
    for await (const part of answer) {
      text += part;
      if (text.length > largestRefusal) break;
    }
    const { error, message } = JSON.parse(text) as { error: unknown; message: unknown };
    if (error === 'computer_unavailable') return new NotLinked(String(message));
    if (error !== 'rate_limited') return new NotThere(`It answered ${answer.statusCode}: ${text.slice(0, 200)}`);
    const retryAfter = Number(answer.headers['retry-after'] ?? 5);
    return new AppError('refused', String(message), '', { status: 429, wireCode: 'rate_limited', retryAfter });
  } catch (fault) {
    return new NotThere(`What it answered cannot be read: ${String(fault)}`);
  }
}
