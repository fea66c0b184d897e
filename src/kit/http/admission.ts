/**
 * Whom a route lets in: checks the credential, then whether its person may act at all, then kind and scope. Owns the errors for refused callers.
 * First user: the dispatcher. Must not know areas, bodies or answers.
 */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import type { PrincipalKind, Route } from '../../contracts/common/route.ts';
import type { Limits } from './limits.ts';
import { surfaceOf } from './principals.ts';
import type { Authenticator, Before, Principal } from './types.ts';

export interface AdmissionOptions {
  /** Tried in order; the first that knows the credential decides. */
  readonly authenticators: readonly Authenticator[];
  /** Whether this user may act at all, whatever the authentication; default: everybody. */
  readonly admits?: (userId: string) => boolean | Promise<boolean>;
  /** Where a client reads who issues tokens for a path (RFC 9728); null if nobody does. */
  readonly metadataUrl?: (path: string) => string | null;
}

/** The parts of a route that decide. */
export interface Gate {
  readonly route: Route;
  readonly kinds: ReadonlySet<PrincipalKind>;
  /** Public: needs no credential. */
  readonly onlyPublic: boolean;
  readonly before?: Before | undefined;
}

interface Admission {
  /** Throws 401, 403, or 429 after too many bad credentials. */
  admit(gate: Gate, request: IncomingMessage, params: Readonly<Record<string, string | undefined>>): Promise<Principal>;
  /** Tells a client how to get a token, or a better one (RFC 6750, 3; RFC 9728, 5.1). */
  challenge(
    error: AppError,
    route: Route,
    path: string,
    request: Pick<IncomingMessage, 'headers'>,
  ): Readonly<Record<string, string>> | undefined;
}

const anyone: Principal = { kind: 'public', userId: '', scopes: new Set(), via: 'nobody' };

export function createAdmission(options: AdmissionOptions & { readonly limits: Limits }): Admission {
  const { authenticators, limits } = options;

  async function authenticate({ kinds }: Gate, request: IncomingMessage): Promise<Principal> {
    try {
      for (const authenticator of authenticators) {
        const pending = authenticator.authenticate(request);
        const principal = pending instanceof Promise ? await pending : pending;
        if (principal !== null) return principal;
      }
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.status === 401) throw await limits.failed(request, thrown);
      throw thrown;
    }
    if (request.headers.authorization !== undefined) {
      throw await limits.failed(request, unknown('The credential is not valid here.', 'Send a valid one.'));
    }
    if (kinds.has('public')) return anyone;
    throw unknown('The request carries no credential.', 'Sign in, or send a bearer token.');
  }

  return {
    async admit(gate, request, params) {
      const principal = gate.onlyPublic ? anyone : await authenticate(gate, request);
      const { kind, userId } = principal;
      if (request.headers['x-platform-user-id'] !== undefined && kind !== 'link' && kind !== 'internal') {
        throw new AppError('refused', 'x-platform-user-id is not for outside callers.', 'Leave the header out.');
      }
      // A person who is shut out is refused whatever credential they have.
      const admitted = userId === '' || options.admits === undefined || options.admits(userId);
      if (admitted !== true && !(await admitted)) throw shutOut();
      checkKind(gate.route, principal);
      await gate.before?.(principal, { request, params });
      checkScope(gate.route, principal);
      return principal;
    },
    challenge(error, route, path, { headers }) {
      const lacksScope = error.options.wireCode === 'insufficient_scope' && route.scope !== null;
      if (error.status !== 401 && !lacksScope) return undefined;
      const parts = ['Bearer realm="gantry"'];
      const url = options.metadataUrl?.(path) ?? null;
      if (url !== null) parts.push(`resource_metadata="${url}"`);
      // Without it a client takes a token that was refused for one that never arrived, and sends it again.
      const sentToken = /^bearer /i.test(headers.authorization ?? '');
      if (lacksScope) parts.push('error="insufficient_scope"');
      else if (sentToken) parts.push('error="invalid_token"');
      if (route.scope !== null && route.scope !== 'any') parts.push(`scope="${route.scope}"`);
      return { 'www-authenticate': parts.join(', ') };
    },
  };
}

/** The credential of each kind of caller, in a person's words. */
const credentials: Readonly<Record<PrincipalKind, string>> = {
  public: 'A request without a credential',
  owner: 'The token of this computer’s owner',
  user: 'A sign-in',
  key: 'An API key',
  bot: 'A bot’s token',
  device: 'A computer’s signature',
  peer: 'The ticket of another computer',
  link: 'A link',
  internal: 'The internal service token',
  cluster: 'The certificate of a cluster’s API server',
};

/** Who asks behind a link: a key or a bot has no more rights there than in front of it. */
const behindLink: Readonly<Record<string, Principal['kind']>> = { 'link:key': 'key', 'link:bot': 'bot' };

/** Whether this caller may use this route at all. Throws if not. */
export function checkCaller(route: Route, principal: Principal): void {
  checkKind(route, principal);
  checkScope(route, principal);
}

function checkKind(route: Route, principal: Principal): void {
  const asking = behindLink[principal.via] ?? principal.kind;
  if (route.auth.includes(principal.kind) && route.auth.includes(asking)) return;
  const fact = `${credentials[asking]} is not enough to ${route.method} ${route.path}.`;
  throw new AppError('refused', fact, 'Ask the owner to do it.', { wireCode: 'forbidden' });
}

/** Scope is checked for every kind whose rights are scopes; a person in person has them all. */
function checkScope(route: Route, principal: Principal): void {
  if (route.scope === 'any') return;
  if (principal.kind === 'public') return;
  const counted = ['key', 'oidc'].includes(surfaceOf(principal));
  if (route.scope === null ? counted : !principal.scopes.has(route.scope)) {
    throw new AppError(
      'refused',
      route.scope === null
        ? `No ${surfaceOf(principal) === 'key' ? 'API key' : 'access token'} is enough for this.`
        : `The credential lacks the scope ${route.scope}.`,
      route.scope === null ? 'Sign in to do it.' : 'Use a credential that has it.',
      { wireCode: 'insufficient_scope' },
    );
  }
}

export function shutOut(): AppError {
  return new AppError('refused', 'This account is disabled.', 'Ask your administrator.', {
    wireCode: 'account_disabled',
  });
}

function unknown(fact: string, action: string): AppError {
  return new AppError('refused', fact, action, { status: 401, wireCode: 'unauthorized' });
}
