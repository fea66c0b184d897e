/**
 * One bot's pane, wherever it runs. A bot that was started on another computer is reached there, through that computer's peer
 * routes and the home cloud, not through the computer its team belongs to. Must not know terminals.
 */
import type { CallOptions, EventStream, StreamHandlers } from '../../../client/client.ts';
import type { Agent, PaneInput, PaneSize, Screen, Scrollback } from '../../../contracts/factory/agent.ts';
import type { Api } from '../../base/data/api.ts';

export interface PanePort {
  stream(handlers: StreamHandlers): EventStream;
  screen(options?: CallOptions): Promise<Screen>;
  input(input: PaneInput): Promise<unknown>;
  size(size: PaneSize): Promise<unknown>;
  scrollback(from: { readonly lines: number; readonly before?: number }, options?: CallOptions): Promise<Scrollback>;
}

export type PaneOwner = Pick<Agent, 'id' | 'address' | 'machine' | 'runner'>;

export function panePortOf(api: Pick<Api, 'factory' | 'peerOf'>, bot: PaneOwner): PanePort {
  if (bot.runner !== 'local') {
    const peer = api.peerOf(bot.machine);
    const to = bot.address;
    return {
      stream: (handlers) => peer.peerStream({ query: { to } }, handlers),
      screen: (options) => peer.peerScreen({ query: { to } }, options),
      input: (input) => peer.peerInput({ body: { ...input, to } }),
      size: (size) => peer.peerSize({ body: { ...size, to } }),
      scrollback: (from, options) => peer.peerScrollback({ query: { ...from, to } }, options),
    };
  }
  const { factory } = api;
  const params = { id: bot.id };
  return {
    stream: (handlers) => factory.agentStream({ params }, handlers),
    screen: (options) => factory.agentScreen({ params }, options),
    input: (input) => factory.agentInput({ params, body: input }),
    size: (size) => factory.agentSize({ params, body: size }),
    scrollback: (query, options) => factory.agentScrollback({ params, query }, options),
  };
}
