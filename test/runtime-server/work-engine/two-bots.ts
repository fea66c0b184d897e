/** A shared engine with a team of two idle shells, and ways to call it as each of them. */
import { beforeAll } from 'vitest';
import { type Answer, type Engine, sharedEngine } from '../engine.ts';
import { startShells } from '../shells.ts';

export interface Bot {
  readonly address: string;
  readonly id: string;
  readonly token: string;
}

export interface TwoBots {
  readonly engine: Engine;
  readonly a: Bot;
  readonly b: Bot;
  /** As a bot, or as the person without one. */
  call<T>(
    method: string,
    path: string,
    body?: unknown,
    bot?: Bot,
    headers?: Record<string, string>,
  ): Promise<Answer<T>>;
}

export function twoBots(): TwoBots {
  const shared = sharedEngine();
  let bots: readonly [Bot, Bot];
  beforeAll(async () => {
    const engine = shared.current;
    const team = await startShells(engine, 'a', 'b');
    const bot = async (slug: string): Promise<Bot> => {
      const address = `${slug}@${team}`;
      return { address, id: (await engine.agent(address)).id, token: await engine.botToken(address) };
    };
    bots = [await bot('a'), await bot('b')];
  });
  return {
    get engine() {
      return shared.current;
    },
    get a() {
      return bots[0];
    },
    get b() {
      return bots[1];
    },
    call: (method, path, body, bot, headers) =>
      shared.current.call(method, path, body, {
        ...(bot === undefined ? {} : { token: bot.token }),
        ...(headers === undefined ? {} : { headers }),
      }),
  };
}
