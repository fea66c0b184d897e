/**
 * A program that holds many event streams as bare sockets, and records which events each has seen. It takes commands over its parent's channel:
 * thousands of sockets in the measuring program would slow down its requests. Knows no product.
 */
import { connect, type Socket } from 'node:net';

export type ToReaders =
  | {
      readonly do: 'open';
      readonly host: string;
      readonly port: number;
      /** What the server is called; absent: by its address. */
      readonly named?: string;
      readonly from: string;
      readonly path: string;
      /** Several take turns: one caller may have only so many streams. */
      readonly token: string | readonly string[];
      readonly streams: number;
    }
  /** The first `streams` are cut without a word, and come back with what they saw last. */
  | { readonly do: 'cut'; readonly streams: number }
  /** Answered once every stream has seen so many events. */
  | { readonly do: 'events'; readonly count: number }
  /** Answered once every stream has seen `last`, or after `waitMs`. */
  | { readonly do: 'compare'; readonly ids: readonly number[]; readonly waitMs: number };

export type FromReaders =
  | { readonly said: 'opened' | 'resumed' | 'seen' }
  | { readonly said: 'compared'; readonly sound: number; readonly problems: readonly string[] }
  | { readonly said: 'failed'; readonly why: string };

/** Connections that are being made at one time. */
const atOnce = 50;

interface Reader {
  socket: Socket;
  /** Since the last line break. */
  rest: string;
  ended: boolean;
  readonly ids: number[];
}

const readers: Reader[] = [];
let target: Extract<ToReaders, { do: 'open' }>;

const say = (message: FromReaders) => process.send?.(message);

process.on('message', (message: ToReaders) => {
  perform(message).catch((error: Error) => say({ said: 'failed', why: error.message }));
});
process.on('disconnect', () => process.exit());

async function perform(message: ToReaders): Promise<void> {
  if (message.do === 'open') {
    target = message;
    for (let made = 0; made < message.streams; made += 1) {
      readers.push({ socket: undefined as never, rest: '', ended: false, ids: [] });
    }
    await inTurns(readers);
    say({ said: 'opened' });
  } else if (message.do === 'events') {
    while (readers.some(({ ids }) => ids.length < message.count)) {
      const gone = readers.filter(({ ended }) => ended).length;
      if (gone > 0) throw new Error(`${gone} streams have ended.`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    say({ said: 'seen' });
  } else if (message.do === 'cut') {
    const cut = readers.slice(0, message.streams);
    for (const reader of cut) reader.socket.destroy();
    await inTurns(cut);
    say({ said: 'resumed' });
  } else {
    const last = message.ids.at(-1) as number;
    const until = Date.now() + message.waitMs;
    while (Date.now() < until && readers.some(({ ids }) => ids.at(-1) !== last)) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const problems = readers.flatMap((reader, index) => {
      const problem = problemOf(reader, message.ids);
      return problem === null ? [] : [`Stream ${index}: ${problem}`];
    });
    say({ said: 'compared', sound: readers.length - problems.length, problems: problems.slice(0, 5) });
  }
}

/** A stream begins at its first event; from there on it has each one, once, in order. */
function problemOf({ ids, ended }: Reader, wanted: readonly number[]): string | null {
  for (let index = 0; index < wanted.length; index += 1) {
    if (ids[index] === wanted[index]) continue;
    return `its event ${index} is ${ids[index] ?? 'missing'}, not ${wanted[index]}${ended ? '; it has ended' : ''}.`;
  }
  return ids.length === wanted.length ? null : `it has ${ids.length} events instead of ${wanted.length}.`;
}

async function inTurns(wanted: readonly Reader[]): Promise<void> {
  const queue = [...wanted];
  const lane = async () => {
    for (let reader = queue.shift(); reader !== undefined; reader = queue.shift()) await open(reader);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

/** Resolves with the first byte of the body. */
function open(reader: Reader): Promise<void> {
  const { host, port, named = `${host}:${port}`, from, path } = target;
  const tokens = [target.token].flat();
  const token = tokens[readers.indexOf(reader) % tokens.length];
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, localAddress: from });
    reader.socket = socket;
    reader.rest = '';
    reader.ended = false;
    let head = '';
    let answered = false;
    socket.setEncoding('latin1');
    socket.once('connect', () => {
      const last = reader.ids.at(-1);
      const resume = last === undefined ? '' : `last-event-id: ${last}\r\n`;
      socket.write(
        `GET ${path} HTTP/1.1\r\nhost: ${named}\r\nauthorization: Bearer ${token}\r\naccept: text/event-stream\r\n${resume}\r\n`,
      );
    });
    socket.on('data', (text: string) => {
      if (socket !== reader.socket) return;
      if (answered) return read(reader, text);
      head += text;
      const end = head.indexOf('\r\n\r\n');
      if (end === -1 || head.length === end + 4) return;
      if (!head.startsWith('HTTP/1.1 200')) return reject(new Error(`A stream was answered ${head.slice(0, 300)}`));
      answered = true;
      read(reader, head.slice(end + 4));
      head = '';
      resolve();
    });
    socket.on('error', reject);
    socket.on('close', () => {
      if (socket === reader.socket) reader.ended = true;
      reject(new Error('A stream was closed before it began.'));
    });
  });
}

/** Only the ids count here; what frames the parts of an answer is no line that begins with `id:`. */
function read(reader: Reader, text: string): void {
  const lines = (reader.rest + text).split('\n');
  reader.rest = lines.pop() as string;
  for (const line of lines) if (line.startsWith('id: ')) reader.ids.push(Number(line.slice(4)));
}
