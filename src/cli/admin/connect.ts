/**
 * Credentials of the administrator: on the server's own machine the service token in its data folder, from elsewhere a key with the scope admin. The
 * local server must hold that folder's lock, so that no other program gets the token.
 */
import { type Client, createClient, type Fetch } from '../../client/client.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { poolRoutes } from '../../contracts/hosted-computers/admin.ts';
import { hostRoutes } from '../../contracts/hosted-computers/hosts.ts';
import { adminRoutes } from '../../contracts/identity/admin.ts';
import { dataFolder, placesIn } from '../../host/places.ts';
import { readTokenFile } from '../../kit/secrets/token-file.ts';
import { type Context, type Input, optionalText } from '../command.ts';
import { verbsOf } from '../route-verb.ts';
import { findRunning } from '../running.ts';
import { createFetchTo } from '../unix-fetch.ts';

const routes = [...adminRoutes, ...poolRoutes, ...hostRoutes] as const;
type AdminClient = Client<typeof routes>;

/** A verb of the administrator. */
export const adminVerb = verbsOf(routes, connectAdmin);

/** Where plain http is read by nobody else. */
const thisMachine = new Set(['127.0.0.1', 'localhost', '[::1]']);

export function connectAdmin(context: Context, input: Input): AdminClient {
  const url = optionalText(input, 'url');
  return url === undefined ? here(context) : elsewhere(context, url);
}

function here({ env, names }: Context): AdminClient {
  const running = findRunning(env);
  const address = running?.address ?? null;
  if (address === null) {
    throw new AppError(
      'transport',
      `Gantry is not running for ${dataFolder(env)}.`,
      `Start one with ${names.gantry} cloud or ${names.start}, set GANTRY_HOME, or name another with --url.`,
    );
  }
  const listens = running?.listens;
  return createClient(routes, {
    baseUrl: address,
    token: readTokenFile(placesIn(dataFolder(env)).internalToken),
    fetch: listens === undefined ? undefined : directly(address, listens),
    ifGone: 'Check that it is still running.',
  });
}

function elsewhere({ env }: Context, url: string): AdminClient {
  const file = env.GANTRY_KEY_FILE;
  if (file === undefined || file === '') {
    throw new AppError(
      'usage',
      'There is no key for that server.',
      'Put a key with the scope admin into a file only you can read, and set GANTRY_KEY_FILE to its path.',
    );
  }
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const near = parsed?.protocol === 'http:' && thisMachine.has(parsed.hostname);
  // What stands before an @ is no host, though it may look like one.
  if (parsed === null || parsed.username !== '' || !(near || parsed.protocol === 'https:')) {
    throw new AppError('usage', `${JSON.stringify(url)} is not the address of a Gantry.`, 'Give an https address.');
  }
  return createClient(routes, { baseUrl: parsed.origin, token: readTokenFile(file) });
}

/** Behind its public address, where a proxy stands that this machine may not reach. */
function directly(address: string, listens: string): Fetch {
  const [, host = '', port] = /^(.*):(\d+)$/.exec(listens) ?? [];
  const bare = host.replace(/^\[|\]$/g, '');
  const reachable = bare === '0.0.0.0' ? '127.0.0.1' : bare === '::' ? '::1' : bare;
  return createFetchTo({ host: reachable, port: Number(port) }, new URL(address).host);
}
