/**
 * The profile's tools and prompt that ask the client for something and are called again with it (SEP-2322): the layer carries such
 * answers as they are. States are signed, so that a client cannot write its own.
 */
import { createHmac } from 'node:crypto';
import { mcpMeta, rpcCodes, tasksExtension } from '../../../src/contracts/tool-server/mcp.ts';
import type {
  JsonObject,
  ListedPrompt,
  ListedTool,
  McpRequest,
  McpService,
  RpcAnswer,
} from '../../../src/kit/mcp/service.ts';
import { declaresTasks, onlyAsTask } from './profile-tasks.ts';

type Asks = Readonly<Record<string, { readonly method: string; readonly params: JsonObject }>>;

const ask = (message: string, name: string, type = 'string') => ({
  method: 'elicitation/create',
  params: {
    message,
    requestedSchema: { type: 'object', properties: { [name]: { type } }, required: [name] },
  },
});
const sample = (said: string) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: said } }], maxTokens: 100 },
});
const roots = { method: 'roots/list', params: {} };

interface Script {
  /** The questions, round by round. */
  readonly rounds: readonly Asks[];
  readonly state?: true;
}

const prefix = 'test_input_required_result_';
const scripts: Readonly<Record<string, Script>> = {
  [`${prefix}elicitation`]: { rounds: [{ user_name: ask('What is your name?', 'name') }] },
  [`${prefix}sampling`]: { rounds: [{ capital_question: sample('What is the capital of France?') }] },
  [`${prefix}list_roots`]: { rounds: [{ client_roots: roots }] },
  [`${prefix}request_state`]: { rounds: [{ confirm: ask('Please confirm', 'ok', 'boolean') }], state: true },
  [`${prefix}multiple_inputs`]: {
    rounds: [
      {
        user_name: ask('What is your name?', 'name'),
        greeting: sample('Generate a greeting'),
        client_roots: roots,
      },
    ],
    state: true,
  },
  [`${prefix}multi_round`]: {
    rounds: [
      { step1: ask('Step 1: What is your name?', 'name') },
      { step2: ask('Step 2: What is your favorite color?', 'color') },
    ],
    state: true,
  },
  [`${prefix}tampered_state`]: { rounds: [{ confirm: ask('Please confirm', 'ok', 'boolean') }], state: true },
  [`${prefix}capabilities`]: { rounds: [{ user_name: ask('What is your name?', 'name'), sampled: sample('A word') }] },
  test_tool_with_task: { rounds: [{ user_name: ask('What is your name?', 'name') }] },
  [`${prefix}prompt`]: { rounds: [{ user_context: ask('What context should the prompt use?', 'context') }] },
};

const isPrompt = (name: string) => name === `${prefix}prompt`;

export const inputRequiredTools: readonly ListedTool[] = Object.keys(scripts)
  .filter((name) => !isPrompt(name) && name.startsWith(prefix))
  .map((name) => ({
    name,
    description: 'Asks the client, and answers when it is called again.',
    inputSchema: { type: 'object', additionalProperties: false },
  }));

export const inputRequiredPrompts: readonly ListedPrompt[] = [
  { name: `${prefix}prompt`, description: 'Asks the client for its context.' },
];

/** What a client must be able to do for each question. */
const needs: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};

const key = 'a key of the test';
const sign = (round: number) => `${round}.${createHmac('sha256', key).update(String(round)).digest('hex')}`;

/** The round that a state stands for: 0 without one; null for one that was not given here. */
function roundOf(state: unknown): number | null {
  if (state === undefined) return 0;
  const round = Number(String(state).split('.')[0]);
  return state === sign(round) ? round : null;
}

function inputRequired(request: McpRequest, script: Script): RpcAnswer | null {
  const { requestState, _meta } = request.params;
  const given = (request.params.inputResponses ?? {}) as JsonObject;
  const can = (_meta as Record<string, JsonObject>)[mcpMeta.clientCapabilities] as JsonObject;
  const round = roundOf(requestState);
  if (round === null) {
    return { error: { code: rpcCodes.invalidParams, message: 'Invalid params: requestState was not given here.' } };
  }
  const asked = Object.entries(script.rounds[round] ?? {}).filter(
    ([, { method }]) => can[needs[method] ?? ''] !== undefined,
  );
  const open = asked.filter(([name]) => !isAnswer(given[name]));
  if (open.length > 0) return asking(Object.fromEntries(open), script, round);
  const next = script.rounds[round + 1];
  return next === undefined ? null : asking(next, script, round + 1);
}

const isAnswer = (value: unknown) => typeof value === 'object' && value !== null && Object.keys(value).length > 0;

function asking(inputRequests: Asks, { state }: Script, round: number): RpcAnswer {
  return {
    result: { resultType: 'input_required', inputRequests, ...(state ? { requestState: sign(round) } : {}) },
  };
}

/** The service, with those names answered here. */
export function withInputRequired(service: McpService): McpService {
  return {
    ...service,
    handle(request) {
      const { method, era, params } = request;
      const name = String(params.name);
      if (era === 'legacy' || (method !== 'tools/call' && method !== 'prompts/get')) return service.handle(request);
      if (onlyAsTask.has(name) && !declaresTasks(request))
        return lacks(tasksExtension, { extensions: { [tasksExtension]: {} } });
      if (name === 'test_missing_capability') return samplingNeeded(request) ?? service.handle(request);
      const script = scripts[name];
      if (script === undefined || isPrompt(name) !== (method === 'prompts/get')) return service.handle(request);
      const asked = inputRequired(request, script);
      if (asked !== null || name !== 'test_tool_with_task') return asked ?? { result: complete(name, params) };
      const { user_name: answer } = params.inputResponses as Record<string, { content: JsonObject }>;
      const named = { ...params, arguments: answer?.content };
      return service.handle(withParams(request, named));
    },
  };
}

function complete(name: string, params: JsonObject): JsonObject {
  const said = `state-ok ${JSON.stringify(params.inputResponses ?? {})}`;
  const content = { type: 'text', text: said };
  return isPrompt(name) ? { messages: [{ role: 'user', content }] } : { content: [content], isError: false };
}

function samplingNeeded({ params }: McpRequest): RpcAnswer | null {
  const can = (params._meta as Record<string, JsonObject>)[mcpMeta.clientCapabilities] as JsonObject;
  if (can.sampling !== undefined) return null;
  return lacks('sampling', { sampling: {} });
}

function lacks(capability: string, requiredCapabilities: JsonObject): RpcAnswer {
  return {
    error: {
      code: rpcCodes.missingCapability,
      message: `Missing required client capability: ${capability}.`,
      data: { requiredCapabilities },
      status: 400,
    },
  };
}

/** The same request with other parameters; its getters need the request itself. */
function withParams(request: McpRequest, params: JsonObject): McpRequest {
  return new Proxy(request, { get: (of, key) => (key === 'params' ? params : Reflect.get(of, key, of)) });
}
