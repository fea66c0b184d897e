/**
 * How a route is declared: method, path, who may call it, with which scope, who owns what it names, and every answer.
 * One table feeds the dispatcher, the client, OpenAPI and the route walk. Must not know HTTP libraries.
 */
import './plain-words.ts';
import type { z } from 'zod';

export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof methods)[number];

/**
 * Kinds of principal: `owner` the person of this computer (token file, cookie); `user` a signed-in person of a cloud; `key` an
 * API key; `bot` a bot's own token, weaker than its owner's; `link` the embedded or paired cloud API on the engine's socket;
 * `device` a runtime by its signature; `peer` a peer ticket; `internal` the service token; `cluster` the API server of a
 * Kubernetes cluster by its certificate; `public` nobody in particular. An address such as localhost is never a principal: a web page and every program on the computer can reach it too.
 */
export const principalKinds = [
  'public',
  'owner',
  'user',
  'key',
  'bot',
  'link',
  'device',
  'peer',
  'internal',
  'cluster',
] as const;
export type PrincipalKind = (typeof principalKinds)[number];

/** The closed list of scopes. */
export const scopes = ['agents:read', 'bots:act', 'compute', 'computers', 'work', 'admin'] as const;
export type Scope = (typeof scopes)[number];

export type RouteScope = Scope | 'any' | null;

/** Which error shape an area answers with. */
export type ErrorShape = 'factory' | 'plain' | 'computers' | 'rpc';

/**
 * Who owns the object in the path. `{param, noun, list}`: the dispatcher asks the owner lookup of that noun; a foreign or unknown id answers 404,
 * which calls it `word` where callers use another noun, and names what lists the existing ones: a command, or a request where none does.
 * `collection`: the handler only ever sees the caller's own rows. `none`: the path names nothing that can be owned; say why.
 */
export type OwnerRule =
  | { readonly param: string; readonly noun: string; readonly word?: string; readonly list: string }
  | 'collection'
  | { readonly none: string };

export interface Route {
  /** Unique operation name, camelCase: `sendMessage`. */
  readonly op: string;
  readonly area: string;
  readonly summary: string;
  readonly method: Method;
  /** Path with `:params`, without any mount prefix missing: the full path on its server. */
  readonly path: string;
  readonly auth: readonly PrincipalKind[];
  /** Scope an API key or bearer needs; `any`: whichever it has; null where no key is ever enough or the route is public. */
  readonly scope: RouteScope;
  readonly owner: OwnerRule;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Codes of a body that its schema refuses, by the field that is first at fault, `*` for any other; default `bad_request`. */
  readonly bodyCodes?: Readonly<Record<string, string>>;
  /** Largest accepted body in bytes; default 1 MiB. */
  readonly bodyLimit?: number;
  /** `json` by default; `sse` streams events; `raw` answers bytes the handler writes itself. */
  readonly kind?: 'json' | 'sse' | 'raw';
  /** Success answers by status. Error answers follow from the area's shape. */
  readonly answers: Readonly<Record<number, z.ZodType>>;
  /** For `raw` with a known kind of answer: its media types. */
  readonly media?: readonly string[];
  /** For `sse`: event name to the schema of its data. */
  readonly events?: Readonly<Record<string, z.ZodType>>;
  readonly errors: ErrorShape;
  /** Public, and the handler checks its own signature: valid requests do not count towards a page's limit; a 401 counts as a bad credential does. */
  readonly signed?: true;
  /**
   * POST that creates: `Idempotency-Key` is honoured by the dispatcher. `by id`: what it creates is called after the key, so that a request
   * whose outcome is not known can be run again; of any other it is not known ever after, and its key is refused.
   */
  readonly idempotent?: boolean | 'by id';
  /** The same route at another place, which begins with this: both honour the same keys. */
  readonly aliasOf?: { readonly op: string; readonly prefix: string };
}

/**
 * Keeps the literal types of a table while checking it.
 *
 * @example
 * ```ts
 * import { z } from 'zod';
 * import { defineRoute } from './route.ts';
 *
 * export const readNote = defineRoute({
 *   op: 'readNote',
 *   area: 'notes',
 *   summary: 'One note',
 *   method: 'GET',
 *   path: '/api/v1/notes/:id',
 *   auth: ['owner', 'user', 'key'],
 *   scope: 'agents:read',
 *   owner: { param: 'id', noun: 'note', list: 'GET /api/v1/notes' },
 *   params: z.strictObject({ id: z.string() }),
 *   answers: { 200: z.strictObject({ id: z.string(), text: z.string() }) },
 *   errors: 'plain',
 * });
 * ```
 */
export function defineRoute<const R extends Route>(route: R): R {
  return route;
}

export type RouteParams<R extends Route> = R['params'] extends z.ZodType
  ? z.output<R['params']>
  : Record<string, never>;
export type RouteQuery<R extends Route> = R['query'] extends z.ZodType ? z.output<R['query']> : Record<string, never>;
export type RouteBody<R extends Route> = R['body'] extends z.ZodType ? z.output<R['body']> : undefined;
export type RouteAnswer<R extends Route> = z.input<R['answers'][keyof R['answers'] & number]>;
