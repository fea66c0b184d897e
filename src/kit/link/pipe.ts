/**
 * One stream of a link as a plain duplex with the socket methods that `node:http` calls. An end counts only if the other side sent it: a stream that was
 * cut off is an error. Must not know what it carries, or how its bytes travel.
 */
import { Duplex } from 'node:stream';

/** Emitted on a pipe whose carrier accepts nothing new, so that a pool releases it if it is idle. */
export const drainingEvent = 'carrierDraining';

/** Bytes queued on either side of a pipe before it pushes back. */
const highWaterMark = 64 * 1024;

/** The way of one pipe to the other side. */
interface PipeWay {
  /** `done` once the bytes are on their way. */
  write(bytes: Buffer, done: () => void): void;
  /** Nothing follows. */
  end(): void;
  /** So many bytes were read: as many more may come. */
  consumed(bytes: number): void;
  /** Nobody reads or writes any more, whether or not both sides had ended. */
  leave(): void;
}

export class Pipe extends Duplex {
  readonly #way: PipeWay;
  /** Came in, and not asked for yet. */
  #held = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(way: PipeWay) {
    super({ highWaterMark });
    this.#way = way;
    // Users listen too; this listener only keeps an error from ending the program.
    this.on('error', () => {});
  }

  /** For its carrier: bytes came. */
  receive(bytes: Buffer): void {
    if (this.destroyed) return;
    this.#idle?.refresh();
    this.#held += bytes.length;
    if (this.push(bytes)) this.#release();
  }

  /** For its carrier: the other side has ended. */
  receiveEnd(): void {
    this.#idle?.refresh();
    if (!this.destroyed) this.push(null);
  }

  /** For its carrier: no byte moves any more. */
  cut(cause?: unknown): void {
    this.destroy(cutOff(cause));
  }

  override _read(): void {
    this.#release();
  }

  #release(): void {
    const bytes = this.#held;
    if (bytes === 0) return;
    this.#held = 0;
    this.#way.consumed(bytes);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#idle?.refresh();
    this.#way.write(chunk, done);
  }

  /** Head and body of a message are joined into one frame and one message of the carrier. */
  override _writev(parts: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this._write(Buffer.concat(parts.map(({ chunk }) => chunk)), 'buffer' as BufferEncoding, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#way.end();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.setTimeout(0);
    this.#way.leave();
    done(error);
  }

  /** Like a socket's: 0 switches it off; each byte restarts it. */
  setTimeout(ms: number, onTimeout?: () => void): this {
    clearTimeout(this.#idle);
    this.#idle = undefined;
    if (ms > 0 && !this.destroyed) this.#idle = setTimeout(() => this.emit('timeout'), ms).unref();
    if (onTimeout !== undefined) {
      if (ms === 0) this.off('timeout', onTimeout);
      else this.once('timeout', onTimeout);
    }
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** The same error code as a socket's, for callers that know sockets. */
function cutOff(cause?: unknown): NodeJS.ErrnoException {
  return Object.assign(new Error('The link was cut.', { cause }), { code: 'ECONNRESET' });
}
