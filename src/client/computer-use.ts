/**
 * Computer use for programs, in browsers and in Node: one method for each operation, with positional arguments. Objects of the wire are passed in and
 * out unchanged. Must not know sockets: as in every client, the transport is passed in.
 */

import type { z } from 'zod';
import { AppError } from '../contracts/common/errors.ts';
import {
  type ApproveBody,
  type ControlBody,
  type CreateSession,
  type ExecuteRequest,
  endedStatuses,
  type Run,
  type RunAction,
  type RunEvent,
  type RunOptions,
  type RunStatus,
  type Session,
} from '../contracts/computer-use/run.ts';
import { approveRun, runRoutes } from '../contracts/computer-use/run-routes.ts';
import { type Client, type ClientOptions, createClient } from './client.ts';
import type { EventStream, StreamState } from './event-stream.ts';

const routes = [...runRoutes, approveRun] as const;

/** What an operation takes beside its actions or its task: options of the run, and where it runs. */
export type ExecuteOptions = RunOptions &
  Pick<ExecuteRequest, 'run_id' | 'session_id' | 'computer_id' | 'target_scope' | 'context' | 'metadata'>;

export interface SubscribeOptions {
  /** Events after this index; absent: from the first one on. */
  readonly afterIndex?: number;
  readonly signal?: AbortSignal;
  onState?(state: StreamState): void;
}

/** A run's question, as `waitForApproval` answers it. */
export type RunApproval = NonNullable<Run['approval']>;

export function hasEnded(run: Pick<Run, 'status'>): boolean {
  return endedStatuses.some((status) => status === run.status);
}

/** Every call throws `AppError`; `options.wireCode` is the code on the wire, such as `run_not_found`. */
export class ComputerUseClient {
  readonly #client: Client<typeof routes>;

  constructor(options: ClientOptions = {}) {
    this.#client = createClient(routes, options);
  }

  execute(request: ExecuteRequest): Promise<Run> {
    return this.#client.executeRun({ body: request });
  }

  executeDirect(actions: readonly RunAction[], options: ExecuteOptions = {}): Promise<Run> {
    return this.execute({ mode: 'direct', actions: [...actions], ...parted(options) });
  }

  executeIntent(task: string, options: ExecuteOptions = {}): Promise<Run> {
    return this.execute({ mode: 'intent', task, ...parted(options) });
  }

  executeAssist(task: string, options: ExecuteOptions = {}): Promise<Run> {
    return this.execute({ mode: 'assist', task, ...parted(options) });
  }

  getRun(runId: string): Promise<Run> {
    return this.#client.getComputerUseRun({ params: { runId } });
  }

  listRuns(sessionId?: string, status?: RunStatus): Promise<{ runs: Run[]; next_cursor: string | null }> {
    return this.#client.listComputerUseRuns({ query: { session_id: sessionId, status } });
  }

  /** Events after the index; absent: from the first one on. */
  getRunEvents(runId: string, afterIndex?: number): Promise<{ events: RunEvent[]; next_cursor: string | null }> {
    return this.#client.listComputerUseEventsShort({ params: { runId }, query: { after_index: afterIndex } });
  }

  cancelRun(runId: string, request?: z.input<typeof ControlBody>): Promise<Run> {
    return this.#client.cancelComputerUseRunShort({ params: { runId }, body: request });
  }

  /** Takes effect between two actions. */
  pauseRun(runId: string, request?: z.input<typeof ControlBody>): Promise<Run> {
    return this.#client.pauseComputerUseRunShort({ params: { runId }, body: request });
  }

  resumeRun(runId: string, request?: z.input<typeof ControlBody>): Promise<Run> {
    return this.#client.resumeComputerUseRunShort({ params: { runId }, body: request });
  }

  approve(runId: string, approval: z.input<typeof ApproveBody>): Promise<Run> {
    return this.#client.approveComputerUseRun({ params: { runId }, body: approval });
  }

  createSession(request?: z.input<typeof CreateSession>): Promise<Session> {
    return this.#client.createComputerUseSession({ body: request });
  }

  getSession(sessionId: string): Promise<Session> {
    return this.#client.getComputerUseSession({ params: { sessionId } });
  }

  /** `cleanup` wipes what its browser kept. */
  closeSession(sessionId: string, cleanup?: boolean): Promise<Session> {
    return this.#client.closeComputerUseSession({
      params: { sessionId },
      query: { cleanup: cleanup === undefined ? undefined : (String(cleanup) as 'true' | 'false') },
    });
  }

  listSessions(): Promise<{ sessions: Session[] }> {
    return this.#client.listComputerUseSessions();
  }

  /** Each event once, in order, over cuts of the connection; the stream is over after `run.ended`. */
  subscribeToRun(runId: string, callback: (event: RunEvent) => void, options: SubscribeOptions = {}): EventStream {
    const { afterIndex, signal, onState } = options;
    let last = afterIndex ?? -1;
    const stream = this.#client.streamComputerUseRunShort(
      { params: { runId } },
      {
        ...(last < 0 ? {} : { lastEventId: String(last) }),
        onEvent: ({ data }) => {
          const event = data as RunEvent;
          last = event.index;
          callback(event);
          if (event.event_type === 'run.ended') stream.close();
        },
        onState: (state) => {
          onState?.(state);
          // A reader that starts after the last event gets nothing and would reconnect forever.
          if (state.kind === 'waiting') void this.#isOver(runId, last).then((over) => over && stream.close());
        },
      },
    );
    signal?.addEventListener('abort', () => stream.close(), { once: true });
    if (signal?.aborted) stream.close();
    return stream;
  }

  /** The run once it has ended, however it ended. */
  waitForRun(runId: string): Promise<Run> {
    return this.#until(runId, 'run.ended', (run) => (hasEnded(run) ? run : null));
  }

  /** What the run asks a person, once it asks. Throws `refused` where it ends without having asked. */
  waitForApproval(runId: string): Promise<RunApproval> {
    return this.#until(runId, 'approval.required', (run) => {
      if (run.approval === null && hasEnded(run)) {
        throw new AppError('refused', `The run ${runId} is ${run.status} and has no pending approval.`, '', {
          status: 409,
          wireCode: 'no_pending_approval',
        });
      }
      return run.approval;
    });
  }

  async #isOver(runId: string, last: number): Promise<boolean> {
    try {
      if (!hasEnded(await this.getRun(runId))) return false;
      return (await this.getRunEvents(runId, last)).events.length === 0;
    } catch {
      // Nobody answers: the stream retries automatically.
      return false;
    }
  }

  /** What `read` finds in the run, looked at first and at each event that may change it. */
  #until<T>(runId: string, type: RunEvent['event_type'], read: (run: Run) => T | null): Promise<T> {
    return new Promise((resolve, reject) => {
      const look = async () => {
        const found = read(await this.getRun(runId));
        if (found === null) return;
        resolve(found);
        stream.close();
      };
      const failed = (fault: unknown) => {
        reject(fault);
        stream.close();
      };
      const stream = this.subscribeToRun(runId, ({ event_type }) => {
        if (event_type === type || event_type === 'run.ended') look().catch(failed);
      });
      look().catch(failed);
      stream.ended.then((fault) => fault !== null && reject(fault));
    });
  }
}

/** Options of the run and members of the request, told apart by name. */
function parted(given: ExecuteOptions): Partial<ExecuteRequest> {
  const { run_id, session_id, computer_id, target_scope, context, metadata, ...options } = given;
  const request = { run_id, session_id, computer_id, target_scope, context, metadata };
  const named = Object.entries(request).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(named), ...(Object.keys(options).length === 0 ? {} : { options }) };
}
