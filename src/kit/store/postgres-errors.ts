/** The meaning of PostgreSQL's refusals for a person, and which of them are temporary. First user: the store; second: its start. */
import pg from 'pg';
import { AppError } from '../../contracts/common/errors.ts';

/** Five characters; empty for errors that PostgreSQL did not send. */
export function postgresCode(error: unknown): string {
  return error instanceof pg.DatabaseError ? (error.code ?? '') : '';
}

/** Another operation interfered: run again, it may succeed. Deadlocks and lost races. */
export function isInTheWay(error: unknown): boolean {
  return ['40001', '40P01'].includes(postgresCode(error));
}

const wentAway = ['57P01', '57P02', '57P03', '57P05', '25P03', '08000', '08003', '08006', '25006'];

/** This connection is unusable, but another may work: the server ended it, or it was made before the schema changed. */
export function isLost(error: unknown): boolean {
  const code = postgresCode(error);
  if (wentAway.includes(code)) return true;
  if (code !== '') return code === '0A000' && /cached plan/.test((error as Error).message);
  return isOfTheLine(error);
}

const lineCodes = /^(E(CONN|PIPE|HOST|NET|TIMEDOUT|AI_|ADDR)|ENOENT|ENOTFOUND)/;

function isOfTheLine(error: unknown): boolean {
  const { code, message = '' } = error as { code?: unknown; message?: string };
  if (error instanceof AggregateError) return error.errors.some(isOfTheLine);
  if (typeof code === 'string' && lineCodes.test(code)) return true;
  return /^(Connection terminated|timeout exceeded|Query read timeout|Client (was closed|has encountered))/i.test(
    message,
  );
}

/** The server, the database or the role has as many open connections as it allows. */
export const tooMany = '53300';

/** The database cannot do it now: no room, too many connections, too slow. Nothing was kept. */
const refusals: Readonly<Record<string, readonly [fact: string, action: string]>> = {
  '53100': ['has no space left', 'Free some space: Gantry then continues automatically.'],
  '53200': ['has no memory left', 'Give it more: Gantry then continues automatically.'],
  [tooMany]: ['accepts no more connections', 'Raise max_connections, or start fewer replicas.'],
  '57014': ['did not answer in time', 'Check its load, then try again.'],
  '55P03': ['is busy with the same rows', 'Try again.'],
};

/** The error for callers, who need not know where the database is. */
export const database = 'The database';

/**
 * The error for a caller: `transport` for a temporary one, the fault itself for an error of the operation. `where` names the database to the person
 * who starts Gantry.
 */
export function asAppError(error: unknown, where: string = database): unknown {
  if (error instanceof AppError) return error;
  const known = refusals[postgresCode(error)];
  if (known !== undefined) return new AppError('transport', `${where} ${known[0]}.`, known[1], { cause: error });
  if (postgresCode(error) === '22021') {
    return new AppError('usage', 'A text has a character that cannot be stored (NUL).', 'Leave it out.', {
      wireCode: 'bad_request',
      cause: error,
    });
  }
  if (isInTheWay(error)) {
    return new AppError('transport', `${where} was too busy for this change.`, 'Try again.', { cause: error });
  }
  return isLost(error) ? away(error) : error;
}

/** It cannot be reached, or refuses the login: for callers, who can only wait. {@link awayBecause} says more. */
export function away(error: unknown): AppError {
  return new AppError('transport', `${database} cannot be reached.`, 'Try again: Gantry continues once it is back.', {
    cause: error,
  });
}

/** For the log, and the person who starts Gantry. */
export function awayBecause(error: unknown, where: string): string {
  const why = error instanceof AggregateError ? (error.errors[0] as Error).message : (error as Error).message;
  return `${where} cannot be reached (${why}).`;
}

/** At the start of the program, which ends with it: the action fits the error. */
export function notReached(error: unknown, where: string): AppError {
  return new AppError('transport', awayBecause(error, where), actionFor(error), { cause: error });
}

/** By the code of PostgreSQL, of the system or of TLS; the first match counts. */
const actions: readonly (readonly [RegExp, string])[] = [
  [/^28/, 'Check the user and password in DATABASE_URL, and who pg_hba.conf lets in.'],
  [/^3D000/, 'Create the database, or correct its name at the end of DATABASE_URL.'],
  [/^57P03/, 'Wait until it has started, then start Gantry again.'],
  [/^53300/, 'Raise its max_connections, or start fewer replicas.'],
  [/^(ENOTFOUND|EAI_)/, 'Correct the host name in DATABASE_URL.'],
  [/^ECONNREFUSED/, 'Start PostgreSQL there, or correct host and port in DATABASE_URL.'],
  [/^ENOENT/, 'Start PostgreSQL there, or correct the folder of its socket in DATABASE_URL.'],
  [/CERT|ISSUER|SIGNATURE|^ERR_TLS/, 'Name its CA file with sslrootcert, and its host as in its certificate.'],
  [/does not support SSL/, 'Turn TLS on there, or leave sslmode out of DATABASE_URL on a trusted network.'],
];

function actionFor(error: unknown): string {
  const one = (error instanceof AggregateError ? error.errors[0] : error) as { code?: unknown; message?: string };
  const code = typeof one.code === 'string' ? one.code : (one.message ?? '');
  const known = actions.find(([pattern]) => pattern.test(code));
  return known?.[1] ?? 'Check host and port in DATABASE_URL, and the network between, then start Gantry again.';
}
