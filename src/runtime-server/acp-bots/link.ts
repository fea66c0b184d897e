/**
 * One running agent: its process, the connection to it, and the session that it works in. Owns how it is started, how a session is continued, and what its
 * end looks like. Must not know messages, turns or rows.
 */
import {
  type ClientContext,
  client,
  type InitializeResponse,
  type McpServer,
  methods,
  PROTOCOL_VERSION,
  type PromptResponse,
  RequestError,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import type { ConversationModes } from '../../contracts/factory/conversation-routes.ts';
import { messageStream } from '../../kit/acp/stream.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { type ServedProcess, startServedProcess } from '../../kit/process/served-process.ts';
import { record } from '../harness/values.ts';
import { type ClientMethods, createClientMethods, type May } from './client-methods.ts';
import { createInside } from './inside.ts';
import { modesOf, readUpdate, type Update } from './updates.ts';

/** An agent that says nothing at its start in this time is ended. */
const startMs = 30_000;
/** Continuing a long conversation reads all of it. */
const loadMs = 120_000;
const authRequired = -32_000;

export interface LinkOrder {
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly mcpServers: (offers: { readonly http: boolean }) => McpServer[];
  /** The session to continue; null: a new one. */
  readonly session: string | null;
  /** It must be told again what was said, even where a session can be continued without. */
  readonly mustReplay: boolean;
  /** Sign-in methods that need no person, in the order in which they are tried. */
  readonly signIns: readonly string[];
  readonly missingIsEmpty: boolean;
  /** Told the agent's process; what it returns is called when that has ended. */
  readonly held: (pid: number) => () => void;
  readonly onUpdate: (update: Update) => void;
  /** What the agent was told earlier, as it replays it. */
  readonly onReplayed: (text: string) => void;
  readonly onPermission: (request: RequestPermissionRequest, signal: AbortSignal) => Promise<RequestPermissionResponse>;
  /** About what it asks of its client. */
  readonly may: May;
  /** It printed something that is no message. */
  readonly onLeftOut: (what: string) => void;
}

export interface AgentLink {
  /** As it calls itself. */
  readonly agent: string;
  readonly sessionId: string;
  readonly session: 'new' | 'continued';
  /** Why the wanted session was not continued; null: it was, or none was wanted. */
  readonly notContinued: string | null;
  modes(): ConversationModes | null;
  /** Resolves when the turn has ended. */
  prompt(texts: readonly string[]): Promise<PromptResponse>;
  cancel(): void;
  setMode(mode: string): Promise<void>;
  /** Why it ended, in words, once it has. */
  readonly gone: Promise<string>;
  end(): Promise<void>;
}

/** `sign_in`: a person must sign the agent in first. `refused`: the agent answered with an error. */
export class LinkFault extends Error {
  readonly kind: 'sign_in' | 'refused' | 'failed';

  constructor(kind: LinkFault['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

export async function openLink(timers: Timers, order: LinkOrder): Promise<AgentLink> {
  const process = await startServedProcess({ command: order.command, cwd: order.cwd, env: order.env });
  const release = order.held(process.pid);
  const gone = process.exited.then((exit) => {
    release();
    return endWords(exit, process);
  });
  try {
    return await connect(timers, order, process, gone);
  } catch (error) {
    await process.end();
    throw error instanceof LinkFault ? error : new LinkFault('failed', wordsOf(error));
  }
}

async function connect(
  timers: Timers,
  order: LinkOrder,
  process: ServedProcess,
  gone: Promise<string>,
): Promise<AgentLink> {
  const closing = new AbortController();
  const heard: Heard = { session: null, isReplaying: false, modes: null, terminals: new Map() };
  const { inside, aside } = createInside(process.stdin, gone);
  const serves = createClientMethods(inside, {
    may: order.may,
    cwd: order.cwd,
    missingIsEmpty: order.missingIsEmpty,
    shows(terminal, output) {
      const id = heard.terminals.get(terminal);
      if (id !== undefined) order.onUpdate({ kind: 'tool', report: { id, output } });
    },
  });
  const connection = serveMethods(client({ name: 'gantry' }), serves, heard)
    .onRequest(methods.client.session.requestPermission, ({ params, signal }) => order.onPermission(params, signal))
    .onNotification(
      methods.client.session.update,
      (params: unknown) => params,
      ({ params }) => take(heard, order, params),
    )
    .connect(
      messageStream({
        input: process.stdout,
        output: process.stdin,
        timers,
        signal: closing.signal,
        onLeftOut: order.onLeftOut,
        aside,
      }),
    );
  void gone.then(() => {
    closing.abort();
    connection.close();
  });
  // An agent that closes its side takes nothing more.
  void connection.closed.then(() => process.end());
  const { agent } = connection;
  const within = createWithin(timers, gone);

  const hello = await within(
    startMs,
    'initialize',
    agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
      clientInfo: { name: 'gantry', title: 'Gantry', version: '1' },
    }),
  );
  if (hello.protocolVersion !== PROTOCOL_VERSION) {
    const fact = `It speaks version ${hello.protocolVersion} of ACP; Gantry speaks ${PROTOCOL_VERSION}.`;
    throw new LinkFault('failed', fact);
  }
  const { answer, ...begun } = await beginSession({ agent, hello, order, within, heard });
  const sessionId = begun.sessionId;
  heard.session = sessionId;
  heard.modes = modesOf(record(answer).modes);

  return {
    agent: nameOf(hello),
    ...begun,
    modes: () => heard.modes,
    async prompt(texts) {
      const prompt = texts.map((text) => ({ type: 'text' as const, text }));
      try {
        return await agent.request(methods.agent.session.prompt, { sessionId, prompt });
      } catch (error) {
        throw error instanceof RequestError
          ? new LinkFault('refused', wordsOf(error))
          : new LinkFault('failed', await gone);
      } finally {
        await reportsAreIn();
      }
    },
    cancel: () => void agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {}),
    async setMode(mode) {
      const setting = agent.request(methods.agent.session.setMode, { sessionId, modeId: mode });
      await within(startMs, 'session/set_mode', setting);
      if (heard.modes !== null) heard.modes = { ...heard.modes, current: mode };
    },
    gone,
    end: () => {
      closing.abort();
      return process.end();
    },
  };
}

/** Only the session that this agent works in asks anything of its client. */
function serveMethods(app: ReturnType<typeof client>, serves: ClientMethods, heard: Heard): ReturnType<typeof client> {
  const { fs, terminal } = methods.client;
  const of = ({ sessionId }: { readonly sessionId: string }) => {
    if (sessionId !== heard.session) throw RequestError.invalidParams({ details: `There is no session ${sessionId}.` });
  };
  const on =
    <Params extends { readonly sessionId: string }, Result>(
      serve: (params: Params, signal: AbortSignal) => Promise<Result>,
    ) =>
    ({ params, signal }: { readonly params: Params; readonly signal: AbortSignal }): Promise<Result> => {
      of(params);
      return serve(params, signal);
    };
  return app
    .onRequest(fs.readTextFile, on(serves.readFile))
    .onRequest(fs.writeTextFile, on(serves.writeFile))
    .onRequest(terminal.create, on(serves.createTerminal))
    .onRequest(
      terminal.output,
      on(({ terminalId }) => serves.output(terminalId)),
    )
    .onRequest(
      terminal.waitForExit,
      on(({ terminalId }) => serves.wait(terminalId)),
    )
    .onRequest(
      terminal.kill,
      on(({ terminalId }) => serves.kill(terminalId)),
    )
    .onRequest(
      terminal.release,
      on(({ terminalId }) => serves.release(terminalId)),
    );
}

/** What reports are judged by. */
interface Heard {
  /** Before it is known nothing can be meant for it. */
  session: string | null;
  isReplaying: boolean;
  modes: ConversationModes | null;
  /** The calls that show them, by terminal. */
  readonly terminals: Map<string, string>;
}

function take(heard: Heard, order: LinkOrder, params: unknown): void {
  const { sessionId, update } = record(params);
  const said = readUpdate(update);
  if (heard.isReplaying) {
    if (said.kind === 'user') order.onReplayed(said.text);
    return;
  }
  if (heard.session === null || sessionId !== heard.session) return;
  if (said.kind === 'tool')
    for (const terminal of said.report.terminals ?? []) heard.terminals.set(terminal, said.report.id);
  if (said.kind === 'mode' && heard.modes !== null) heard.modes = { ...heard.modes, current: said.mode };
  order.onUpdate(said);
}

/** The SDK hands a report on a moment later than an answer: those that came before an answer are to count. */
const reportsAreIn = () => new Promise((resolve) => setImmediate(resolve));

type Within = <T>(ms: number, what: string, answer: Promise<T>) => Promise<T>;

/** An answer that takes too long, or that the agent ends without, is a fault. */
function createWithin(timers: Timers, gone: Promise<string>): Within {
  return async (ms, what, answer) => {
    let cancel = () => {};
    const late = new Promise<never>((_, reject) => {
      cancel = timers.after(ms, () => reject(new LinkFault('failed', `It did not answer ${what} in ${ms / 1000} s.`)));
    });
    const over = gone.then((why): never => {
      throw new LinkFault('failed', why);
    });
    over.catch(() => {});
    try {
      return await Promise.race([answer, late, over]);
    } finally {
      cancel();
    }
  };
}

interface Beginning {
  readonly agent: ClientContext;
  readonly hello: InitializeResponse;
  readonly order: LinkOrder;
  readonly within: Within;
  readonly heard: Heard;
}

/** The wanted session where the agent can continue it, otherwise a new one. */
async function beginSession(
  beginning: Beginning,
): Promise<Pick<AgentLink, 'sessionId' | 'session' | 'notContinued'> & { answer: unknown }> {
  const { agent, hello, order, within } = beginning;
  const mcpServers = order.mcpServers({ http: hello.agentCapabilities?.mcpCapabilities?.http === true });
  let notContinued: string | null = null;
  if (order.session !== null) {
    const given = { sessionId: order.session, cwd: order.cwd, mcpServers };
    const continued = await continueSession(beginning, given);
    if ('answer' in continued)
      return { ...continued, sessionId: order.session, session: 'continued', notContinued: null };
    notContinued = continued.why;
  }
  const answer = await signedIn(beginning, () =>
    within(startMs, 'session/new', agent.request(methods.agent.session.new, { cwd: order.cwd, mcpServers })),
  );
  return { answer, sessionId: answer.sessionId, session: 'new', notContinued };
}

async function continueSession(
  beginning: Beginning,
  given: { sessionId: string; cwd: string; mcpServers: McpServer[] },
): Promise<{ readonly answer: unknown } | { readonly why: string }> {
  const { agent, hello, order, within, heard } = beginning;
  const capabilities = hello.agentCapabilities;
  const canLoad = capabilities?.loadSession === true;
  const canResume = capabilities?.sessionCapabilities?.resume != null;
  if (!canLoad && !canResume) return { why: 'the agent cannot continue a session' };
  try {
    if (canResume && !(order.mustReplay && canLoad)) {
      const resume = () => within(loadMs, 'session/resume', agent.request(methods.agent.session.resume, given));
      return { answer: await signedIn(beginning, resume) };
    }
    heard.isReplaying = true;
    const load = () => within(loadMs, 'session/load', agent.request(methods.agent.session.load, given));
    const answer = await signedIn(beginning, load);
    await reportsAreIn();
    return { answer };
  } catch (error) {
    if (error instanceof LinkFault) throw error;
    return { why: `the agent could not continue the session: ${wordsOf(error)}` };
  } finally {
    heard.isReplaying = false;
  }
}

/** Once more after a sign-in that needs no person, if the agent asks for one. */
async function signedIn<T>({ agent, hello, order, within }: Beginning, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof RequestError) || error.code !== authRequired) throw error;
  }
  const offered = hello.authMethods ?? [];
  for (const methodId of order.signIns.filter((id) => offered.some((method) => method.id === id))) {
    try {
      await within(startMs, 'authenticate', agent.request(methods.agent.authenticate, { methodId }));
      return await attempt();
    } catch (error) {
      if (error instanceof LinkFault) throw error;
    }
  }
  const names = offered.map(({ name }) => name).join(', ');
  throw new LinkFault('sign_in', names === '' ? 'sign in to the agent' : `sign in to the agent: ${names}`);
}

function nameOf({ agentInfo }: InitializeResponse): string {
  return agentInfo == null ? 'an agent without a name' : `${agentInfo.title ?? agentInfo.name} ${agentInfo.version}`;
}

function endWords(
  { code, signal }: { readonly code: number | null; readonly signal: string | null },
  process: Pick<ServedProcess, 'complaint'>,
): string {
  const how = signal === null ? `exit code ${code ?? 'unknown'}` : signal;
  const said = process.complaint().trim().split('\n').slice(-3).join('\n').slice(-400);
  return `the agent ended (${how})${said === '' ? '' : `: ${said}`}`;
}

function wordsOf(error: unknown): string {
  if (!(error instanceof RequestError)) return error instanceof Error ? error.message : String(error);
  const { details } = record(error.data);
  return typeof details === 'string' ? `${error.message}: ${details}` : error.message;
}
