/** The context of one request. Its abort signal is made only when a handler asks for it: most never do. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from './types.ts';

export interface RequestContext {
  readonly principal: Principal;
  params: unknown;
  query: unknown;
  body: unknown;
  readonly requestId: string;
  readonly signal: AbortSignal;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  abort(): void;
}

export function createContext(
  principal: Principal,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  /** Contexts with a live signal, aborted when the server closes. */
  running: Set<RequestContext>,
): RequestContext {
  let controller: AbortController | undefined;
  const context: RequestContext = {
    principal,
    params: {},
    query: {},
    body: undefined,
    requestId,
    request,
    response,
    get signal() {
      if (controller === undefined) {
        controller = new AbortController();
        running.add(context);
        if (response.destroyed) context.abort();
        else response.once('close', context.abort);
      }
      return controller.signal;
    },
    abort() {
      running.delete(context);
      controller?.abort();
    },
  };
  return context;
}
