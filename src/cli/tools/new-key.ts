/** A key for one of the person's programs, and where it finds Gantry: at home while this computer is paired. Must not know its purpose. */
import { createClient } from '../../client/client.ts';
import { AppError } from '../../contracts/common/errors.ts';
import type { Scope } from '../../contracts/common/route.ts';
import { createKey, type KeyTools } from '../../contracts/identity/keys.ts';
import { readLocalPairing } from '../../contracts/link/local-pairing.ts';
import { type Context, flag, type Input, integer, words } from '../command.ts';
import { webAddress } from '../running.ts';

interface Home {
  /** The web interface of this computer. */
  readonly web: string;
  /** Where keys are known: the same, or the cloud that it is paired with. */
  readonly origin: string;
  /** How that cloud calls this computer; null at its own server, which needs no name for it. */
  readonly computerId: string | null;
}

interface WantedKey {
  readonly name: string;
  readonly scope: Scope;
  /** The one address that it is to open. */
  readonly resource?: string;
  /** The only tools that it is to have. */
  readonly tools?: KeyTools;
}

interface NewKey {
  /** Null: it was a dry run. */
  readonly id: string | null;
  readonly name: string;
  readonly secret: string;
}

const maxLifeDays = 3650;
const placeholder = '<a new API key>';

/** Throws `refused` for a bot, and `transport` when nothing runs. */
export async function findHome(context: Context): Promise<Home> {
  const { baseUrl, fetch, where, token, as } = await context.connect();
  if (as === 'bot') {
    throw new AppError('refused', 'A bot cannot make keys.', 'Ask your person: it needs their sign-in.');
  }
  const web = webAddress(context.env, context.names);
  const pairing = createClient([readLocalPairing], { baseUrl, fetch, where, token });
  const { state, cloudUrl, computerId } = await pairing.readLocalPairing();
  if (state !== 'paired' || cloudUrl === undefined) return { web, origin: web, computerId: null };
  return { web, origin: cloudUrl, computerId: computerId ?? null };
}

/** `--days` and `--dry-run` are read here. */
export async function makeKey(context: Context, input: Input, home: Home, wanted: WantedKey): Promise<NewKey> {
  const { name, scope, resource, tools } = wanted;
  const days = integer(input, 'days', 1, maxLifeDays);
  if (flag(input, 'dryRun')) return { id: null, name, secret: placeholder };
  const { token } = await context.connect();
  const ifGone = `Start it with: ${context.names.start}`;
  const keys = createClient([createKey], { baseUrl: home.web, token, ifGone });
  const more = {
    ...(days === undefined ? {} : { expiresInDays: days }),
    ...(resource === undefined ? {} : { resource }),
    ...(tools === undefined ? {} : { tools }),
  };
  const { key, secret } = await keys.createKey({ body: { name, scopes: [scope], ...more } });
  return { id: key.id, name: key.name, secret };
}

/** `--tools` and `--search`. Undefined: all tools. */
export function toolsIn(input: Input): KeyTools | undefined {
  const names = words(input, 'tools')
    .flatMap((each) => each.split(/[\s,]+/))
    .filter((each) => each !== '');
  const search = flag(input, 'search');
  if (names.length > 0) return { names, ...(search ? { search } : {}) };
  if (!search) return undefined;
  throw new AppError('usage', '--search needs --tools.', "For all tools, use --tools '*' --search.");
}
