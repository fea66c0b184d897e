/**
 * The `opencode` harness: opencode in a pane, reached without its keyboard. State, questions and messages use the HTTP server inside its own
 * program; evidence is the message that the server returns. Must not know other harnesses.
 */
import { rm } from 'node:fs/promises';
import type { Adapter, Driver, DriverContext, Surroundings } from '../adapter.ts';
import { createChannelQuestions } from '../channel-questions.ts';
import type { DeliverResult, Outgoing } from '../harness.ts';
import { sessionToResume } from '../launch-parts.ts';
import type { Harness } from '../program.ts';
import { composePrompt } from '../wording.ts';
import { execOpencode } from './exec.ts';
import { launchOpencode, readServerAccess } from './launch.ts';
import { opencodeProgram } from './program.ts';
import { opencodeRules } from './rules.ts';
import { createOpencodeServer, NotListening, type OpencodeServer } from './server.ts';
import { createSessions, holdsText, questionsIn } from './sessions.ts';
import { databaseFile, readOpencodeUsage } from './usage.ts';

/** Its server answers a call as soon as the message is stored; the event follows. A loaded computer takes longer. */
const witnessMs = 3000;
const firstRetryMs = 200;
/** A server that hangs keeps its connections: only an answer shows that it lives. */
const askAgainMs = 5000;
const maxRetryMs = 5000;
/** A screen that no rule knows does not keep a bot whose server answers in `starting`. */
const startingMs = 20_000;
const showAgainMs = 1500;
const noAnswer = 'its server does not answer';
const maxShows = 20;

export const opencode = { ...opencodeProgram, adapter: createOpencodeAdapter } satisfies Harness;

/** The file with the address and password of the program's server. Facts that an earlier Gantry stored call it `doorFile`. */
function serverFileOf({ serverFile, doorFile }: Readonly<Record<string, unknown>>): string | null {
  const file = serverFile ?? doorFile;
  return typeof file === 'string' ? file : null;
}

function createOpencodeAdapter(around: Surroundings): Adapter {
  return {
    ruleset: opencodeRules,
    async prepare(bot, paths, memory) {
      const known = sessionToResume(bot, memory);
      const { launch, serverFile } = await launchOpencode(around, bot, paths, known);
      return {
        launch,
        facts: { sessionId: known, serverFile, workspace: paths.workspace, database: databaseFile(around, bot) },
      };
    },
    drive: driveOpencode,
    exec: (bot, paths, text, options) => execOpencode(around, bot, paths, text, options),
    usage: readOpencodeUsage,
  };
}

function driveOpencode(context: DriverContext): Driver {
  const { judge, timers } = context;
  const ended = new AbortController();
  let server: OpencodeServer | null = null;
  /** The stream of events is connected, and the earlier state has been requested. */
  let connected = false;
  /** Ends the current stream: its server was found not to answer. */
  let hangUp = () => {};
  let cancelAsk = () => {};
  /** The message on its way, while it waits to be given back. */
  let pending: { text: string; seen: boolean } | null = null;

  const sessions = createSessions({
    known: typeof context.recall().sessionId === 'string' ? String(context.recall().sessionId) : null,
    remember: (sessionId) => context.remember({ sessionId }),
  });
  const questions = createChannelQuestions(context, {
    harness: 'opencode',
    async reply(id, { allow, note }) {
      const body = allow ? { reply: 'once' } : { reply: 'reject', message: note };
      const answer = await ask('POST', `/permission/${encodeURIComponent(id)}/reply`, body);
      // No event comes of a question that is gone.
      timers.after(0, tell);
      if (answer.status === 404) return 'gone';
      if (answer.status >= 300) throw new Error(`its server answered ${answer.status}`);
      return 'taken';
    },
  });

  function ask(...call: Parameters<OpencodeServer['call']>): ReturnType<OpencodeServer['call']> {
    return server === null ? Promise.reject(new NotListening()) : server.call(...call);
  }

  /** One level out of all that is known: its questions before its turns. */
  function tell(): void {
    const question = questions.first();
    const waiting = sessions.waiting();
    if (question) judge.event('hook', 'level.asks', { words: question.words });
    else if (waiting !== null) judge.event('hook', 'level.asks', { words: waiting });
    else {
      const { level, ...payload } = sessions.level();
      // Its screen is drawn after its server listens, and a session is shown only on a finished screen.
      if (level !== 'idle' || judge.state().state !== 'starting') judge.event('hook', `level.${level}`, payload);
    }
    context.poke();
  }

  /** Reads what happened while no connection listened. */
  async function look(): Promise<void> {
    const [list, status, asked] = await Promise.all([
      ask('GET', '/session'),
      ask('GET', '/session/status'),
      ask('GET', '/permission'),
    ]);
    sessions.looked(list.body, status.body);
    questions.settle(questionsIn(asked.body));
  }

  /** In a turn it answers late, and its events show that it lives. */
  function askWhetherItLives(): void {
    cancelAsk = timers.after(askAgainMs, () => {
      if (sessions.level().level !== 'idle') {
        askWhetherItLives();
        return;
      }
      ask('GET', '/session/status').then(askWhetherItLives, () => hangUp());
    });
  }

  async function follow(): Promise<void> {
    for (let pause = firstRetryMs; !ended.signal.aborted; pause = Math.min(2 * pause, maxRetryMs)) {
      const file = serverFileOf(context.recall());
      const serverAccess = file === null ? null : await readServerAccess(file);
      server = serverAccess && createOpencodeServer(serverAccess);
      const silent = new AbortController();
      hangUp = () => silent.abort();
      try {
        await server?.follow(
          AbortSignal.any([ended.signal, silent.signal]),
          () => {
            pause = firstRetryMs;
            look()
              .then(() => {
                connected = true;
                askWhetherItLives();
                tell();
              })
              // Without the earlier state, the events are not reliable.
              .catch(hangUp);
          },
          (event) => {
            if (pending && holdsText(event, pending.text)) pending.seen = true;
            for (const change of sessions.take(event)) {
              if (change.kind === 'asked') questions.asked(change.question);
              else questions.answered(change.id);
            }
            tell();
          },
        );
      } catch {
        // Not up yet, gone or silent: retried.
      }
      cancelAsk();
      if (connected) {
        connected = false;
        context.poke();
      }
      if (!ended.signal.aborted) await new Promise<void>((resolve) => timers.after(pause, resolve));
    }
  }

  /** Its screen learns of it only once it listens, which nothing reports: shown again until its title changes. */
  async function show(id: string): Promise<void> {
    await ask('POST', '/tui/select-session', { sessionID: id });
    const showing = async () => {
      for (let tries = 0; tries < maxShows && !ended.signal.aborted && sessions.current() === id; tries += 1) {
        if (await context.until(() => context.facts()?.title.startsWith('OC ') === true, showAgainMs)) return;
        await ask('POST', '/tui/select-session', { sessionID: id });
      }
    };
    showing().catch(() => undefined);
  }

  /** The conversation on the screen; creates and shows one where there is none yet. */
  async function session(): Promise<string> {
    const known = sessions.current();
    if (known !== null) return known;
    const made = await ask('POST', '/session', {});
    const id = (made.body as { id?: unknown } | null)?.id;
    if (made.status >= 300 || typeof id !== 'string') throw new Error(`its server answered ${made.status}`);
    sessions.choose(id);
    await show(id);
    return id;
  }

  /** Whether the server returns the message. */
  async function stored(id: string, text: string): Promise<boolean> {
    const answer = await ask('GET', `/session/${encodeURIComponent(id)}/message?limit=20`);
    return holdsText(answer.body, text);
  }

  async function post(text: string): Promise<DeliverResult> {
    const id = await session();
    let status: number | null = null;
    try {
      const body = { ...sessions.voice(), parts: [{ type: 'text', text }] };
      ({ status } = await ask('POST', `/session/${encodeURIComponent(id)}/prompt_async`, body));
    } catch (fault) {
      if (fault instanceof NotListening) throw fault;
      // Cut off: whether it was taken is asked below.
    }
    if (status === 404) sessions.choose(null);
    if (status !== null && status < 300) {
      sessions.begun(id);
      tell();
    }
    if (status !== null && status >= 300) {
      return { state: 'failed', evidence: null, detail: `its server refused the message with ${status}` };
    }
    if (await context.until(() => pending?.seen === true, witnessMs)) {
      return { state: 'verified', evidence: 'transcript', detail: 'its server reported this message as an event' };
    }
    if (await stored(id, text).catch(() => false)) {
      return { state: 'verified', evidence: 'transcript', detail: 'its server returned this message when asked' };
    }
    const took = status === null ? 'its server did not answer' : `its server answered ${status}`;
    return { state: 'unconfirmed', evidence: null, detail: `${took}, and did not return the message` };
  }

  async function deliver(message: Outgoing): Promise<DeliverResult> {
    const gate = context.gate();
    if (!gate.open) return { state: 'held', why: gate.why };
    const text = composePrompt(message);
    pending = { text, seen: false };
    try {
      return await post(text);
    } catch (fault) {
      if (fault instanceof NotListening) return { state: 'held', why: noAnswer };
      return { state: 'failed', evidence: null, detail: `its server: ${String(fault).slice(0, 200)}` };
    } finally {
      pending = null;
    }
  }

  follow().catch(() => undefined);
  const cancelStarting = timers.after(startingMs, () => {
    if (connected && judge.state().state === 'starting') judge.event('hook', 'level.idle', {});
    context.poke();
  });

  return {
    obstacle: () => (connected ? null : noAnswer),
    away: () => (connected ? null : noAnswer),
    // A key would end the turn of the conversation that the screen shows, and only when it is pressed twice.
    abort: () =>
      connected
        ? async () => {
            const busy = sessions.busy();
            await Promise.allSettled(busy.map((id) => ask('POST', `/session/${encodeURIComponent(id)}/abort`)));
          }
        : null,
    deliver,
    async resume(message) {
      // A bare text names no delivery: it cannot be distinguished from an earlier one with the same words.
      if (message.raw || sessions.current() === null) return null;
      await context.until(() => connected, witnessMs);
      const found = await stored(String(sessions.current()), composePrompt(message)).catch(() => null);
      if (found === null) return null;
      return found
        ? { state: 'verified', evidence: 'transcript', detail: 'its server returned this message when asked' }
        : deliver(message);
    },
    onExit() {
      ended.abort();
      // Its port may belong to another program from now on.
      server = null;
      cancelStarting();
      questions.ended();
      const file = serverFileOf(context.recall());
      if (file !== null) rm(file, { force: true }).catch(() => undefined);
    },
    close() {
      ended.abort();
      cancelStarting();
      questions.close();
    },
    onState({ state }) {
      // The screen judged it idle while its server still asks.
      if (state !== 'needs_you' && questions.first() !== null) timers.after(0, tell);
    },
    approvals: questions.ids,
  };
}
