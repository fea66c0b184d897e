/** One request to the simulated carrier and its response; routing. Must not know any route. */
import { refused } from './refusal.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface Call {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: Json;
}

export interface Reply {
  readonly status: number;
  /** Undefined: no body. Bytes are sent unchanged. */
  readonly body: unknown;
  readonly type?: string;
}

export interface Route {
  /** `GET /phone_numbers/:id`, under the carrier's base. */
  readonly at: string;
  /** Its name in faults and the log: `texts.send`. */
  readonly op: string;
  readonly handle: (call: Call) => Reply;
}

export const ok = (body: unknown): Reply => ({ status: 200, body });
export const data = (value: unknown, status = 200): Reply => ({ status, body: { data: value } });

/** A page of a list in the carrier's form. */
export function page(call: Call, all: readonly unknown[]): Reply {
  const size = Math.min(250, Number(call.query.get('page[size]') ?? call.query.get('pageSize') ?? 50) || 50);
  const number = Math.max(1, Number(call.query.get('page[number]') ?? call.query.get('page') ?? 1) || 1);
  return ok({
    data: all.slice((number - 1) * size, number * size),
    meta: {
      total_pages: Math.ceil(all.length / size),
      total_results: all.length,
      page_number: number,
      page_size: size,
    },
  });
}

interface Router {
  find(method: string, path: string): { route: Route; params: Record<string, string> } | null;
}

export function createRouter(routes: readonly Route[]): Router {
  const known = routes.map((route) => {
    const [method = '', path = ''] = route.at.split(' ');
    return { route, method, parts: path.split('/') };
  });
  return {
    find(method, path) {
      const asked = path.split('/');
      for (const { route, method: verb, parts } of known) {
        if (verb !== method || parts.length !== asked.length) continue;
        const params: Record<string, string> = {};
        const fits = parts.every((part, index) => {
          const given = decode(asked[index] as string);
          if (!part.startsWith(':')) return part === given;
          params[part.slice(1)] = given;
          return given !== '';
        });
        if (fits) return { route, params };
      }
      return null;
    },
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The carrier treats absent and null alike. */
export function optional(body: Json, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw refused(422, '10015', 'Bad Request', `${name} is not a string.`, { pointer: `/${name}` });
}

export function required(body: Json, name: string): string {
  const value = optional(body, name);
  if (value === undefined || value === '')
    throw refused(422, '10004', 'Missing required parameter', `The '${name}' parameter is required.`, {
      pointer: `/${name}`,
    });
  return value;
}

export function texts(body: Json, name: string): string[] {
  const value = body[name] ?? [];
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw refused(422, '10015', 'Bad Request', `${name} is not a list of strings.`, { pointer: `/${name}` });
}
