/**
 * `gantry agents attach`: a bot's terminal in the person's own. Screens are drawn as they come, keys are sent in order. However it
 * ends, the person's terminal is as it was before.
 */
import { StringDecoder } from 'node:string_decoder';
import { AppError } from '../../contracts/common/errors.ts';
import { type Agent, Screen } from '../../contracts/factory/agent.ts';
import type { Window } from '../attach/draw.ts';
import { readTyped } from '../attach/typed.ts';
import { createTyping } from '../attach/typing.ts';
import { createViewer } from '../attach/viewer.ts';
import { type Action, type Context, flag, text } from '../command.ts';
import type { FactoryClient } from '../connect.ts';
import { asAppError } from '../output.ts';
import { findAgent } from './find-agent.ts';

const signals = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;

export const attach: Action = async (context, input) => {
  const { stdin, stdout } = context.terminal;
  const instead = `Use: ${context.names.gantry} agents screen <bot>`;
  if (context.output.json) {
    throw new AppError('usage', 'attach draws on a terminal and has no JSON output.', `${instead} --json`);
  }
  if (stdin.isTTY !== true || stdout.isTTY !== true) {
    throw new AppError('usage', 'attach needs a terminal on stdin and stdout.', instead);
  }
  const { factory } = await context.connect();
  const agent = await findAgent(factory, text(input, 'bot'), context.names);
  // Says "no live terminal" before anything is drawn.
  await factory.agentScreen({ params: { id: agent.id } });
  const outcome = await view(context, factory, agent, flag(input, 'watch'));
  if (outcome instanceof AppError) throw outcome;
  context.output.note(
    outcome === null ? `Detached from ${agent.address}; it keeps running.` : `${agent.address}: ${outcome}`,
  );
  return undefined;
};

/** Resolves with why the pane is gone, with the error that ended it, or with null when the person let go. */
async function view(
  context: Context,
  factory: FactoryClient,
  agent: Agent,
  watchOnly: boolean,
): Promise<string | AppError | null> {
  const { stdin, stdout } = context.terminal;
  const params = { id: agent.id };
  const { promise: ended, resolve } = Promise.withResolvers<string | AppError | null>();
  let over = false;
  const end = (outcome: string | AppError | null): void => {
    over = true;
    resolve(outcome);
  };

  let trouble: string | null = null;
  const window = (): Window => ({ cols: stdout.columns || 80, rows: stdout.rows || 24 });
  const viewer = createViewer({
    stdout,
    window,
    status: () => ` ${agent.address} · ${trouble ?? (watchOnly ? 'watching' : 'attached')} · Ctrl-] detaches`,
  });
  const setTrouble = (next: string | null): void => {
    if (next === trouble) return;
    trouble = next;
    viewer.refresh();
  };
  const typing = createTyping({
    send: (body) => factory.agentInput({ params, body }),
    onTrouble: (error) => setTrouble(error === null ? null : asAppError(error).fact.replace(/\.$/, '')),
    isOver: () => over,
  });
  const takeSize = (): void => {
    viewer.resized();
    if (watchOnly) return;
    const { cols, rows } = window();
    // A size that was not taken is no reason to end: the pane is then drawn in its own.
    factory.agentSize({ params, body: { cols: Math.max(2, cols), rows: Math.max(2, rows - 1) } }).catch(() => {});
  };
  const decoder = new StringDecoder('utf8');
  const onData = (data: Buffer): void => {
    const typed = readTyped(decoder.write(data));
    if (!watchOnly) typing.add(typed.inputs);
    if (typed.letGo) end(null);
  };
  const onSignal = (): void => end(null);
  const restore = (): void => {
    stdin.setRawMode(false);
    viewer.leave();
  };

  stdin.setRawMode(true);
  viewer.enter();
  process.on('exit', restore);
  for (const signal of signals) process.on(signal, onSignal);
  stdin.on('data', onData);
  stdout.on('resize', takeSize);
  takeSize();
  const stream = factory.agentStream(
    { params },
    {
      onEvent(event) {
        if (event.event === 'gone') return end(reasonOf(event.data));
        const screen = Screen.safeParse(event.data);
        if (screen.success) viewer.show(screen.data);
      },
      onState(state) {
        if (state.kind === 'waiting') setTrouble(`${state.error.fact} Retrying`);
        else if (state.kind === 'open') setTrouble(null);
        else if (state.kind === 'ended' && state.error !== null) end(state.error);
      },
    },
  );
  const outcome = await ended;
  stream.close();
  restore();
  process.off('exit', restore);
  for (const signal of signals) process.off(signal, onSignal);
  stdin.off('data', onData);
  stdin.pause();
  stdout.off('resize', takeSize);
  return outcome;
}

function reasonOf(data: unknown): string {
  const { reason } = (data ?? {}) as { reason?: unknown };
  return typeof reason === 'string' ? reason : 'its terminal closed';
}
