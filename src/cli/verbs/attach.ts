/**
 * `gantry agents attach`: a bot's terminal in the person's own. Screens are drawn as they come, keys are sent in order, one request
 * at a time. However it ends, the person's terminal is as it was before.
 */
import { StringDecoder } from 'node:string_decoder';
import { AppError } from '../../contracts/common/errors.ts';
import { type PaneInput, Screen } from '../../contracts/factory/agent.ts';
import { createPainter, type Window } from '../attach/draw.ts';
import { joinInputs, readTyped } from '../attach/typed.ts';
import { type Action, flag, text } from '../command.ts';
import { asAppError } from '../output.ts';
import { findAgent } from './find-agent.ts';

/** Alternate screen on and cleared; bracketed paste stays off: what is pasted arrives as typed. */
const enter = '\x1b[?1049h\x1b[2J\x1b[H';
const leave = '\x1b[0m\x1b[?25h\x1b[?1049l';

export const attach: Action = async (context, input) => {
  const { stdin, stdout } = context.terminal;
  if (context.output.json) {
    throw new AppError(
      'usage',
      'attach draws on a terminal and has no JSON document.',
      `Use: ${context.names.gantry} agents screen <bot> --json`,
    );
  }
  if (stdin.isTTY !== true || stdout.isTTY !== true) {
    throw new AppError(
      'usage',
      'attach needs a terminal on stdin and stdout.',
      `Use: ${context.names.gantry} agents screen <bot>`,
    );
  }
  const watchOnly = flag(input, 'watch');
  const { factory } = await context.connect();
  const agent = await findAgent(factory, text(input, 'bot'), context.names);
  const params = { id: agent.id };
  // Says "no live terminal" before anything is drawn.
  await factory.agentScreen({ params });

  const painter = createPainter();
  const window = (): Window => ({ cols: stdout.columns || 80, rows: stdout.rows || 24 });
  let trouble: string | null = null;
  let latest: Screen | null = null;
  let painting = false;
  let over = false;
  let finish: (outcome: { gone: string } | { error: AppError } | { left: true }) => void = () => {};
  const outcome = new Promise<{ gone: string } | { error: AppError } | { left: true }>((resolve) => {
    finish = (result) => {
      over = true;
      resolve(result);
    };
  });

  const status = (): string => {
    const state = trouble ?? (watchOnly ? 'watching' : 'attached');
    return ` ${agent.address} · ${state} · Ctrl-] lets go`;
  };
  // Latest only: while one screen is being drawn, newer ones replace each other.
  const paint = async (): Promise<void> => {
    if (painting || over) return;
    painting = true;
    while (latest !== null && !over) {
      const screen: Screen = latest;
      latest = null;
      const bytes = await painter.paint(screen, window(), status());
      last = screen;
      if (!over && !stdout.write(bytes)) await new Promise((resolve) => stdout.once('drain', resolve));
    }
    painting = false;
  };
  let last: Screen | null = null;
  const again = (): void => {
    latest ??= last;
    void paint();
  };

  const takeSize = async (): Promise<void> => {
    painter.reset();
    if (!over) stdout.write('\x1b[2J');
    if (!watchOnly) {
      const { cols, rows } = window();
      await factory
        .agentSize({ params, body: { cols: Math.max(2, cols), rows: Math.max(2, rows - 1) } })
        .catch(() => {});
    }
    again();
  };

  const waiting: PaneInput[] = [];
  let sending = false;
  const sendTyped = async (): Promise<void> => {
    if (sending) return;
    sending = true;
    while (waiting.length > 0 && !over) {
      const [next, ...rest] = joinInputs(waiting.splice(0));
      waiting.unshift(...rest);
      if (next === undefined) continue;
      try {
        await factory.agentInput({ params, body: next });
        if (trouble !== null) {
          trouble = null;
          again();
        }
      } catch (error) {
        trouble = oneSentence(asAppError(error));
        again();
      }
    }
    sending = false;
  };

  const decoder = new StringDecoder('utf8');
  const onData = (data: Buffer): void => {
    const typed = readTyped(decoder.write(data));
    if (!watchOnly) {
      waiting.push(...typed.inputs);
      void sendTyped();
    }
    if (typed.letGo) finish({ left: true });
  };
  const onResize = (): void => void takeSize();
  const onSignal = (): void => finish({ left: true });
  const restore = (): void => {
    stdin.setRawMode(false);
    stdout.write(leave);
  };

  stdin.setRawMode(true);
  process.on('exit', restore);
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) process.on(signal, onSignal);
  try {
    stdout.write(enter);
    stdin.on('data', onData);
    stdin.resume();
    stdout.on('resize', onResize);
    void takeSize();
    const stream = factory.agentStream(
      { params },
      {
        onEvent(event) {
          if (event.event === 'gone') {
            const reason = (event.data as { reason?: unknown }).reason;
            finish({ gone: typeof reason === 'string' ? reason : 'the terminal closed' });
            return;
          }
          const screen = Screen.safeParse(event.data);
          if (!screen.success) return;
          latest = screen.data;
          void paint();
        },
        onState(state) {
          if (state.kind === 'waiting') {
            trouble = `${state.error.fact} Trying again`;
            again();
          } else if (state.kind === 'open' && trouble !== null) {
            trouble = null;
            again();
          } else if (state.kind === 'ended' && state.error !== null) finish({ error: state.error });
        },
      },
    );
    const ended = await outcome;
    stream.close();
    restore();
    if ('error' in ended) throw ended.error;
    context.output.note(
      'gone' in ended ? `${agent.address}: ${ended.gone}` : `Let go of ${agent.address}; it goes on.`,
    );
  } finally {
    process.off('exit', restore);
    for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) process.off(signal, onSignal);
    stdin.off('data', onData);
    stdout.off('resize', onResize);
    stdin.pause();
    if (!over) restore();
  }
  return undefined;
};

function oneSentence(error: AppError): string {
  return error.fact.replace(/\.$/, '');
}
