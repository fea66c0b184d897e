/** The traffic of a Gantry in use, over the routes that pages, bots, tools and workers call: so many requests a round. */
import { mcpMeta, mcpServer, modernVersion } from '../../../src/contracts/tool-server/mcp.ts';
import { CallError, type Caller, createCaller } from './http.ts';
import type { Product } from './product.ts';

export interface Life {
  /** Requests of one round. */
  readonly requests: number;
  /** Throws when an answer is not the one that is due. */
  round(): Promise<void>;
  close(): void;
}

type Step = () => Promise<unknown>;

/** `bot`: address of a shell. The queue gets a separate key, as for workers. */
export async function createLife(product: Product, bot: string): Promise<Life> {
  const { web, engine } = product;
  const { secret } = await web.call<{ secret: string }>('POST', '/api/v1/keys', { name: 'worker', scopes: ['work'] });
  const worker = createCaller(product.origin, secret);
  const get =
    (path: string, by: Caller = web): Step =>
    () =>
      by.call('GET', path);
  const steps: readonly Step[] = [
    get('/api/factory/agents'),
    get('/api/factory/deliveries?limit=50'),
    get('/api/factory/threads'),
    get('/api/factory/ledger?limit=50'),
    get('/api/factory/teams'),
    get('/api/factory/approvals'),
    get('/api/v1/notifications'),
    get('/api/factory/health'),
    get('/api/factory/agents', engine),
    () => eventsAround(web, () => web.call('POST', '/api/factory/send', { to: bot, text: 'true' })),
    () => tool(engine),
    () => worker.call('POST', '/beta/work', { payload: { command: 'true' } }),
    () => workOff(worker),
    () => missing(web),
  ];
  return {
    // Those of three kinds make two each: a stream and a send, a lease and its end.
    requests: steps.length + 2,
    round: async () => {
      for (const step of steps) await step();
    },
    close: () => worker.close(),
  };
}

/** Opens a stream of events, lets something happen, sees it and leaves. */
async function eventsAround(caller: Caller, act: Step): Promise<void> {
  let seen = () => {};
  const first = new Promise<void>((resolve) => {
    seen = resolve;
  });
  const stream = await caller.events('/api/factory/events', ({ id }) => (id === null ? undefined : seen()));
  await act();
  await first;
  stream.close();
  await stream.ended;
}

function tool(caller: Caller): Promise<unknown> {
  const params = {
    name: 'time.now',
    arguments: { timezone: 'UTC' },
    _meta: { [mcpMeta.version]: modernVersion, [mcpMeta.clientCapabilities]: {} },
  };
  return caller.call(
    'POST',
    mcpServer.path,
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': modernVersion,
      'mcp-method': 'tools/call',
      'mcp-name': params.name,
    },
  );
}

async function workOff(worker: Caller): Promise<void> {
  const { task } = await worker.call<{ task: { id: string } | null }>('GET', '/beta/work/queue?worker_id=soak');
  if (task === null) throw new Error('Nothing was leased.');
  await worker.call('POST', `/beta/work/${task.id}/ack`, { worker_id: 'soak', result: { exit_code: 0 } });
}

/** Also requests things that do not exist. */
async function missing(caller: Caller): Promise<void> {
  try {
    await caller.call('GET', '/api/factory/agents/nobody@nowhere');
  } catch (error) {
    if (error instanceof CallError && error.status === 404) return;
    throw error;
  }
  throw new Error('An agent that nobody made was found.');
}
