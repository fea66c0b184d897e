import { connect } from 'node:net';
import { Terminal } from '@xterm/headless';
import { expect, test } from 'vitest';
import { createFrameReader, type Event, frameHead, hostFiles } from '../../../src/programs/pane-host/protocol.ts';
import type { HostConnection } from '../../../src/runtime-server/panes/host-connection.ts';
import { hostToken } from '../../../src/runtime-server/panes/host-starter.ts';
import { freshId, readAll, sleep, spec, type TestHost, testHost, until } from './support.ts';

/** About 3 MB of colours, cursor moves, wide characters and titles, over about a second, in pieces of odd sizes. */
const painter = `stty -onlcr -echo; echo ready; read -r go; for i in $(seq 1 400); do
  for j in 1 2 3 4 5 6 7 8 9 10; do printf '\\033[%d;%dH\\033[1;3%dm→ %d né 日本 \\033]0;title %d\\007\\033[38;2;%d;9;%dm%0500d\\n' $((j*2)) $((i%40+1)) $((i%8)) $i $i $((i%256)) $((j*20)) $i; done; done; echo the end; read -r more`;

class Recorder {
  readonly pieces: Buffer[] = [];
  start: number | null = null;
  next: number | null = null;
  snapshot: { offset: number; cols: number; rows: number; ansi: Buffer } | null = null;
  snapshots = 0;
  ended = false;

  take(event: Event, tail: Uint8Array): void {
    if (event.ev === 'snapshot') {
      this.snapshot = { ...event, ansi: Buffer.from(tail) };
      this.snapshots++;
      this.pieces.length = 0;
      this.start = event.offset;
      this.next = event.offset;
    } else if (event.ev === 'data') {
      this.start ??= event.offset;
      if (this.next !== null && event.offset !== this.next)
        throw new Error(`gap or repeat: ${this.next}, then ${event.offset}`);
      this.next = event.offset + tail.length;
      this.pieces.push(Buffer.from(tail));
    } else if (event.ev === 'end') this.ended = true;
  }
  bytes(): Buffer {
    return Buffer.concat(this.pieces);
  }
}

/** Lets a script go on that printed `ready` and reads a line. */
async function go(connection: HostConnection, pane: string): Promise<void> {
  await until('it is ready', async () => (await readAll(connection, pane)).includes('ready\n'));
  await connection.request({ op: 'write', pane }, Buffer.from('\n'));
}

async function recorders(
  host: TestHost,
  p: string,
): Promise<{ connection: HostConnection; open: (from: number | 'snapshot') => Promise<Recorder> }> {
  const open = new Map<number, Recorder>();
  const faults: unknown[] = [];
  const connection = await host.connect((event, tail) => {
    try {
      if ('stream' in event) open.get(event.stream)?.take(event, tail);
    } catch (error) {
      faults.push(error);
    }
  });
  return {
    connection,
    async open(from) {
      if (faults.length > 0) throw faults[0];
      const recorder = new Recorder();
      const stream = open.size + 1;
      open.set(stream, recorder);
      await connection.request({ op: 'attach', pane: p, stream, from });
      return recorder;
    },
  };
}

test('readers that attach at any offset during a flood get exactly the bytes from there, and the end', async () => {
  const p = freshId();
  const host = await testHost();
  const { connection, open } = await recorders(host, p);
  await connection.request({ op: 'create', spec: spec(p, painter) });
  const first = await open(0);
  await go(connection, p);
  const found: Recorder[] = [first];
  for (let count = 0; count < 20; count++) {
    // Each joins at another moment of the output.
    const before = first.next ?? 0;
    await until('more has come', () => (first.next ?? 0) > before || first.bytes().includes('the end'));
    const end = first.next ?? 0;
    found.push(await open(Math.floor((end * count) / 20)));
  }
  await until('it stands still', () => first.bytes().includes('the end'));
  await connection.request({ op: 'write', pane: p }, Buffer.from('\n'));
  await until('all have ended', () => found.every((recorder) => recorder.ended));
  const whole = await readAll(connection, p);
  for (const recorder of found) {
    expect(recorder.snapshots).toBe(0);
    expect(recorder.bytes().equals(whole.subarray(recorder.start ?? 0))).toBe(true);
  }
});

test('a drawing and what follows it make the same screen as all bytes from the start', async () => {
  const p = freshId();
  const host = await testHost();
  const { connection, open } = await recorders(host, p);
  await connection.request({ op: 'create', spec: spec(p, painter) });
  await go(connection, p);
  const found: Recorder[] = [];
  for (let count = 0; count < 20; count++) {
    await until('it printed more', async () => {
      const { ok } = await connection.request({ op: 'read', pane: p, offset: 0, max: 0 });
      return ok.end > count * 100_000;
    });
    found.push(await open('snapshot'));
  }
  await until('it stands still', async () => {
    const { tail } = await connection.request({ op: 'capture', pane: p, lines: 5 });
    return Buffer.from(tail).includes('the end');
  });
  const whole = await readAll(connection, p);
  await until('all are there', () => found.every((recorder) => recorder.next === whole.length));
  const wanted = await screenOf([whole]);
  for (const recorder of found) {
    expect(recorder.snapshots).toBe(1);
    expect(recorder.bytes().equals(whole.subarray(recorder.snapshot!.offset))).toBe(true);
    expect(await screenOf([recorder.snapshot!.ansi, recorder.bytes()])).toEqual(wanted);
  }
  expect(new Set(found.map((recorder) => recorder.snapshot!.offset)).size).toBeGreaterThan(1);
});

/** Rows and cursor of a fresh terminal that was given these bytes. */
async function screenOf(parts: Buffer[]): Promise<{ rows: string[]; cursor: number[] }> {
  const terminal = new Terminal({ cols: 80, rows: 24, scrollback: 1000, allowProposedApi: true });
  for (const part of parts) await new Promise<void>((resolve) => terminal.write(part, resolve));
  const buffer = terminal.buffer.active;
  const rows = Array.from({ length: 24 }, (_, y) => buffer.getLine(buffer.baseY + y)?.translateToString(true) ?? '');
  return { rows, cursor: [buffer.cursorX, buffer.cursorY] };
}

test('a client that reads nothing slows no program and no other client, and gets a drawing for what was dropped', async () => {
  const p = freshId();
  const host = await testHost();
  const { connection } = await recorders(host, p);
  // 45 MB: more than the journal holds.
  const script =
    'stty -onlcr -echo; echo ready; read -r go; head -c 45000000 /dev/zero | tr "\\0" x; echo; echo the end; sleep 60';
  await connection.request({ op: 'create', spec: spec(p, script) });
  const files = hostFiles(host.home);
  const stuck = connect(files.socket);
  stuck.pause();
  let id = 0;
  const say = (request: object): void => void stuck.write(frameHead({ ...request, id: ++id }));
  say({ op: 'hello', major: 1, token: hostToken(files), who: 'stuck' });
  say({ op: 'observe', seen: {} });
  say({ op: 'watch', pane: p });
  say({ op: 'attach', pane: p, stream: 1, from: 0 });
  // Nothing is read from that connection, so nobody says when its requests have arrived.
  await sleep(200);
  await go(connection, p);
  await until('the program is through', async () => {
    const { tail } = await connection.request({ op: 'capture', pane: p, lines: 5 });
    return Buffer.from(tail).includes('the end');
  });
  const recorder = new Recorder();
  const read = createFrameReader((header, tail) => {
    const event = header as Event;
    if ('stream' in event) recorder.take(event, tail);
  });
  let received = 0;
  stuck.on('data', (chunk) => {
    received += chunk.length;
    read(chunk);
  });
  stuck.resume();
  await until(
    'it has caught up',
    () => recorder.snapshots === 1 && recorder.next === 45_000_000 + 'ready\n\nthe end\n'.length,
  );
  expect(Buffer.concat([recorder.snapshot!.ansi, recorder.bytes()]).includes('the end')).toBe(true);
  expect(received).toBeLessThan(5_000_000);
  stuck.destroy();
});
