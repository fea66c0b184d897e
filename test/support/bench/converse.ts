/** Repeats one request on kept connections, as bytes: the cost for the caller is small and constant. */
import { connect } from 'node:net';
import { cpuMs } from './processes.ts';

export interface Target {
  readonly port: number;
  /** Whose CPU time counts. */
  readonly pid: number;
  /** One request, as bytes. */
  readonly text: string;
}

export interface Load {
  readonly sent: number;
  readonly cpuMs: number;
  readonly tookMs: number;
  /** From the last byte written to the last byte read, of each request. Milliseconds. */
  readonly latenciesMs: readonly number[];
}

/** So many requests over kept connections, one at a time on each. */
export async function load({ port, pid, text }: Target, requests: number, connections: number): Promise<Load> {
  const began = performance.now();
  const before = cpuMs(pid);
  const each = Math.ceil(requests / connections);
  const latenciesMs: number[] = [];
  await Promise.all(Array.from({ length: connections }, () => converse(port, text, each, latenciesMs)));
  return { sent: each * connections, cpuMs: cpuMs(pid) - before, tookMs: performance.now() - began, latenciesMs };
}

/** Servers answer with a length; anything but 200 fails. */
function converse(port: number, text: string, count: number, latenciesMs: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => write());
    let asked = 0;
    const write = () => {
      asked = performance.now();
      socket.write(text);
    };
    let left = count;
    let got = '';
    socket.setEncoding('latin1');
    socket.on('error', reject);
    socket.on('close', () => (left === 0 ? resolve() : reject(new Error(`cut with ${left} requests left`))));
    socket.on('data', (part: string) => {
      got += part;
      const head = got.indexOf('\r\n\r\n');
      if (head === -1) return;
      if (!got.startsWith('HTTP/1.1 200 ')) {
        socket.destroy(new Error(got.slice(0, 500)));
        return;
      }
      const length = Number(/content-length: (\d+)/i.exec(got.slice(0, head))?.[1]);
      if (got.length < head + 4 + length) return;
      got = '';
      latenciesMs.push(performance.now() - asked);
      left -= 1;
      if (left === 0) socket.end();
      else write();
    });
  });
}
