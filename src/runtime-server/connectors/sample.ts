/**
 * A service to try connectors with: the shop of `examples/mcp-events`, which runs in a thread of this process on a port of this computer, for a person who
 * asked for it. A connector to it that is still there after a restart gets it back at its address. Must not know subscriptions.
 */
import { Worker as Thread } from 'node:worker_threads';
import { AppError } from '../../contracts/common/errors.ts';
import { twinOf } from '../../contracts/connectors/mount.ts';
import { placeSampleOrder, startSampleService } from '../../contracts/connectors/sample.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { AttachedPort } from './attached.ts';

interface SampleDeps {
  /** Path of its program. */
  readonly program: string;
  readonly attached: Pick<AttachedPort, 'all'>;
  readonly fetch: typeof fetch;
}

interface SampleService {
  readonly routes: readonly BoundRoute[];
  /** Serves again what is connected to. */
  resume(): Promise<void>;
  close(): Promise<void>;
}

const address = /^http:\/\/127\.0\.0\.1:(\d+)\/mcp$/;
const sampleName = 'sample-shop';

export function createSampleService({ program, attached, fetch }: SampleDeps): SampleService {
  let running: Promise<{ readonly url: string; readonly thread: Thread }> | null = null;

  /** The connector's port; null if it has none. */
  function portKnown(): string | null {
    const known = attached.all().find(({ name, transport }) => name === sampleName && transport.type === 'http');
    return known?.transport.type === 'http' ? (address.exec(known.transport.url)?.[1] ?? null) : null;
  }

  async function start(): Promise<string> {
    running ??= launch(program, portKnown() ?? '0', () => {
      running = null;
    });
    try {
      return (await running).url;
    } catch (error) {
      running = null;
      throw error;
    }
  }

  const bound = [
    bind(startSampleService, async () => ({ body: { name: sampleName, url: await start() } })),
    bind(placeSampleOrder, async ({ body }) => {
      const url = new URL('/orders', await start());
      const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
      if (answer.status !== 201) throw new AppError('transport', `The sample answered ${answer.status}.`, 'Try again.');
      const { number } = (await answer.json()) as { number: number };
      return { body: { number } };
    }),
  ];
  return {
    routes: bound.flatMap(({ route, ...rest }) => [
      { route, ...rest },
      { ...rest, route: twinOf(route) },
    ]),
    async resume() {
      if (portKnown() !== null) await start();
    },
    async close() {
      await (await running?.catch(() => null))?.thread.terminate();
    },
  };
}

/** Resolves once it says its address. */
function launch(program: string, port: string, onEnd: () => void): Promise<{ url: string; thread: Thread }> {
  const thread = new Thread(program, { argv: [port], stdout: true, env: {} });
  // It is no reason to stay alive.
  thread.unref();
  return new Promise((resolve, reject) => {
    const failed = (why: string) => {
      onEnd();
      reject(new AppError('transport', `The sample service could not be started: ${why}`, 'Try again.'));
    };
    thread.stdout.setEncoding('utf8').on('data', (line: string) => {
      if (address.test(line.trim())) resolve({ url: line.trim(), thread });
    });
    thread.on('error', (error) => failed(error.message));
    thread.on('exit', (code) => failed(`it ended with ${code}.`));
  });
}
