/**
 * A push service on this machine. Firefox dials it over a WebSocket (its pref `dom.push.serverURL`), pushes come over HTTP
 * (RFC 8030); `device()` is a subscription without a browser, which decrypts what it gets (RFC 8291). Nothing is kept.
 */
import { createDecipheriv, createECDH, hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

/** What every push service takes at most. */
const largestBody = 4096;

export interface Push {
  readonly endpoint: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** What the sender was answered. */
  readonly status: number;
}

export interface PushDevice {
  /** As `PushSubscription.toJSON()` says it. */
  readonly subscription: {
    readonly endpoint: string;
    readonly keys: { readonly p256dh: string; readonly auth: string };
  };
  /** Decrypted, in order. */
  readonly received: readonly string[];
  /** From now on the sender learns that the subscription is gone. */
  expire(): void;
}

export interface PushService {
  readonly port: number;
  /** For `dom.push.serverURL`. */
  readonly url: string;
  /** Every push that came, refused ones too. */
  readonly pushes: readonly Push[];
  /** Subscriptions of browsers that count. */
  subscriptions(): number;
  device(): PushDevice;
  /** Answers the next pushes with these, before anything else is looked at. */
  answerNext(...answers: readonly { readonly status: number; readonly headers?: Record<string, string> }[]): void;
  close(): Promise<void>;
}

export interface PushServiceOptions {
  /** Where it listens; default any free port of 127.0.0.1. */
  readonly host?: string;
  readonly port?: number;
  /** How browsers and senders call it, where that is not where it listens: `http://localhost:8080`. */
  readonly origin?: string;
}

interface Channel {
  /** Whether the subscriber accepted it; false: the subscription is gone. */
  deliver(push: { readonly body: Buffer; readonly headers: IncomingHttpHeaders }): boolean;
  readonly id: string;
}

export async function startPushService(options: PushServiceOptions = {}): Promise<PushService> {
  const channels = new Map<string, Channel>();
  const pushes: Push[] = [];
  const answers: { status: number; headers?: Record<string, string> }[] = [];
  let origin = '';

  function open(channel: Channel): string {
    const path = `/wpush/v2/${randomBytes(12).toString('hex')}`;
    channels.set(path, channel);
    return `${origin}${path}`;
  }

  function answerTo(path: string, body: Buffer, headers: IncomingHttpHeaders) {
    const given = answers.shift();
    if (given !== undefined) return given;
    const channel = channels.get(path);
    if (channel === undefined) return { status: 404 };
    if (headers['content-encoding'] !== 'aes128gcm' || !headers.authorization?.startsWith('vapid '))
      return { status: 401 };
    if (headers.ttl === undefined) return { status: 400 };
    if (body.length > largestBody) return { status: 413 };
    if (!channel.deliver({ body, headers })) return { status: 410 };
    return { status: 201, headers: { location: `${origin}/m/${randomUUID()}`, ttl: String(headers.ttl) } };
  }

  const server = createServer(async (request, response) => {
    const body = await bytesOf(request);
    const path = request.url ?? '/';
    const { status, headers } = request.method === 'POST' ? answerTo(path, body, request.headers) : { status: 405 };
    pushes.push({ endpoint: `${origin}${path}`, headers: request.headers, body, status });
    response.writeHead(status, headers).end();
  });

  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => {
    const say = (message: object) => socket.send(JSON.stringify(message));
    socket.on('message', (data) => {
      const asked = JSON.parse(String(data)) as { messageType?: string; channelID?: string; uaid?: string };
      const { messageType, channelID = '' } = asked;
      // An empty object is a ping.
      if (messageType === undefined) say({});
      else if (messageType === 'hello') {
        say({
          messageType,
          status: 200,
          uaid: asked.uaid || randomUUID().replaceAll('-', ''),
          use_webpush: true,
          broadcasts: {},
        });
      } else if (messageType === 'register') {
        say({ messageType, channelID, status: 200, pushEndpoint: open(browserChannel(socket, channelID)) });
      } else if (messageType === 'unregister') {
        for (const [path, channel] of channels) if (channel.id === channelID) channels.delete(path);
        say({ messageType, channelID, status: 200 });
      }
    });
  });

  await new Promise<void>((resolve) => server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  origin = options.origin ?? `http://127.0.0.1:${port}`;

  return {
    port,
    url: `${origin.replace(/^http/, 'ws')}/`,
    pushes,
    subscriptions: () => channels.size,
    answerNext: (...next) => void answers.push(...next),
    device() {
      const keys = createECDH('prime256v1');
      keys.generateKeys();
      const auth = randomBytes(16);
      const received: string[] = [];
      let gone = false;
      const endpoint = open({
        id: randomUUID(),
        deliver({ body }) {
          if (!gone) received.push(decrypt(body, keys, auth));
          return !gone;
        },
      });
      return {
        subscription: { endpoint, keys: { p256dh: keys.getPublicKey('base64url'), auth: auth.toString('base64url') } },
        received,
        expire: () => {
          gone = true;
        },
      };
    },
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A browser that is away gets nothing later: tests have it there. */
function browserChannel(socket: WebSocket, id: string): Channel {
  return {
    id,
    deliver({ body, headers }) {
      if (socket.readyState !== socket.OPEN) return false;
      socket.send(
        JSON.stringify({
          messageType: 'notification',
          channelID: id,
          version: randomUUID(),
          ttl: Number(headers.ttl),
          data: body.toString('base64url'),
          headers: { encoding: headers['content-encoding'] },
        }),
      );
      return true;
    },
  };
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** One record of aes128gcm: salt 16, record size 4, length of the key id 1, the sender's public key, text, padding. */
function decrypt(body: Buffer, keys: ReturnType<typeof createECDH>, auth: Buffer): string {
  const salt = body.subarray(0, 16);
  const sender = body.subarray(21, 21 + Number(body[20]));
  const sealed = body.subarray(21 + sender.length);
  const derive = (key: Buffer, from: Buffer, info: Buffer, length: number) =>
    Buffer.from(hkdfSync('sha256', key, from, info, length));
  const words = (text: string) => Buffer.from(`${text}\0`);
  const info = Buffer.concat([words('WebPush: info'), keys.getPublicKey(), sender]);
  const key = derive(keys.computeSecret(sender), auth, info, 32);
  const cipher = createDecipheriv(
    'aes-128-gcm',
    derive(key, salt, words('Content-Encoding: aes128gcm'), 16),
    derive(key, salt, words('Content-Encoding: nonce'), 12),
  );
  cipher.setAuthTag(sealed.subarray(-16));
  const text = Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()]);
  // What follows the last 2 is padding.
  return text.subarray(0, text.lastIndexOf(2)).toString();
}
