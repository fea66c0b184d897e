/** `gantry open`: a new one-time address from the Gantry that runs here. */
import { createClient } from '../../client/client.ts';
import { identityRoutes } from '../../contracts/identity/routes.ts';
import { type Action, optionalFlag } from '../command.ts';
import { webAddress } from '../running.ts';
import { openBrowser } from '../start/browser.ts';
import { hereAndNow, overSsh, sshLine } from '../start/surroundings.ts';

export const open: Action = async (context, input) => {
  const baseUrl = webAddress(context.env, context.names);
  // The engine proved itself, and the address stands in a private file that only its process writes while it holds the lock.
  const { token } = await context.connect();
  const identity = createClient(identityRoutes, {
    baseUrl,
    token,
    ifGone: `Start it with: ${context.names.start}`,
  });
  const code = await identity.createOpenCode({ body: {} });
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
