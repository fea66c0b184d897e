/** Reads a request and checks it before anything starts or is stored. Must not know queues or rows that change. */
import { AppError } from '../../../contracts/common/errors.ts';
import {
  defaultSteps,
  defaultTimeoutMs,
  type ExecuteRequest,
  type RunOptions,
} from '../../../contracts/computer-use/run.ts';
import type { Ids } from '../../../kit/ids/ids.ts';
import type { Store } from '../../../kit/store/store.ts';
import { checkActions } from './actions.ts';
import type { RunOrder } from './live-run.ts';
import type { Planner } from './planner-port.ts';
import { findSession, type SessionRow } from './records.ts';

export interface Caller {
  readonly userId: string;
  readonly surface: string;
  /** The person themselves, not a key of theirs. */
  readonly person: boolean;
}

export async function orderOf(
  deps: {
    readonly store: Store;
    readonly planner: Pick<Planner, 'find'>;
    readonly ids: Pick<Ids, 'next'>;
  },
  request: ExecuteRequest,
  caller: Caller,
): Promise<RunOrder> {
  const { mode, options = {}, actions = [], task = '' } = request;
  const session = await sessionOf(deps.store, request, caller);
  const scope = request.target_scope ?? session?.target_scope ?? 'auto';
  if (session !== null && session.target_scope !== 'auto' && scope !== session.target_scope) {
    throw invalid(`target_scope: The session ${session.id} is for the ${session.target_scope}, not "${scope}".`);
  }
  checkParts(request);
  checkActions(actions, scope);
  const model = mode === 'direct' ? null : modelOf(deps.planner, options);
  return {
    runId: request.run_id ?? deps.ids.next('run'),
    sessionId: session?.id ?? deps.ids.next('ses'),
    ownSession: session === null,
    mode,
    scope,
    actions,
    task,
    context: request.context ?? null,
    model,
    // A list of actions has a known length.
    maxSteps: options.max_steps ?? (mode === 'direct' ? actions.length : defaultSteps),
    timeoutMs: options.timeout_ms ?? defaultTimeoutMs,
    maxMicroUsd: options.max_cost_usd === undefined ? null : Math.round(options.max_cost_usd * 1_000_000),
    record: options.record ?? false,
    caller: {
      userId: caller.userId,
      surface: caller.surface,
      startedByPerson: caller.person,
      byModel: mode !== 'direct',
      // A person sees each step of `assist` before it is done.
      approvals: mode === 'assist' ? 'always' : options.approvals,
      task: task === '' ? undefined : task,
    },
  };
}

function checkParts({ mode, actions, task, context, options = {} }: ExecuteRequest): void {
  if (mode === 'direct') {
    if (actions === undefined) throw invalid('actions: direct needs a list of actions.');
    for (const [name, given] of Object.entries({
      task,
      context,
      model: options.model,
      max_cost_usd: options.max_cost_usd,
    })) {
      if (given !== undefined) throw invalid(`${name}: direct uses no model and does not take this.`);
    }
    return;
  }
  if (task === undefined) throw invalid(`task: ${mode} needs the task in words.`);
  if (actions !== undefined) throw invalid(`actions: ${mode} takes a task, and a model chooses the actions.`);
  if (mode === 'assist' && options.approvals !== undefined && options.approvals !== 'always') {
    throw invalid(`options.approvals: assist asks before each action; "${options.approvals}" is for intent.`);
  }
}

function modelOf(planner: Pick<Planner, 'find'>, options: RunOptions): string {
  const found = planner.find(options.model ?? null);
  if ('problem' in found) {
    throw new AppError('transport', found.problem.fact, found.problem.action, { wireCode: 'model_not_configured' });
  }
  if (options.max_cost_usd !== undefined && !found.priced) {
    throw invalid(`options.max_cost_usd: The price of ${found.model} is unknown; set models.prices in settings.json.`);
  }
  return found.model;
}

async function sessionOf(store: Store, request: ExecuteRequest, { userId }: Caller): Promise<SessionRow | null> {
  const id = request.session_id;
  if (id === undefined) return null;
  const session = await store.read((tx) => findSession(tx, id));
  if (session === null || session.user_id !== userId) throw sessionNotFound(id);
  return session;
}

export function sessionNotFound(id: string): AppError {
  return new AppError(
    'not_found',
    `There is no session ${JSON.stringify(id)}.`,
    'List them: GET /computer-use/sessions',
    {
      wireCode: 'session_not_found',
    },
  );
}

function invalid(fact: string): AppError {
  return new AppError('usage', fact, 'See executeRun in docs/openapi.json.', { wireCode: 'invalid_request' });
}
