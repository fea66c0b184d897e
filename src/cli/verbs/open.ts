/** `gantry open`: a new one-time address from the Gantry that runs here, of its first page or of what is named. */
import { createClient } from '../../client/client.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { identityRoutes } from '../../contracts/identity/routes.ts';
import { type Action, type Context, optionalFlag, optionalText } from '../command.ts';
import { pages } from '../pages.ts';
import { webAddress } from '../running.ts';
import { openBrowser } from '../start/browser.ts';
import { hereAndNow, overSsh, sshLine } from '../start/surroundings.ts';

export const open: Action = async (context, input) => {
  const baseUrl = webAddress(context.env, context.names);
  // The runtime proved itself, and the address stands in a private file that only its process writes while it holds the lock.
  const { token } = await context.connect();
  const thing = optionalText(input, 'thing');
  const next = thing === undefined ? undefined : await pageOf(context, thing);
  const identity = createClient(identityRoutes, {
    baseUrl,
    token,
    ifGone: `Start it with: ${context.names.start}`,
  });
  const code = await identity.createOpenCode({ body: next === undefined ? {} : { next } });
  const place = hereAndNow(context.env);
  let opened = false;
  if (optionalFlag(input, 'open') !== false && context.terminal.stdout.isTTY === true) {
    opened = (await openBrowser(code.url, place)) === null;
  }
  const port = Number(new URL(code.url).port);
  context.output.result({ ...code, opened }, () =>
    [
      code.url,
      'Valid once, for ten minutes.',
      ...(overSsh(place) ? [`First, on your own computer: ${sshLine(place, port)}`] : []),
    ].join('\n'),
  );
  return undefined;
};

/** The page that shows a thing; a page's own name wins over a team's. `not_found` when nothing is called so. */
async function pageOf(context: Context, thing: string): Promise<string> {
  const word = thing.toLowerCase();
  if (word === 'home') return '/';
  if (pages.includes(word)) return `/${word}`;
  const { factory } = await context.connect();
  const { agents } = await factory.listAgents();
  const bot = agents.filter((one) => one.id === thing || one.address === thing || one.slug === thing);
  if (bot.length === 1) return `/floor?${new URLSearchParams({ bot: bot[0]!.id })}`;
  if (bot.length === 0 && agents.some((one) => one.team === thing)) {
    return `/floor?${new URLSearchParams({ filter: thing })}`;
  }
  if (bot.length > 1) {
    const addresses = bot.map((one) => one.address).join(', ');
    throw new AppError('usage', `Several bots are called ${thing}: ${addresses}.`, 'Give the full address.');
  }
  try {
    const { dagId } = await factory.getFlow({ params: { dagId: thing } });
    return `/work?${new URLSearchParams({ dag: dagId, view: 'graph' })}`;
  } catch (error) {
    if (!(error instanceof AppError && (error.code === 'not_found' || error.code === 'usage'))) throw error;
  }
  throw new AppError(
    'not_found',
    `No bot, team, run or page is called ${JSON.stringify(thing)}.`,
    `Pages: ${pages.join(', ')}. Bots and teams: ${context.names.gantry} agents ls`,
  );
}
