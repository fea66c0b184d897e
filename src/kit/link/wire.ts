/**
 * A WebSocket as a wire for bytes, with how much of them the network has not taken yet. Own code instead of the stream that `ws` makes: that one cuts the
 * connection before the other side has read the reason. First user: the carrier. Must not know what the bytes are.
 */
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';

interface Wire {
  /** Called in the tick in which the WebSocket opened: later its first messages would be lost. */
  listen(listeners: WireListeners): void;
  /** In one write, as many messages as parts. */
  send(parts: readonly Buffer[]): void;
  /** Bytes that the network has not taken yet. */
  readonly waiting: number;
  /** Sends the reason, and ends the WebSocket. */
  close(code: number, reason: string): void;
  /** At once. Nothing is reported afterwards. */
  destroy(): void;
}

interface WireListeners {
  readonly onBytes: (bytes: Buffer) => void;
  /** The network took some of what was sent. */
  readonly onSent: () => void;
  /** The WebSocket is closed, by either side. */
  readonly onClosed: (how: { readonly code: number; readonly reason: string }) => void;
}

const binary = { binary: true, compress: false };

/** `below` is the connection that the WebSocket runs over. */
export function createWire(ws: WebSocket, below: Duplex): Wire {
  let destroyed = false;
  let sent = () => {};

  return {
    listen({ onBytes, onSent, onClosed }) {
      sent = () => {
        if (!destroyed) onSent();
      };
      ws.on('message', (data: RawData, isBinary) => {
        if (destroyed) return;
        if (isBinary) onBytes(data as Buffer);
        else ws.close(1003, 'Only bytes are read here.');
      });
      // An error closes it too, and the close is reported.
      ws.on('error', () => {});
      ws.once('close', (code, reason) => {
        if (!destroyed) onClosed({ code, reason: reason.toString() });
      });
    },
    send(parts) {
      if (ws.readyState !== ws.OPEN) return;
      below.cork();
      for (const part of parts) ws.send(part, binary, sent);
      below.uncork();
    },
    get waiting() {
      return ws.bufferedAmount;
    },
    close: (code, reason) => ws.close(code, reason),
    destroy() {
      destroyed = true;
      if (ws.readyState === ws.OPEN || ws.readyState === ws.CONNECTING) ws.terminate();
    },
  };
}
