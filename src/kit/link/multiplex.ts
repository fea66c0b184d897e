/**
 * Many pipes over one connection: the part of HTTP/2 that a link uses (RFC 9113), which is `CONNECT` streams, their flow control, pings and GOAWAY. Own code in
 * place of Node's core, which needs a socket of the operating system: a pair of them for each link would cost two descriptors, twice the memory, and two
 * more ways of each byte through the kernel (docs/adr/0010). The wire is the same, so that computers of earlier versions stay linked. Must not know who
 * dials, what a pipe carries, or WebSockets.
 */
import {
  BrokenProtocol,
  createFrameReader,
  dataFrames,
  type FrameHead,
  frame,
  frameFlags,
  frameTypes,
  maxWhole,
  unpadded,
} from './frames.ts';
import { acceptedBlock, connectBlock, createBlockReader } from './header-blocks.ts';
import { Pipe } from './pipe.ts';

/** Bytes on their way in one pipe, and in all: answers to several streams at once must neither fill the memory nor wait for each other. */
const windowOfPipe = 1 << 19;
const windowOfAll = 1 << 24;
/** Of either window, before anything was said. */
const firstWindow = 65_535;
const maxWindow = 0x7fff_ffff;
/** So much of a pipe is sent before the next one has its turn; also the longest frame that is taken here. */
const maxTurn = 1 << 17;
/** Headers of a pipe. */
const maxHeaderBytes = 4096;

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
const settingIds = { enablePush: 2, maxStreams: 3, window: 4, maxFrame: 5, maxHeaderBytes: 6 } as const;
const codes = { none: 0, refused: 7, cancelled: 8 } as const;
const pingBytes = 8;
const nothing = Buffer.alloc(0);

interface MultiplexDeps {
  /** `asks`: somebody waits for what follows from it; the others only keep the connection in order. */
  readonly send: (parts: readonly Buffer[], asks: boolean) => void;
  /** The connection takes no more data for now; {@link Multiplex.resume} when it does again. */
  readonly isFull: () => boolean;
  /** Accepts a pipe that the other side opens; false: there is no such endpoint. Absent on the opening side. */
  readonly accept?: (side: string, pipe: Pipe) => boolean;
  /** Pipes that may be accepted at the same time. */
  readonly maxAccepted: number;
  /** The other side is ready. */
  readonly onUp: () => void;
  /** The other side opens and accepts nothing more, for the reason in `data`. */
  readonly onGoAway: (data: string) => void;
  /** A pipe is closed on this side. */
  readonly onClosed: () => void;
  /** The other side breaks the protocol: the connection is of no use any more. */
  readonly onFault: (why: string) => void;
}

interface Multiplex {
  /** Open pipes. */
  readonly size: number;
  /** Says hello. */
  start(): void;
  take(bytes: Buffer): void;
  /** null: the connection takes none. */
  open(side: string): Pipe | null;
  ping(): void;
  goAway(data: string): void;
  /** The connection takes data again. */
  resume(): void;
  tell(event: string): void;
  /** Cuts every pipe. */
  end(reason: string): void;
}

interface Stream {
  readonly id: number;
  readonly pipe: Pipe;
  /** Bytes that may be sent. */
  window: number;
  /** Bytes that may still come, by what the other side was told. */
  room: number;
  /** Bytes that were read and not told yet. */
  read: number;
  unsent: { bytes: Buffer; readonly done: () => void } | null;
  sentEnd: boolean;
  gotEnd: boolean;
}

export function createMultiplex(deps: MultiplexDeps): Multiplex {
  const opens = deps.accept === undefined;
  const readBlock = createBlockReader();
  const streams = new Map<number, Stream>();
  /** Pipes that are not closed on this side; some of them have no stream any more. */
  const pipes = new Set<Pipe>();
  /** Have something to send, and wait for a turn. */
  const waiting = new Set<Stream>();
  const other = { window: firstWindow, maxFrame: maxWhole, windowOfPipe: firstWindow };
  let untold = 0;
  let nextId = 1;
  let lastTaken = 0;
  let up = false;
  let leaving = false;
  let ended = false;
  /** A block of headers whose frames have not all come. */
  let block: { readonly head: FrameHead; bytes: Buffer } | null = null;
  let missing = opens ? nothing : preface;

  const readFrames = createFrameReader(maxTurn, { onData, onFrame });

  function control(type: number, flags: number, stream: number, payload: Buffer): void {
    if (!ended) deps.send([frame(type, flags, stream, payload)], false);
  }

  const reset = (id: number, code: number) => control(frameTypes.reset, 0, id, numbers(code));

  // Sending

  /** One turn of a stream. Whether it used it. */
  function sendTurn(stream: Stream): boolean {
    const { unsent } = stream;
    if (unsent === null) return false;
    const bytes = Math.min(unsent.bytes.length, maxTurn, stream.window, other.window);
    if (bytes <= 0) return false;
    stream.window -= bytes;
    other.window -= bytes;
    const whole = bytes === unsent.bytes.length;
    const part = whole ? unsent.bytes : unsent.bytes.subarray(0, bytes);
    deps.send(dataFrames(stream.id, part, other.maxFrame), true);
    if (whole) {
      stream.unsent = null;
      unsent.done();
    } else unsent.bytes = unsent.bytes.subarray(bytes);
    return true;
  }

  /** In turns, as long as the connection and the windows take anything. */
  function sendWaiting(): void {
    for (const stream of waiting) {
      if (ended || deps.isFull() || other.window <= 0) return;
      // Behind the others, which this very loop reaches before it.
      waiting.delete(stream);
      if (sendTurn(stream) && stream.unsent !== null) waiting.add(stream);
    }
  }

  function createStream(id: number): Stream {
    const pipe = new Pipe({
      write(bytes, done) {
        if (stream.sentEnd || !streams.has(id)) return;
        if (bytes.length === 0) return done();
        stream.unsent = { bytes, done };
        waiting.add(stream);
        sendWaiting();
      },
      end() {
        if (stream.sentEnd || !streams.has(id)) return;
        stream.sentEnd = true;
        deps.send([frame(frameTypes.data, frameFlags.endStream, id, nothing)], true);
        forgetIfOver(stream);
      },
      consumed(bytes) {
        if (stream.gotEnd || !streams.has(id)) return;
        stream.read += bytes;
        if (stream.read < windowOfPipe / 2) return;
        control(...windowUpdate(id, stream.read));
        stream.room += stream.read;
        stream.read = 0;
      },
      leave() {
        if (!streams.has(id)) return;
        forget(stream);
        reset(id, codes.cancelled);
      },
    });
    const stream: Stream = {
      id,
      pipe,
      window: other.windowOfPipe,
      room: windowOfPipe,
      read: 0,
      unsent: null,
      sentEnd: false,
      gotEnd: false,
    };
    streams.set(id, stream);
    pipes.add(pipe);
    pipe.once('close', () => {
      pipes.delete(pipe);
      if (!ended) deps.onClosed();
    });
    return stream;
  }

  function forget(stream: Stream): void {
    streams.delete(stream.id);
    waiting.delete(stream);
  }

  function forgetIfOver(stream: Stream): void {
    if (stream.sentEnd && stream.gotEnd) forget(stream);
  }

  // Taking

  function onData({ stream: id, flags }: FrameHead, data: Buffer, last: boolean): void {
    untold += data.length;
    if (untold >= windowOfAll / 2) {
      control(...windowUpdate(0, untold));
      untold = 0;
    }
    const stream = streams.get(id);
    // What was on its way when a pipe was left.
    if (stream === undefined || stream.gotEnd) return;
    stream.room -= data.length;
    if (stream.room < 0) throw new BrokenProtocol('A pipe got more than was asked for.');
    if (data.length > 0) stream.pipe.receive(data);
    if (last && (flags & frameFlags.endStream) !== 0) takeEnd(stream);
  }

  function takeEnd(stream: Stream): void {
    if (stream.gotEnd) return;
    stream.gotEnd = true;
    forgetIfOver(stream);
    stream.pipe.receiveEnd();
  }

  function onFrame(head: FrameHead, payload: Buffer): void {
    if (block !== null && head.type !== frameTypes.continuation)
      throw new BrokenProtocol('A block of headers was broken off.');
    checkLength(head, payload);
    switch (head.type) {
      case frameTypes.data:
        onData(head, unpadded(head, payload), true);
        break;
      case frameTypes.headers:
        onHeaders(head, unpadded(head, payload));
        break;
      case frameTypes.continuation:
        if (block?.head.stream !== head.stream)
          throw new BrokenProtocol('A block of headers continues that never began.');
        onHeaders({ ...block.head, flags: block.head.flags | head.flags }, Buffer.concat([block.bytes, payload]));
        break;
      case frameTypes.reset:
        onReset(head.stream);
        break;
      case frameTypes.settings:
        onSettings(head, payload);
        break;
      case frameTypes.ping:
        if ((head.flags & frameFlags.ack) === 0) control(frameTypes.ping, frameFlags.ack, 0, payload);
        break;
      case frameTypes.goAway:
        onGoAway(payload);
        break;
      case frameTypes.windowUpdate:
        onWindowUpdate(head.stream, payload.readUInt32BE(0) & maxWindow);
        break;
      case frameTypes.pushPromise:
        throw new BrokenProtocol('A link has no use for a PUSH_PROMISE.');
      default:
      // RFC 9113, 5.5: frames of unknown types are ignored, and priorities are of no use here.
    }
  }

  function onHeaders(head: FrameHead, bytes: Buffer): void {
    if (bytes.length > maxHeaderBytes)
      throw new BrokenProtocol(`Headers of ${bytes.length} bytes are longer than ${maxHeaderBytes}.`);
    if ((head.flags & frameFlags.endHeaders) === 0) {
      block = { head, bytes: Buffer.from(bytes) };
      return;
    }
    block = null;
    // Every block is read, or those that refer to it could not be.
    const headers = readBlock(bytes);
    const known = streams.get(head.stream);
    if (known !== undefined) {
      if ((head.flags & frameFlags.endStream) !== 0) takeEnd(known);
    } else if (!opens && head.stream > lastTaken) {
      lastTaken = head.stream;
      accept(head, headers);
    }
  }

  function accept({ stream: id, flags }: FrameHead, headers: ReadonlyMap<string, string>): void {
    const side = headers.get(':method') === 'CONNECT' ? headers.get(':authority') : undefined;
    if (side === undefined || leaving || streams.size >= deps.maxAccepted) {
      reset(id, codes.refused);
      return;
    }
    control(frameTypes.headers, frameFlags.endHeaders, id, acceptedBlock);
    const stream = createStream(id);
    if (deps.accept?.(side, stream.pipe) !== true) stream.pipe.destroy();
    else if ((flags & frameFlags.endStream) !== 0) takeEnd(stream);
  }

  function onReset(id: number): void {
    const stream = streams.get(id);
    if (stream === undefined) return;
    forget(stream);
    stream.pipe.cut();
  }

  function onSettings({ flags }: FrameHead, payload: Buffer): void {
    if ((flags & frameFlags.ack) !== 0) return;
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      const id = payload.readUInt16BE(at);
      const value = payload.readUInt32BE(at + 2);
      if (id === settingIds.maxFrame) {
        if (value < maxWhole)
          throw new BrokenProtocol(`Frames of at most ${value} bytes are shorter than HTTP/2 allows.`);
        other.maxFrame = Math.min(value, maxTurn);
      } else if (id === settingIds.window) {
        if (value > maxWindow) throw new BrokenProtocol(`A window of ${value} bytes is larger than HTTP/2 allows.`);
        for (const stream of streams.values()) stream.window += value - other.windowOfPipe;
        other.windowOfPipe = value;
      }
    }
    control(frameTypes.settings, frameFlags.ack, 0, nothing);
    for (const stream of streams.values()) if (stream.unsent !== null) waiting.add(stream);
    sendWaiting();
    if (up) return;
    up = true;
    deps.onUp();
  }

  function onGoAway(payload: Buffer): void {
    const last = payload.readUInt32BE(0) & maxWindow;
    const code = payload.readUInt32BE(4);
    if (code !== codes.none) throw new BrokenProtocol(`The other side gave up with code ${code} of HTTP/2.`);
    leaving = true;
    // The other side has never seen these.
    if (opens) for (const stream of [...streams.values()]) if (stream.id > last) onReset(stream.id);
    deps.onGoAway(payload.subarray(8).toString());
  }

  function onWindowUpdate(id: number, bytes: number): void {
    if (id === 0) {
      other.window += bytes;
      if (other.window > maxWindow)
        throw new BrokenProtocol('The window of the connection is larger than HTTP/2 allows.');
    } else {
      const stream = streams.get(id);
      if (stream === undefined) return;
      stream.window += bytes;
      if (stream.window > maxWindow) throw new BrokenProtocol('The window of a pipe is larger than HTTP/2 allows.');
      if (stream.unsent !== null) waiting.add(stream);
    }
    sendWaiting();
  }

  /** Takes what the preface of the opening side must be; returns what follows it. */
  function pastPreface(bytes: Buffer): Buffer {
    const given = bytes.subarray(0, missing.length);
    if (!given.equals(missing.subarray(0, given.length)))
      throw new BrokenProtocol('The other side does not speak HTTP/2.');
    missing = missing.subarray(given.length);
    return bytes.subarray(given.length);
  }

  return {
    get size() {
      return pipes.size;
    },
    start() {
      const settings = Buffer.concat([
        setting(settingIds.enablePush, 0),
        ...(opens ? [] : [setting(settingIds.maxStreams, deps.maxAccepted)]),
        setting(settingIds.window, windowOfPipe),
        setting(settingIds.maxFrame, maxTurn),
        setting(settingIds.maxHeaderBytes, maxHeaderBytes),
      ]);
      const hello = [frame(frameTypes.settings, 0, 0, settings), frame(...windowUpdate(0, windowOfAll - firstWindow))];
      deps.send(opens ? [preface, ...hello] : hello, false);
    },
    take(bytes) {
      if (ended) return;
      try {
        readFrames(missing.length === 0 ? bytes : pastPreface(bytes));
      } catch (fault) {
        if (!(fault instanceof BrokenProtocol)) throw fault;
        deps.onFault(fault.message);
      }
    },
    open(side) {
      if (!up || leaving || ended || nextId > maxWindow) return null;
      const id = nextId;
      nextId += 2;
      deps.send([frame(frameTypes.headers, frameFlags.endHeaders, id, connectBlock(side))], true);
      return createStream(id).pipe;
    },
    ping: () => control(frameTypes.ping, 0, 0, Buffer.alloc(pingBytes)),
    goAway(data) {
      leaving = true;
      const payload = Buffer.concat([numbers(lastTaken, codes.none), Buffer.from(data)]);
      control(frameTypes.goAway, 0, 0, payload);
    },
    resume: sendWaiting,
    tell(event) {
      for (const pipe of [...pipes]) pipe.emit(event);
    },
    end(reason) {
      ended = true;
      waiting.clear();
      const fault = Object.assign(new Error(reason || 'The link was cut.'), { code: 'ECONNRESET' });
      for (const stream of [...streams.values()]) stream.pipe.destroy(fault);
      streams.clear();
    },
  };
}

/** RFC 9113, 6: the lengths that frames of fixed content have. */
function checkLength({ type }: FrameHead, { length }: Buffer): void {
  const right =
    (type !== frameTypes.ping || length === pingBytes) &&
    (type !== frameTypes.windowUpdate || length === 4) &&
    (type !== frameTypes.goAway || length >= 8) &&
    (type !== frameTypes.settings || length % 6 === 0);
  if (!right) throw new BrokenProtocol(`A frame of type ${type} has ${length} bytes.`);
}

function windowUpdate(stream: number, bytes: number): [number, number, number, Buffer] {
  return [frameTypes.windowUpdate, 0, stream, numbers(bytes)];
}

function setting(id: number, value: number): Buffer {
  const made = Buffer.allocUnsafe(6);
  made.writeUInt16BE(id);
  made.writeUInt32BE(value, 2);
  return made;
}

function numbers(...values: readonly number[]): Buffer {
  const made = Buffer.allocUnsafe(4 * values.length);
  for (const [index, value] of values.entries()) made.writeUInt32BE(value, 4 * index);
  return made;
}
