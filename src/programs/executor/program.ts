/**
 * The frame of the executor program: passes each request to its place after the one before it, and sends answers and events. It gives every action
 * its deadline and can stop it. Must not know how anything is done.
 */
import { memberOf } from '../../contracts/computer-use/members.ts';
import type { AskHost, BrowserHands } from './browser/create-browser.ts';
import { type ActedWith, type Emit, type Hands, HandsFault } from './hands.ts';
import type { Act, AnswerHead, Fault, Place, Request, RequestHead } from './protocol.ts';

interface ProgramDeps {
  /** Sends one frame; false when the reader is behind. */
  readonly send: (head: { readonly id: number; readonly size: number }, body?: Uint8Array) => boolean;
  readonly browser: (deps: { readonly emit: Emit; readonly askHost: AskHost }) => BrowserHands;
  readonly desktop: (deps: { readonly emit: Emit }) => Hands;
}

interface Program {
  take(head: RequestHead): void;
  close(): Promise<void>;
}

type Answer = { readonly ok: true } & Omit<Extract<AnswerHead, { ok: true }>, 'id' | 'size' | 'ok'>;

export function createProgram({ send, ...make }: ProgramDeps): Program {
  const emit: Emit = (event, bytes) => send({ ...event, id: 0, size: bytes?.length ?? 0 } as never, bytes);
  const questions = new Map<number, (answer: { allow: boolean; why: string }) => void>();
  let lastQuestion = 0;
  const askHost: AskHost = (question) =>
    new Promise((resolve) => {
      lastQuestion += 1;
      questions.set(lastQuestion, resolve);
      emit({ event: 'host', question: lastQuestion, ...question });
    });
  const browser = make.browser({ emit, askHost });
  const desktop = make.desktop({ emit });
  const handsOf = (place: Place): Hands => (place.kind === 'browser' ? browser : desktop);

  /** The end of what was asked last of each place. */
  const lanes = new Map<string, Promise<unknown>>();
  /** Requests that run or wait at a place: a stop ends all that came before it. */
  const acting = new Map<string, Set<AbortController>>();

  function inLane<Result>(place: Place, work: () => Promise<Result>): Promise<Result> {
    const name = nameOf(place);
    const result = (lanes.get(name) ?? Promise.resolve()).then(work);
    const end = result.then(
      () => {},
      () => {},
    );
    lanes.set(name, end);
    void end.then(() => lanes.get(name) === end && lanes.delete(name));
    return result;
  }

  async function act(request: Act): Promise<ActedWith> {
    const { place, member } = request;
    const name = nameOf(place);
    const ends = new AbortController();
    const stoppable = acting.get(name) ?? new Set();
    acting.set(name, stoppable.add(ends));
    const ended = new Promise<never>((_, reject) => {
      ends.signal.addEventListener('abort', () => reject(ends.signal.reason), { once: true });
    });
    // Stopped before it began, nobody may be waiting for this one.
    ended.catch(() => {});
    const work = async (): Promise<ActedWith> => {
      ends.signal.throwIfAborted();
      const late = setTimeout(() => {
        const unknownEnd = memberOf(request.toolset, member)?.class !== 'observe';
        const message = `${member} did not end within ${request.timeoutMs} ms.`;
        ends.abort(new HandsFault('page', 'action_timeout', message, unknownEnd));
      }, request.timeoutMs);
      try {
        return await Promise.race([handsOf(place).act(request, ends.signal), ended]);
      } finally {
        clearTimeout(late);
      }
    };
    try {
      return await inLane(place, work);
    } finally {
      stoppable.delete(ends);
      if (stoppable.size === 0) acting.delete(name);
    }
  }

  async function stop(place: Place): Promise<Answer> {
    const fault = new HandsFault('page', 'cancelled', 'The action was stopped.', true);
    for (const ends of acting.get(nameOf(place)) ?? []) ends.abort(fault);
    await handsOf(place).letGo?.();
    return { ok: true };
  }

  async function answerTo(request: Request): Promise<{ answer: Answer; bytes?: Uint8Array }> {
    const session = (id: string): Place => ({ kind: 'browser', session: id });
    switch (request.do) {
      case 'open':
        await inLane(session(request.session), () => browser.open(request));
        return { answer: { ok: true } };
      case 'close':
        await inLane(session(request.session), () => browser.closeSession(request));
        return { answer: { ok: true } };
      case 'look':
        return {
          answer: { ok: true, looked: await inLane(request.place, () => handsOf(request.place).look(request)) },
        };
      case 'act': {
        const { bytes, ...acted } = await act(request);
        return { answer: { ok: true, acted }, ...(bytes === undefined ? {} : { bytes }) };
      }
      case 'watch':
        await handsOf(request.place).watch(request.place, request.fps);
        return { answer: { ok: true } };
      case 'record':
        return {
          answer: {
            ok: true,
            file: await handsOf(request.place).record(request.place, request.file, request.stop),
          },
        };
      case 'trace':
        return {
          answer: { ok: true, file: await inLane(session(request.session), () => browser.trace(request)) },
        };
      case 'host':
        questions.get(request.question)?.({ allow: request.allow, why: request.why });
        questions.delete(request.question);
        return { answer: { ok: true } };
      case 'stop':
        return { answer: await stop(request.place) };
    }
  }

  return {
    take({ id, size: _, ...request }) {
      answerTo(request as Request).then(
        ({ answer, bytes }) => send({ ...answer, id, size: bytes?.length ?? 0 } as AnswerHead, bytes),
        (error: unknown) => send({ ok: false, fault: faultOf(error), id, size: 0 } as AnswerHead),
      );
    },
    async close() {
      for (const answer of questions.values()) answer({ allow: false, why: 'The executor is ending.' });
      await Promise.allSettled([browser.close(), desktop.close()]);
    },
  };
}

function nameOf(place: Place): string {
  return place.kind === 'browser' ? `browser ${place.session}` : 'desktop';
}

function faultOf(error: unknown): Fault {
  if (error instanceof HandsFault) return error.fault;
  const message = error instanceof Error ? error.message : String(error);
  return { sort: 'page', code: 'script_failed', message: message.slice(0, 1000), unknownEnd: true };
}
