/** The heap of a program that was started with {@link inspectable}: what is left of it after a collection. */
import { freePort } from '../free-port.ts';

export interface Inspected {
  /** Bytes that are in use after a full collection. */
  heapInUse(): Promise<number>;
  evaluate(expression: string): Promise<unknown>;
  close(): void;
}

/** Where a program will be inspectable, and the environment it needs for that. Its child processes find the port taken and continue. */
export async function inspectable(): Promise<{
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
}> {
  const port = await freePort();
  return { port, env: { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` } };
}

export async function inspect(port: number): Promise<Inspected> {
  const list = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(list[0]?.webSocketDebuggerUrl as string);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error('The inspector does not answer.'));
  });
  const waiting = new Map<number, (result: unknown) => void>();
  let last = 0;
  socket.onmessage = ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown };
    if (id === undefined) return;
    waiting.get(id)?.(result);
    waiting.delete(id);
  };
  const call = <T>(method: string, params: object = {}): Promise<T> =>
    new Promise((resolve) => {
      last += 1;
      waiting.set(last, resolve as (result: unknown) => void);
      socket.send(JSON.stringify({ id: last, method, params }));
    });
  return {
    async heapInUse() {
      await call('HeapProfiler.collectGarbage');
      return (await call<{ usedSize: number }>('Runtime.getHeapUsage')).usedSize;
    },
    async evaluate(expression) {
      const { result } = await call<{ result: { value: unknown } }>('Runtime.evaluate', {
        expression,
        returnByValue: true,
      });
      return result.value;
    },
    close: () => socket.close(),
  };
}
