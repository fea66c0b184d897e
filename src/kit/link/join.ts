/**
 * Joins a WebSocket to a socket, bytes for bytes, at the speed of the slower one. Own code instead of the stream that `ws` makes: that one cuts the
 * connection before the other side has read the reason. First user: the carrier. Must not know what the bytes are.
 */
import type { Socket } from 'node:net';
import type { RawData, WebSocket } from 'ws';

interface Join {
  /** Starts the flow of bytes; earlier ones are delivered first. */
  to(socket: Socket): void;
  /** Bytes that the network has not taken yet. */
  readonly waiting: number;
  /** Sends the reason, and ends the WebSocket. */
  close(code: number, reason: string): void;
  /** Ends both. */
  destroy(): void;
}

/** Queued bytes at which the socket is not read any further. */
const maxWaiting = 512 * 1024;

export function joinWebSocket(
  ws: WebSocket,
  {
    onHeard,
    onSaid,
    onClosed,
  }: {
    /** Something came in. */
    readonly onHeard: () => void;
    /** So many bytes go out. */
    readonly onSaid: (bytes: number) => void;
    /** The WebSocket is closed, by either side; not called after `destroy`. */
    readonly onClosed: (how: { readonly code: number; readonly reason: string }) => void;
  },
): Join {
  /** null once bytes flow. */
  let early: Buffer[] | null = [];
  let joined: Socket | null = null;
  let destroyed = false;
  const binary = { binary: true, compress: false };

  ws.pause();
  ws.on('message', (data: RawData, isBinary) => {
    if (destroyed) return;
    if (!isBinary) return ws.close(1003, 'Only bytes are read here.');
    onHeard();
    if (early !== null) early.push(data as Buffer);
    else if (joined?.writable && !joined.write(data as Buffer)) ws.pause();
  });
  // An error closes it too, and the close is reported.
  ws.on('error', () => {});
  ws.once('close', (code, reason) => {
    if (!destroyed) onClosed({ code, reason: reason.toString() });
    joined?.destroy();
  });

  function onSent(): void {
    if (joined?.isPaused() && ws.bufferedAmount < maxWaiting / 2) joined.resume();
  }

  return {
    get waiting() {
      return ws.bufferedAmount;
    },
    to(socket) {
      joined = socket;
      socket.on('drain', () => ws.resume());
      socket.on('data', (chunk: Buffer) => {
        if (ws.readyState !== ws.OPEN) return;
        ws.send(chunk, binary, onSent);
        onSaid(chunk.length);
        if (ws.bufferedAmount >= maxWaiting) socket.pause();
      });
      for (const data of early ?? []) socket.write(data);
      early = null;
      ws.resume();
    },
    close(code, reason) {
      // If it were paused, it would never read the answer to its close frame.
      if (ws.isPaused) ws.resume();
      ws.close(code, reason);
    },
    destroy() {
      destroyed = true;
      early = null;
      joined?.destroy();
      if (ws.readyState === ws.OPEN || ws.readyState === ws.CONNECTING) ws.terminate();
    },
  };
}
