/** A server that offers events, on HTTP: what it was asked, and knobs for how it answers. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SubscriptionReason } from '../../../../src/contracts/connectors/subscription.ts';
import { EventFault } from '../../../../src/runtime-server/connectors/ports.ts';

export interface Asked {
  readonly method: string;
  readonly params: Record<string, unknown>;
}

export type Answers = (asked: Asked) => {
  readonly result?: unknown;
  readonly fault?: [SubscriptionReason, number | null, string?];
};

export const opened = {
  name: 'issue.opened',
  delivery: ['webhook'],
  inputSchema: {
    type: 'object',
    properties: { project: { type: 'string' }, priority: { type: 'number' } },
    additionalProperties: false,
  },
  payloadSchema: {
    type: 'object',
    properties: { number: { type: 'integer' }, title: { type: 'string' } },
    required: ['number'],
  },
};

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request) text += String(part);
  return text;
}

export async function startEventsServer(now: () => number) {
  const asked: Asked[] = [];
  const usual: Answers = ({ method }) => {
    if (method === 'events/list') return { result: { events: [opened] } };
    if (method === 'events/unsubscribe') return { result: {} };
    const refreshBefore = new Date(now() + 24 * 60 * 60_000).toISOString();
    return { result: { id: 'theirs', refreshBefore, cursor: null, truncated: false } };
  };
  let answers: Answers = usual;
  let hold: Promise<void> | null = null;
  const server = createServer(async (request, response) => {
    const one = JSON.parse(await textOf(request)) as Asked;
    asked.push(one);
    if (hold !== null) await hold;
    response.end(JSON.stringify(answers(one)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/mcp`;

  return {
    url,
    asked,
    of: (method: string) => asked.filter((one) => one.method === `events/${method}`).map((one) => one.params),
    /** Undefined for a method: as usual. */
    answers(next: (asked: Asked) => ReturnType<Answers> | undefined) {
      answers = (one) => next(one) ?? usual(one);
    },
    holds(until: Promise<void> | null) {
      hold = until;
    },
    reset() {
      answers = usual;
      hold = null;
      asked.length = 0;
    },
    /** As a connector asks it. */
    async ask(method: string, params: unknown, signal: AbortSignal): Promise<Record<string, unknown>> {
      let answer: Awaited<ReturnType<Answers>>;
      try {
        const response = await fetch(url, { method: 'POST', body: JSON.stringify({ method, params }), signal });
        answer = (await response.json()) as ReturnType<Answers>;
      } catch (cause) {
        if ((cause as Error).name === 'TimeoutError') throw cause;
        throw new EventFault('connector_unreachable', null, 'It does not answer.', cause);
      }
      if (answer.fault !== undefined) {
        const [reason, code, words = `It refused ${method}.`] = answer.fault;
        throw new EventFault(reason, code, words);
      }
      return answer.result as Record<string, unknown>;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

export type EventsServer = Awaited<ReturnType<typeof startEventsServer>>;
