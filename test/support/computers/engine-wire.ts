/** The wire of a container engine: recorded from a real one, and spoken again by a server, so that `npm test` needs none. */
import { createServer, request, type Server } from 'node:http';

export interface Exchange {
  readonly method: string;
  /** With its query, in which random names and times are. */
  readonly path: string;
  readonly status: number;
  readonly type: string;
  /** Base64: logs are framed bytes. */
  readonly body: string;
}

const keyOf = ({ method, path }: Pick<Exchange, 'method' | 'path'>) => `${method} ${path.split('?')[0]}`;

const listening = (server: Server, socket: string) =>
  new Promise<void>((resolve) => server.listen(socket, () => resolve()));

/** Passes everything on to the engine and keeps what it answered. */
export async function recordEngine(engine: string, socket: string) {
  const exchanges: Exchange[] = [];
  const server = createServer((asked, answer) => {
    const { method = '', url: path = '', headers } = asked;
    const passed = request({ socketPath: engine, method, path, headers }, (got) => {
      const chunks: Buffer[] = [];
      answer.writeHead(got.statusCode ?? 502, got.headers).flushHeaders();
      got.on('data', (chunk: Buffer) => chunks.push(chunk));
      got.on('close', () => {
        const body = Buffer.concat(chunks).toString('base64');
        exchanges.push({ method, path, status: got.statusCode ?? 0, type: got.headers['content-type'] ?? '', body });
      });
      got.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
  });
  await listening(server, socket);
  return {
    exchanges,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

export interface Replay {
  /** `METHOD path` of each question, in order. */
  readonly asked: readonly string[];
  close(): void;
}

const isEvents = (path: string) => path.split('?')[0]!.endsWith('/events');

/**
 * Answers what the engine answered between the same two changes: those before which as many questions other than GET were asked. The last of these
 * answers holds until the next change. `instead` may answer something else, or nothing (null). A stream of events stays open.
 */
export async function replayEngine(
  exchanges: readonly Exchange[],
  socket: string,
  {
    instead = () => undefined,
    before = async () => {},
  }: {
    readonly instead?: (key: string) => Partial<Exchange> | null | undefined;
    readonly before?: (key: string) => Promise<void>;
  } = {},
): Promise<Replay> {
  const recorded = withChanges(exchanges);
  const asked: string[] = [];
  let changes = 0;
  let answered = new Map<string, number>();

  function answerTo(key: string, method: string): Exchange | undefined {
    const all = recorded.filter((one) => one.key === key);
    if (method !== 'GET') {
      const change = changes;
      changes += 1;
      answered = new Map();
      return (all.find((one) => one.changes === change) ?? all.at(-1))?.exchange;
    }
    if (isEvents(key)) return all[0]?.exchange;
    const now = all.filter((one) => one.changes === changes);
    const time = answered.get(key) ?? 0;
    answered.set(key, time + 1);
    const earlier = all.findLast((one) => one.changes < changes);
    return (now[time] ?? now.at(-1) ?? earlier)?.exchange;
  }

  const server = createServer(async (question, answer) => {
    question.resume();
    const { method = '', url: path = '' } = question;
    const key = keyOf({ method, path });
    asked.push(key);
    await before(key);
    const other = instead(key);
    if (other === null) return;
    const found = { ...answerTo(key, method), ...other };
    if (found.status === undefined) {
      answer.writeHead(500, { 'content-type': 'application/json' }).end(`{"message":"not recorded: ${key}"}`);
      return;
    }
    answer.writeHead(found.status, { 'content-type': found.type || 'application/json' }).flushHeaders();
    answer.write(Buffer.from(found.body ?? '', 'base64'));
    if (!isEvents(path) || path.includes('until=')) answer.end();
  });
  await listening(server, socket);
  return {
    asked,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function withChanges(exchanges: readonly Exchange[]) {
  let changes = 0;
  return exchanges.map((exchange) => {
    const before = changes;
    if (exchange.method !== 'GET') changes += 1;
    return { exchange, key: keyOf(exchange), changes: before };
  });
}

/** Of what an engine says of its machine, all that is kept. */
const ofMachine = ['ServerVersion', 'CgroupVersion', 'SecurityOptions', 'Runtimes', 'MemoryLimit', 'PidsLimit'];

function withoutMachine(exchange: Exchange): Exchange {
  if (exchange.path !== '/info') return exchange;
  const said = JSON.parse(Buffer.from(exchange.body, 'base64').toString('utf8')) as Record<string, unknown>;
  const kept = Object.fromEntries(ofMachine.map((name) => [name, said[name]]));
  return { ...exchange, body: Buffer.from(JSON.stringify(kept)).toString('base64') };
}

/** What was asked again and answered alike, until the next change, is kept once; nothing of the machine is. */
export function shortened(exchanges: readonly Exchange[]): Exchange[] {
  const seen = new Set<string>();
  return withChanges(exchanges.map(withoutMachine)).flatMap(({ exchange, key, changes }) => {
    const same = `${changes} ${key} ${exchange.body}`;
    if (exchange.method === 'GET' && seen.has(same)) return [];
    seen.add(same);
    return [exchange];
  });
}
