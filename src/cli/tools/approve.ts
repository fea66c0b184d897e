/**
 * `gantry tools approve`: lets an app in at the edge. Creates a key for one of its two servers, and prints the settings for the app. The key opens
 * only that server, as a token for it does.
 */
import { createClient } from '../../client/client.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { botIdMark, edgeAgents, edgePage } from '../../contracts/edge/routes.ts';
import { type Action, optionalText, text as textOf } from '../command.ts';
import { inCell } from '../words.ts';
import { findHome, makeKey } from './new-key.ts';

export const approve: Action = async (context, input) => {
  const name = textOf(input, 'name');
  const named = optionalText(input, 'bot');
  const home = await findHome(context);
  const { factory } = await context.connect();
  const bot = named === undefined ? null : await factory.getAgent({ params: { id: named } });
  // The local server forwards this to its home, whose edge may have a separate address.
  const about = await createClient([edgePage], {
    baseUrl: home.web,
    headers: { accept: 'application/json' },
    ifGone: `Start it with: ${context.names.start}`,
  }).edgePage();
  const server = about.servers.find((one) => one.name === (bot === null ? 'agents' : 'bots'));
  if (server === undefined) throw new AppError('internal', 'The edge lists no such server.', 'Update Gantry there.');
  const address = server.url.replace(botIdMark, bot?.id ?? '');
  const url = home.computerId === null ? address : `${address}?computer=${encodeURIComponent(home.computerId)}`;
  const resource = bot === null ? edgeAgents.path : `${edgeAgents.path}/bots/${bot.id}`;
  const { secret, ...key } = await makeKey(context, input, home, { name, scope: server.scope, resource });
  const headers = { Authorization: `Bearer ${secret}` };
  const config = { mcpServers: { gantry: { type: 'http', url, headers } } };
  context.output.result({ url, scope: server.scope, headers, config, key, bot: bot?.id ?? null }, () =>
    [
      `Paste this into ${JSON.stringify(name)}:`,
      '',
      `  Address  ${inCell(url)}`,
      `  Header   Authorization: ${headers.Authorization}`,
      '',
      'Or, if it reads a file of MCP servers:',
      '',
      JSON.stringify(config, null, 2),
      '',
      bot === null
        ? 'It can read all your bots, their messages, runs and boards, and subscribe to their events. It can change nothing.'
        : `It can write to ${bot.address}, read its runs and subscribe to its events.`,
      'The key opens only this address and is shown only once. Anyone who has it can do the same; revoke it under Settings → API keys.',
    ].join('\n'),
  );
  return undefined;
};
