/**
 * Keeps one agent running: starts it, continues its session, starts it again when it ends. Owns when it is given up. Must not know messages, turns or how a
 * start is prepared.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { AgentState } from '../../contracts/factory/agent.ts';
import type { BotSpec } from '../harness/harness.ts';
import type { Recorder } from './conversation.ts';
import type { AcpDeps } from './deps.ts';
import { type AgentLink, LinkFault, type LinkOrder, openLink } from './link.ts';
import { readSession, saveSession } from './store.ts';

/** An agent that ends sooner than this did not work. */
const quickMs = 60_000;
const maxQuickEnds = 3;
/** What it replays of messages is kept as far as this, to find one in it. Characters. */
const maxReplayed = 2_000_000;

export interface AgentLife {
  /** Null while it is not running. */
  link(): AgentLink | null;
  /** The folder that it works in. */
  cwd(): string;
  /** A new session began, and was told nothing yet. Reading it answers once. */
  isUntold(): boolean;
  /** What it was told in earlier processes, as it replayed it. */
  replayed(): string;
  /** Starts it, unless it runs or is being started. */
  start(): void;
  /** Ends its process; it is started again. */
  endProcess(): Promise<void>;
  /** Ends it for good. Resolves when nothing of it runs any more. */
  close(): Promise<void>;
}

interface LifeBot {
  readonly agentId: string;
  readonly spec: () => BotSpec;
  readonly recorder: Recorder;
  readonly on: Pick<LinkOrder, 'onUpdate' | 'onPermission' | 'may'>;
  readonly mustReplay: boolean;
  readonly show: (state: AgentState, reason: string | null, rule: string) => void;
  /** It runs and has a session. */
  readonly onUp: () => void;
  /** Its process has ended. */
  readonly onDown: () => void;
}

/** What is known of the agent besides its link. */
interface Known {
  folder: string;
  untold: boolean;
  replayed: string;
  leftOut: number;
}

export function createAgentLife(deps: AcpDeps, bot: LifeBot): AgentLife {
  const { clock } = deps;
  const { agentId, recorder, show } = bot;
  const known: Known = { folder: bot.spec().cwd, untold: false, replayed: '', leftOut: 0 };
  let link: AgentLink | null = null;
  let life: Promise<void> | null = null;
  let closed = false;
  let isMeant = false;
  let isLoaded = false;

  async function run(): Promise<void> {
    if (!isLoaded) await recorder.load();
    isLoaded = true;
    for (let quickEnds = 0; !closed; ) {
      const since = clock.monotonic();
      const why = await runOnce();
      if (closed || why === null) return;
      const quick = clock.monotonic() - since < quickMs && !isMeant;
      quickEnds = quick ? quickEnds + 1 : 0;
      isMeant = false;
      if (quickEnds >= maxQuickEnds) {
        show('failed', why, 'acp.ended');
        return;
      }
      show('starting', `${why}; it is being restarted`, 'acp.restart');
    }
  }

  /** One process, to its end; answers why it ended. Null: it could not be started, which is shown. */
  async function runOnce(): Promise<string | null> {
    try {
      const opened = await openAgent(deps, bot, known);
      if (closed) {
        await opened.end();
        return null;
      }
      link = opened;
      bot.onUp();
      const why = await opened.gone;
      link = null;
      if (closed) return why;
      recorder.note(`${why[0]?.toUpperCase()}${why.slice(1)}.`);
      bot.onDown();
      return why;
    } catch (error) {
      if (closed) return null;
      show(needsPerson(error) ? 'needs_you' : 'failed', wordsOf(error), 'acp.start');
      return null;
    } finally {
      await recorder.flush();
    }
  }

  return {
    link: () => link,
    cwd: () => known.folder,
    isUntold() {
      const was = known.untold;
      known.untold = false;
      return was;
    },
    replayed: () => known.replayed,
    start() {
      if (closed || life !== null) return;
      show('starting', null, 'acp.start');
      life = run()
        .catch((error: unknown) => {
          deps.log.warn('An agent over ACP broke.', { agentId, error: String(error) });
          show('failed', wordsOf(error), 'acp.broke');
        })
        .finally(() => {
          life = null;
        });
    },
    async endProcess() {
      isMeant = true;
      await link?.end();
    },
    async close() {
      closed = true;
      await link?.end();
      await life;
    },
  };
}

/**
 * Starts the agent in the session that it had, if that is one of the same agent in the same folder, in the mode that a person set, and otherwise in
 * the one that asks.
 */
async function openAgent(deps: AcpDeps, bot: LifeBot, known: Known): Promise<AgentLink> {
  const { agentId, recorder } = bot;
  const spec = bot.spec();
  const saved = await deps.store.read((tx) => readSession(tx, agentId));
  const { command, env, cwd, mcpServers, signIns, asksIn, missingIsEmpty, held, close } = await deps.prepare(spec);
  const name = spec.command ?? '';
  const isSame = saved !== null && saved.command === name && saved.cwd === cwd;
  known.folder = cwd;
  known.replayed = '';
  const opened = await openLink(deps.timers, {
    ...bot.on,
    ...{ command, env, cwd, mcpServers, signIns, missingIsEmpty, held },
    session: isSame ? saved.sessionId : null,
    mustReplay: bot.mustReplay,
    onReplayed(text) {
      if (known.replayed.length < maxReplayed) known.replayed += text;
    },
    onLeftOut(what) {
      known.leftOut += 1;
      // Told once: an agent that logs to its output would fill the conversation.
      if (known.leftOut === 1) recorder.note(`The agent printed ${what}. It is left out, like all such lines.`);
    },
  }).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  void opened.gone.then(close);
  const mode = isSame ? saved.mode : null;
  if (opened.session === 'new') {
    known.untold = true;
    const session = { sessionId: opened.sessionId, command: name, cwd, mode };
    await deps.store.write((tx) => saveSession(tx, agentId, session));
    const why = opened.notContinued ?? 'the command or the folder of the agent has changed';
    if (saved !== null) recorder.note(`A new conversation begins: ${why}.`);
  }
  const wanted = mode ?? asksIn;
  const modes = opened.modes();
  if (wanted !== null && modes?.current !== wanted && modes?.available.some(({ id }) => id === wanted) === true) {
    await opened.setMode(wanted).catch((error: unknown) => {
      recorder.note(`The mode "${wanted}" could not be set: ${wordsOf(error)}`);
    });
  }
  return opened;
}

const needsPerson = (error: unknown): boolean =>
  error instanceof LinkFault ? error.kind === 'sign_in' : error instanceof AppError && error.code === 'needs_person';

function wordsOf(error: unknown): string {
  if (error instanceof AppError) return `${error.fact} ${error.action}`;
  return error instanceof Error ? error.message : String(error);
}
