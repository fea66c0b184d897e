/**
 * Finds the runtime, makes it prove that it knows our token, and only then hands the token over: an unrelated program
 * that listens on the port learns nothing. The Unix socket comes first, because its folder is closed to other users.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type Client, createClient, type Fetch } from '../client/client.ts';
import { AppError } from '../contracts/common/errors.ts';
import { factoryRoutes } from '../contracts/factory/routes.ts';
import { dataFolder, type Places, placesIn } from '../host/places.ts';
import { readPrivateFile, readTokenFile } from '../kit/secrets/token-file.ts';
import type { CommandNames } from './command-name.ts';
import { createSocketFetch } from './unix-fetch.ts';

export type Env = Readonly<Record<string, string | undefined>>;
export type FactoryClient = Client<typeof factoryRoutes>;

export interface Connection {
  readonly factory: FactoryClient;
  /** Where the runtime was found: a socket path or an address. */
  readonly where: string;
  /** `bot` inside a bot's pane. */
  readonly as: 'owner' | 'bot';
  readonly token: string;
  readonly fetch: Fetch;
  readonly baseUrl: string;
}

interface Way {
  readonly baseUrl: string;
  readonly fetch: Fetch;
  readonly where: string;
}

export async function connect(env: Env, names: CommandNames): Promise<Connection> {
  const bot = env.GANTRY_TOKEN_FILE !== undefined && env.GANTRY_URL_FILE !== undefined;
  const places = placesIn(dataFolder(env));
  const ways = bot ? waysOf(urlIn(env.GANTRY_URL_FILE ?? ''), null) : ownerWays(places);
  const noEngine = async (cause?: unknown): Promise<AppError> => {
    // Only now: whether something runs is asked of a lock, which needs the database's module.
    const isCloud = !bot && (await import('./running.ts')).findRunning(env)?.listens !== undefined;
    if (isCloud) {
      const action = `Use this command on one of the paired computers; for the cloud itself see: ${names.gantry} admin --help`;
      return new AppError('transport', `A multi-user cloud is running in ${places.home}; it has no bots.`, action, {
        cause,
      });
    }
    return new AppError(
      'transport',
      `Gantry is not running for ${places.home}.`,
      bot ? 'Ask the person who started this team to start Gantry again.' : `Start it with: ${names.start}`,
      { cause },
    );
  };
  if (ways.length === 0) throw await noEngine();
  const token = await readToken(bot ? (env.GANTRY_TOKEN_FILE ?? '') : places.token, noEngine);
  let last: unknown;
  for (const way of ways) {
    try {
      await proveServer(way, token, bot);
    } catch (error) {
      if (error instanceof AppError && error.code === 'refused') throw error;
      last = error;
      continue;
    }
    const client = createClient(factoryRoutes, {
      ...way,
      token,
      ifGone: bot ? 'Try again in a moment.' : `If Gantry was stopped, start it with: ${names.start}`,
    });
    return { factory: client, as: bot ? 'bot' : 'owner', token, ...way };
  }
  throw await noEngine(last);
}

async function readToken(file: string, noEngine: (cause: unknown) => Promise<AppError>): Promise<string> {
  try {
    return readTokenFile(file);
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') throw await noEngine(error);
    throw error;
  }
}

function ownerWays(places: Places): Way[] {
  const url = urlIn(places.url);
  const socket = process.platform !== 'win32' && existsSync(places.engineSocket) ? places.engineSocket : null;
  return waysOf(url, socket);
}

/** The runtime removes the file when it stops. */
function urlIn(file: string): string | null {
  try {
    return readPrivateFile(file).trim();
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
}

/** `url` is `http://127.0.0.1:<port>` or `unix:<path>`. */
function waysOf(url: string | null, socket: string | null): Way[] {
  const ways: Way[] = [];
  const overSocket = (path: string): Way => ({
    baseUrl: 'http://localhost',
    fetch: createSocketFetch(path),
    where: path,
  });
  if (socket !== null) ways.push(overSocket(socket));
  if (url?.startsWith('unix:') === true) ways.push(overSocket(url.slice('unix:'.length)));
  else if (url !== null && url !== '')
    ways.push({ baseUrl: url, fetch: (input, init) => fetch(input, init), where: url });
  return ways;
}

/**
 * Challenge and HMAC. A bot's token is not the one the server proves with: for a bot the private URL file, which only its runtime
 * writes, stands for the server.
 */
async function proveServer(way: Way, token: string, bot: boolean): Promise<void> {
  const challenge = randomBytes(24).toString('base64url');
  const anonymous = createClient(factoryRoutes, { ...way });
  const signal = AbortSignal.timeout(5_000);
  const health = await anonymous.factoryHealth({ query: { c: challenge } }, { signal });
  if (bot) return;
  const expected = createHmac('sha256', token).update(challenge).digest();
  const given = Buffer.from(health.proof ?? '', 'hex');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new AppError(
      'refused',
      `The program at ${way.where} could not prove that it is your Gantry, so it was sent no token.`,
      'Stop the program that uses this address, then start Gantry again.',
    );
  }
}
