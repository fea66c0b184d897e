/**
 * A CONNECT stream of HTTP/2 as a plain duplex with the socket methods that `node:http` calls; over the raw stream its parser fails. An end counts
 * only if the other side sent it: a stream that was cut off is an error. Must not know what it carries.
 */
import { constants, type Http2Stream } from 'node:http2';
import { Duplex } from 'node:stream';

/** Emitted on a pipe whose carrier accepts nothing new, so that a pool releases it if it is idle. */
export const drainingEvent = 'carrierDraining';

/** Bytes queued on either side of a pipe before it pushes back. */
const highWaterMark = 64 * 1024;

export class Pipe extends Duplex {
  readonly #stream: Http2Stream;

  constructor(stream: Http2Stream) {
    super({ highWaterMark });
    this.#stream = stream;
    stream.pause();
    stream.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) stream.pause();
    });
    stream.on('end', () => {
      // A stream that was reset also ends.
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR) this.push(null);
      else this.destroy(cutOff());
    });
    stream.on('timeout', () => this.emit('timeout'));
    stream.on('error', (cause) => this.destroy(cutOff(cause)));
    stream.on('close', () => {
      const whole = stream.rstCode === constants.NGHTTP2_NO_ERROR && stream.readableEnded;
      if (!whole || !this.writableEnded) this.destroy(cutOff());
    });
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    // After a reset nothing drains any more; the reset itself destroys this pipe.
    if (this.#stream.write(chunk)) done();
    else this.#stream.once('drain', done);
  }

  /** Head and body of a message are joined into one frame, one write and one message of the carrier. */
  override _writev(parts: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this._write(Buffer.concat(parts.map(({ chunk }) => chunk)), 'buffer' as BufferEncoding, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#stream.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#stream.closed) {
      const whole = error === null && this.readableEnded && this.writableFinished;
      this.#stream.close(whole ? constants.NGHTTP2_NO_ERROR : constants.NGHTTP2_CANCEL);
    }
    done(error);
  }

  /** Like a socket's: 0 switches it off; each byte restarts it. */
  setTimeout(ms: number, onTimeout?: () => void): this {
    if (onTimeout !== undefined) {
      if (ms === 0) this.off('timeout', onTimeout);
      else this.once('timeout', onTimeout);
    }
    if (!this.#stream.destroyed) this.#stream.setTimeout(ms);
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
