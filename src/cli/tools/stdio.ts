/**
 * `gantry tools stdio`: this computer's tool server for clients that can only start programs. The token is read at run time, so no client's file
 * holds one; a restarted runtime is found again.
 */
import { createInterface } from 'node:readline';
import { mcpServer } from '../../contracts/tool-server/mcp.ts';
import { type Action, flag } from '../command.ts';
import { type Connection, connect } from '../connect.ts';
import { createBridge, type Reply } from './bridge.ts';

export const stdio: Action = async (context, input) => {
  const { stdin, stdout } = context.terminal;
  const path = flag(input, 'dotted') ? mcpServer.path : `${mcpServer.path}?names=safe`;
  let connection: Promise<Connection> | null = null;

  async function post(body: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Reply> {
    connection ??= connect(context.env, context.names);
    const asked = connection;
    try {
      const { baseUrl, fetch, token } = await asked;
      const response = await fetch(`${baseUrl}${path}`, {
        method: 'POST',
        headers: { ...headers, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
        signal,
      });
      return { status: response.status, text: await response.text() };
    } catch (thrown) {
      if (!signal.aborted && connection === asked) connection = null;
      throw thrown;
    }
  }

  const bridge = createBridge({ post, write: (line) => void stdout.write(`${line}\n`) });
  const running = new Set<Promise<void>>();
  for await (const line of createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    const taken: Promise<void> = bridge.take(line).finally(() => running.delete(taken));
    running.add(taken);
  }
  await Promise.all(running);
  return undefined;
};
