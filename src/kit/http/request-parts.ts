/** Checks the parts of a request against its route's schemas: body, path parameters, query. Every refusal names the field. Must not know who asks. */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import type { OwnerRule, Route } from '../../contracts/common/route.ts';
import { defaultBodyLimit, readJson } from './body.ts';

export async function readBody(route: Route, request: IncomingMessage): Promise<unknown> {
  return checkBody(route, await readJson(request, route.bodyLimit ?? defaultBodyLimit));
}

export function checkBody(route: Route, given: unknown): unknown {
  if (route.body === undefined) {
    if (given === undefined) return undefined;
    if (typeof given === 'object' && given !== null && Object.keys(given).length === 0) return undefined;
    throw new AppError('usage', 'This request takes no body.', 'Leave it out.', { wireCode: 'bad_request' });
  }
  // No body at all reads as an empty one: all its fields may be optional.
  const parsed = route.body.safeParse(given === undefined ? {} : given);
  if (parsed.success) return parsed.data;
  const field = String(parsed.error.issues[0]?.path[0] ?? '*');
  throw invalid(parsed.error.issues, 'body', route, route.bodyCodes?.[field] ?? route.bodyCodes?.['*']);
}

export function parseParams(route: Route, raw: Record<string, string | undefined>): unknown {
  const parsed = route.params!.safeParse({ ...raw });
  if (parsed.success) return parsed.data;
  // A name that cannot exist gets the same response as one that does not.
  const rule = route.owner;
  if (typeof rule === 'object' && 'param' in rule) throw unknownThing(rule, raw[rule.param] ?? '');
  const param = String(parsed.error.issues[0]?.path[0]);
  throw notThere(param, raw[param] ?? '', `See ${route.op} in docs/openapi.json.`);
}

export function parseQuery(route: Route, search: string): unknown {
  const given: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(search)) {
    if (name === '__proto__' || name in given) {
      throw new AppError('usage', `query: ${JSON.stringify(name)} is given twice.`, 'Give it once.', {
        wireCode: 'bad_request',
      });
    }
    given[name] = value;
  }
  if (route.query === undefined) {
    throw new AppError(
      'usage',
      `query: unknown field ${JSON.stringify(Object.keys(given)[0] ?? '')}.`,
      'Leave it out.',
      {
        wireCode: 'bad_request',
      },
    );
  }
  const parsed = route.query.safeParse(given);
  if (parsed.success) return parsed.data;
  throw invalid(parsed.error.issues, 'query', route);
}

interface Issue {
  readonly code?: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

function invalid(issues: readonly Issue[], where: string, route: Route, wireCode = 'bad_request'): AppError {
  const said = issues.slice(0, 5).map((issue) => {
    const at = [where, ...issue.path.map(String)].join('.');
    const keys = (issue as { keys?: readonly string[] }).keys;
    if (issue.code === 'unrecognized_keys' && keys !== undefined) {
      return `${at}: unknown field ${keys.map((key) => JSON.stringify(key)).join(', ')}`;
    }
    return `${at}: ${issue.message}`;
  });
  return new AppError('usage', `${said.join('; ')}.`, `See ${route.op} in docs/openapi.json.`, {
    wireCode,
  });
}

/** The same response for a missing thing and for another caller's. */
export function unknownOwned(route: Route, params: unknown): AppError {
  const rule = route.owner as Owned;
  return unknownThing(rule, String((params as Record<string, unknown>)[rule.param]));
}

type Owned = Extract<OwnerRule, { readonly param: string }>;

function unknownThing({ noun, word = noun, list }: Owned, id: string): AppError {
  return notThere(word, id, list.startsWith('gantry ') ? `List them with \`${list}\`.` : `List them: ${list}`);
}

function notThere(noun: string, id: string, action: string): AppError {
  const shown = JSON.stringify(id.slice(0, 200));
  return new AppError('not_found', `There is no ${noun} ${shown}.`, action, { wireCode: `${noun}_not_found` });
}
