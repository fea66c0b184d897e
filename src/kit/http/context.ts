/** The context of one request. Its abort signal is made only when a handler asks for it: most never do. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from './types.ts';

/** A class for its shape: one is created per request, and closures would cost more than its content. */
export class RequestContext {
  readonly principal: Principal;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  params: unknown;
  query: unknown = nothing;
  body: unknown = undefined;
  seed: string | null = null;
  readonly #running: Set<RequestContext>;
  #controller: AbortController | undefined;

  /** `running` holds the contexts with a live signal, aborted when the server closes. */
  constructor(
    principal: Principal,
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    params: unknown,
    running: Set<RequestContext>,
  ) {
    this.principal = principal;
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.params = params;
    this.#running = running;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      this.#running.add(this);
      if (this.response.destroyed) this.abort();
      else this.response.once('close', () => this.abort());
    }
    return this.#controller.signal;
  }

  abort(): void {
    this.#running.delete(this);
    this.#controller?.abort(gone);
  }
}

/** One shared listener: it runs at the end of every request, including successful ones, and creating one each time would cost a stack trace. */
const gone = new DOMException('The request is over.', 'AbortError');

const nothing = Object.freeze({});
