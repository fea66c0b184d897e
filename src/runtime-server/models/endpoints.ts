/**
 * The address and key of a model: from a name in a team file to one of the three wires. Keys and addresses come only from Gantry's own environment
 * and settings: a team file that could name an address could send the person's key there.
 */
import type { Answer, Ask, Wire } from './model.ts';

export interface Endpoint {
  readonly wire: Wire;
  /** Absent: the vendor's own. */
  readonly baseUrl?: string | undefined;
  /** Variable that holds its key; absent for a server that wants none. */
  readonly keyEnv?: string | undefined;
}

export interface Target {
  readonly wire: Wire;
  /** As the wire names it. */
  readonly model: string;
  readonly baseUrl: string | null;
  readonly key: string | null;
  /** The key is a bearer token. */
  readonly bearer: boolean;
  /** Where is asked, for sentences: `api.anthropic.com`. */
  readonly where: string;
}

/** Asks over one wire: pure translation, no retries of its own. Fails with the error of its SDK. */
export type AskWire = (target: Target, ask: Ask) => Promise<Answer>;
/** A request that gives no sign for this long has been lost. Milliseconds. */
export const silenceMs = 10 * 60_000;

export type Found =
  | { readonly target: Target }
  | {
      readonly problem: {
        readonly fact: string;
        readonly action: string;
        /** No endpoint has this name; else one has, and something of it is missing. */
        readonly unknown?: true;
      };
    };

type Variables = Readonly<Record<string, string | undefined>>;

interface Vendor {
  readonly name: string;
  readonly wire: Wire;
  readonly host: string;
  readonly models: RegExp;
  readonly keys: readonly string[];
  readonly bearers: readonly string[];
  readonly addresses: readonly string[];
}

export const vendors: readonly Vendor[] = [
  {
    name: 'anthropic',
    wire: 'anthropic',
    host: 'api.anthropic.com',
    models: /^claude/,
    keys: ['ANTHROPIC_API_KEY'],
    bearers: ['ANTHROPIC_AUTH_TOKEN'],
    addresses: ['ANTHROPIC_BASE_URL'],
  },
  {
    name: 'openai',
    wire: 'openai',
    host: 'api.openai.com',
    models: /^(gpt|chatgpt|codex|o\d)/,
    keys: ['OPENAI_API_KEY'],
    bearers: [],
    addresses: ['OPENAI_BASE_URL'],
  },
  {
    name: 'google',
    wire: 'google',
    host: 'generativelanguage.googleapis.com',
    models: /^(gemini|gemma)/,
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    bearers: [],
    addresses: ['GOOGLE_GEMINI_BASE_URL'],
  },
];

/** `claude-…`, `gpt-…`, `gemini-…`, `<vendor>/<model>`, or `<endpoint of settings.json>/<model>`. */
export function findEndpoint(name: string, env: Variables, endpoints: Readonly<Record<string, Endpoint>> = {}): Found {
  const slash = name.indexOf('/');
  const prefix = slash < 0 ? null : name.slice(0, slash);
  const rest = name.slice(slash + 1);
  if (prefix !== null && Object.hasOwn(endpoints, prefix)) {
    return ownEndpoint(prefix, rest, endpoints[prefix] as Endpoint, env);
  }
  const named = vendors.find((vendor) => vendor.name === prefix);
  if (named !== undefined) return atVendor(named, rest, env);
  const byName = vendors.find((vendor) => vendor.models.test(name));
  if (byName !== undefined) return atVendor(byName, name, env);
  const compatible = vendors.find((vendor) => vendor.wire === 'openai') as Vendor;
  if (first(env, compatible.addresses) !== null) return atVendor(compatible, name, env);
  const known = [...vendors.map((vendor) => vendor.name), ...Object.keys(endpoints)].join(', ');
  return {
    problem: {
      unknown: true,
      fact: `No provider is configured for the model "${name}".`,
      action: `Write <vendor>/<model> with one of: ${known}. Add a server of your own under Settings > Set-up, or under models.endpoints in settings.json.`,
    },
  };
}

export interface EndpointFacts {
  readonly name: string;
  readonly where: string;
  /** Variables that may hold its key, and those that do; empty for a server that wants none. */
  readonly variables: readonly string[];
  readonly set: readonly string[];
}

/** Every place that can be asked. Keys are named, never read out. */
export function listEndpoints(env: Variables, endpoints: Readonly<Record<string, Endpoint>> = {}): EndpointFacts[] {
  const set = (names: readonly string[]) => names.filter((name) => first(env, [name]) !== null);
  const atVendors = vendors.map((vendor) => {
    const address = first(env, vendor.addresses);
    const variables = [...vendor.keys, ...vendor.bearers];
    const where = address === null ? vendor.host : `${hostOf(address.value)} (${address.name})`;
    return { name: vendor.name, where, variables, set: set(variables) };
  });
  const own = Object.entries(endpoints).map(([name, { baseUrl, keyEnv, wire }]) => {
    const variables = keyEnv === undefined ? [] : [keyEnv];
    const where = baseUrl === undefined ? wire : hostOf(baseUrl);
    return { name, where, variables, set: set(variables) };
  });
  return [...atVendors, ...own];
}

function atVendor(vendor: Vendor, model: string, env: Variables): Found {
  const baseUrl = first(env, vendor.addresses)?.value ?? null;
  const where = baseUrl === null ? vendor.host : hostOf(baseUrl);
  const bearer = first(env, vendor.bearers);
  const key = first(env, vendor.keys) ?? bearer;
  // A server of one's own may want no key; the vendor always does.
  if (key === null && (baseUrl === null || where === vendor.host)) return missingKey(vendor.keys[0] as string, where);
  return {
    target: {
      wire: vendor.wire,
      model,
      baseUrl,
      key: key?.value ?? null,
      bearer: key !== null && key === bearer,
      where,
    },
  };
}

function ownEndpoint(name: string, model: string, endpoint: Endpoint, env: Variables): Found {
  const key = endpoint.keyEnv === undefined ? null : first(env, [endpoint.keyEnv]);
  const vendor = vendors.find((one) => one.wire === endpoint.wire) as Vendor;
  const where = endpoint.baseUrl === undefined ? vendor.host : `${name} (${hostOf(endpoint.baseUrl)})`;
  if (endpoint.keyEnv !== undefined && key === null) return missingKey(endpoint.keyEnv, where);
  const target = {
    wire: endpoint.wire,
    model,
    baseUrl: endpoint.baseUrl ?? null,
    key: key?.value ?? null,
    bearer: false,
    where,
  };
  return { target };
}

function missingKey(variable: string, where: string): Found {
  return {
    problem: {
      fact: `${variable} is not set, but ${where} needs a key.`,
      action: `Set ${variable} in the environment that Gantry starts from and restart Gantry, or add the key under Settings > Set-up.`,
    },
  };
}

function first(env: Variables, names: readonly string[]): { name: string; value: string } | null {
  for (const name of names) {
    const value = env[name]?.trim();
    if (value !== undefined && value !== '') return { name, value };
  }
  return null;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
