/** The helper's socket: JSON lines in, answers as they are ready (protocol.ts). Must not know how computers are made. */
import { chmodSync, chownSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Host } from './host.ts';
import { type HostAnswerLine, type HostFault, HostRequest, HostRequestLine, maxLineLength } from './protocol.ts';
import { HostError } from './tools.ts';

interface HostServer {
  /** Answers a connection that came by another way, as one to the socket. */
  accept(connection: Duplex): void;
  close(): Promise<void>;
}

interface HostServerDeps {
  readonly socket: string;
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly host: Host;
}

/** The caller holds the folder's lock: an existing socket was left by a killed helper. */
export async function openHostServer({ socket, owner, host }: HostServerDeps): Promise<HostServer> {
  const connections = new Set<Duplex>();
  const watching = new WeakSet<Duplex>();
  const tell = (connection: Duplex, line: HostAnswerLine) => {
    if (!connection.destroyed) connection.write(`${JSON.stringify(line)}\n`);
  };
  const accept = (connection: Duplex) => {
    connections.add(connection);
    connection.on('error', () => {});
    connection.on('close', () => connections.delete(connection));
    let rest = '';
    connection.setEncoding('utf8');
    connection.on('data', (chunk: string) => {
      rest += chunk;
      const lines = rest.split('\n');
      rest = lines.pop() as string;
      if (rest.length > maxLineLength || lines.some((line) => line.length > maxLineLength))
        return void connection.destroy();
      const watch = () => void watching.add(connection);
      for (const line of lines) void answerTo(line, host, watch).then((answer) => tell(connection, answer));
    });
  };
  const server = createServer(accept);
  const stopTelling = host.onChange((change) => {
    for (const connection of connections) if (watching.has(connection)) tell(connection, { event: 'changed', change });
  });
  rmSync(socket, { force: true });
  // It belongs only to root from its first moment.
  const before = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(socket, resolve);
    });
  } finally {
    process.umask(before);
  }
  chmodSync(socket, 0o600);
  chownSync(socket, owner.uid, owner.gid);
  return {
    accept,
    close() {
      stopTelling();
      for (const connection of connections) connection.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function answerTo(line: string, host: Host, watch: () => void): Promise<HostAnswerLine> {
  let id = 0;
  try {
    const read: unknown = JSON.parse(line);
    const numbered = HostRequestLine.parse(read);
    id = numbered.id;
    const { id: _, ...rest } = read as Record<string, unknown>;
    return { id, ok: true, value: await resultOf(HostRequest.parse(rest), host, watch) };
  } catch (error) {
    return { id, ok: false, fault: faultOf(error) };
  }
}

function resultOf(request: HostRequest, host: Host, watch: () => void): Promise<unknown> | unknown {
  switch (request.op) {
    case 'capabilities':
      return host.capabilities();
    case 'figures':
      return host.figures();
    case 'create':
      return host.create(request.computer, request.spec ?? null);
    case 'start':
      return host.start(request.computer);
    case 'delete':
      return host.delete(request.computer);
    case 'list':
      return host.list();
    case 'inspect':
      return host.find(request.computer).state();
    case 'watch':
      // In one step: the caller hears of each change once, here or as an event.
      watch();
      return host.changesSince(request.since);
    default:
      return host.find(request.computer)[request.op]();
  }
}

function faultOf(error: unknown): HostFault {
  if (error instanceof HostError) return { code: error.code, message: error.message };
  const message = error instanceof Error ? error.message : String(error);
  const unread = error instanceof SyntaxError || (error instanceof Error && error.name.includes('ZodError'));
  return { code: unread ? 'bad_request' : 'failed', message: message.slice(0, 1000) };
}
