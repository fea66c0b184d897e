/**
 * Asks a server for its models once, before the server is stored, and reports the answer in a person's words. No answer is a fault here; the caller
 * decides. Must not know the storage.
 */
import type { ServerHeard } from '../../contracts/factory/model-routes.ts';
import { createEgress } from '../../kit/egress/egress.ts';
import type { Wire } from './model.ts';

interface AskedPlace {
  readonly wire: Wire;
  readonly baseUrl: string;
  readonly key: string | null;
}

const patienceMs = 5_000;
/** Some servers list thousands of models with a page about each. */
const largestList = 8 * 1024 * 1024;

/** Where each wire lists its models, and what holds the key: as its SDK asks. */
const lists: Readonly<Record<Wire, { path: string; headers: (key: string) => Record<string, string>; field: string }>> =
  {
    openai: { path: '/models', headers: (key) => ({ authorization: `Bearer ${key}` }), field: 'data' },
    anthropic: {
      path: '/v1/models',
      headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
      field: 'data',
    },
    google: { path: '/v1beta/models', headers: (key) => ({ 'x-goog-api-key': key }), field: 'models' },
  };

export async function askPlace({ wire, baseUrl, key }: AskedPlace): Promise<ServerHeard> {
  const { host, hostname, port, protocol } = new URL(baseUrl);
  const { path, headers, field } = lists[wire];
  // The person's own choice: it may be in their own network.
  const egress = createEgress({
    plain: true,
    allow: [`${bare(hostname)}:${port || (protocol === 'http:' ? 80 : 443)}`],
  });
  const no = (fact: string, action: string): ServerHeard => ({ ok: false, words: `${host} ${fact}. ${action}` });
  try {
    const { status, body } = await egress.request({
      method: 'GET',
      url: `${baseUrl.replace(/\/+$/, '')}${path}`,
      headers: { accept: 'application/json', ...(key === null ? {} : headers(key)) },
      timeoutMs: patienceMs,
      largestAnswer: largestList,
    });
    if (status === 401 || status === 403) {
      return key === null
        ? no(`needs a key (${status})`, 'Enter its key.')
        : no(`refuses this key (${status})`, 'Correct the key.');
    }
    const names = status === 200 ? namesIn(body, field) : null;
    if (names === null) {
      const said = status === 200 ? 'answers, but not with a list of models' : `has no list of models here (${status})`;
      return no(said, wire === 'openai' ? 'Correct the address; most end in /v1.' : 'Correct the address.');
    }
    if (names.length === 0) return { ok: true, words: `${host} answers but has no models yet.` };
    const count = names.length === 1 ? 'one model' : `${names.length} models`;
    return { ok: true, words: `${host} answers and has ${count}${names[0] === '' ? '' : `, such as ${names[0]}`}.` };
  } catch (error) {
    return no(`does not answer: ${whyNot(error)}`, 'Start the server, or correct the address.');
  } finally {
    await egress.close();
  }
}

function namesIn(body: Buffer, field: string): string[] | null {
  try {
    const list = (JSON.parse(body.toString('utf8')) as Record<string, unknown> | null)?.[field];
    if (!Array.isArray(list)) return null;
    return list.map((one: { id?: unknown; name?: unknown } | null) => {
      const name = one?.id ?? one?.name;
      return typeof name === 'string' ? name.replace(/[\p{Cc}\p{Cf}]/gu, '').slice(0, 80) : '';
    });
  } catch {
    return null;
  }
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'no such host',
  ECONNRESET: 'it closed the connection',
  UND_ERR_SOCKET: 'it closed the connection',
  EHOSTUNREACH: 'it cannot be reached from here',
  ENETUNREACH: 'it cannot be reached from here',
};

function whyNot(error: unknown): string {
  const cause = (error as Error).cause as NodeJS.ErrnoException | undefined;
  if (cause?.name === 'TimeoutError') return `no answer for ${patienceMs / 1000} seconds`;
  return reasons[cause?.code ?? ''] ?? cause?.message ?? (error as Error).message;
}

/** Without the brackets of an IPv6 literal. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
}
