/**
 * Settings of a multi-user cloud (`gantry cloud`): flag, then environment. Settings that decide who gets access are never guessed. Must not start
 * anything.
 */
import { readFileSync } from 'node:fs';
import ipaddr from 'ipaddr.js';
import type { ComputerBounds, KubernetesSettings } from '../cloud-api/hosted-computers/index.ts';
import type { OidcSettings } from '../cloud-api/identity/index.ts';
import { AppError } from '../contracts/common/errors.ts';
import type { ImageRule } from '../kit/docker/image-rule.ts';
import { createAddressOf } from '../kit/http/client-address.ts';
import type { Address } from '../kit/http/server.ts';
import { type ClusterSettings, readClusterSettings } from './cluster-settings.ts';
import {
  type ComputersEngine,
  readComputerBounds,
  readComputersCluster,
  readComputersEngine,
} from './computers-engine.ts';
import { whole } from './env-number.ts';
import { readImageRules } from './image-rules.ts';
import { type PhoneSettings, readPhoneSettings } from './phone-settings.ts';
import { dataFolder } from './places.ts';
import { type PushSettings, readPushSettings } from './push-settings.ts';

export interface CloudSettings {
  readonly home: string;
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** Another origin on which the edge is served, at its root; null: below the base address, at /edge. */
  readonly eventsEdgeUrl?: string | null;
  readonly listen: Address;
  readonly oidc: OidcSettings;
  readonly trustedProxies: readonly string[];
  /** Absent or null: no cluster's API server asks for figures. */
  readonly cluster?: ClusterSettings | null;
  readonly push: PushSettings;
  /** Who may name which images in tasks; absent or null: everybody any. */
  readonly taskImages?: readonly ImageRule[] | null;
  readonly phone?: PhoneSettings | null;
  /** Folder of hosted computers; absent: its default place. */
  readonly computersFolder?: string | undefined;
  /** Absent or null: `gantry computer-host` makes them. */
  readonly computersEngine?: ComputersEngine | null;
  /** Absent or null: no cluster makes them. */
  readonly computersCluster?: KubernetesSettings | null;
  /** What computers may ask for; absent: what their driver allows. */
  readonly computerBounds?: ComputerBounds;
  /** Where the other replicas on the same database reach this one; null: as it listens. */
  readonly replicaUrl: string | null;
  /** A PostgreSQL that replicas share; null: `cloud.db` in the data folder. Read only from the environment, because it holds a password. */
  readonly databaseUrl: string | null;
  /** Of one caller at one replica; absent or null: 64. */
  readonly eventStreams?: number | null;
}

const names = {
  baseUrl: { flag: '--base-url', env: 'GANTRY_BASE_URL' },
  eventsEdgeUrl: { flag: '--events-edge-url', env: 'GANTRY_EVENTS_EDGE_URL' },
  listen: { flag: '--listen', env: 'GANTRY_LISTEN' },
  oidcIssuer: { flag: '--oidc-issuer', env: 'GANTRY_OIDC_ISSUER' },
  oidcClientId: { flag: '--oidc-client-id', env: 'GANTRY_OIDC_CLIENT_ID' },
  oidcClientSecretFile: { flag: '--oidc-client-secret-file', env: 'GANTRY_OIDC_CLIENT_SECRET_FILE' },
  trustedProxy: { flag: '--trusted-proxy', env: 'GANTRY_TRUSTED_PROXY' },
  replicaUrl: { flag: '--replica-url', env: 'GANTRY_REPLICA_URL' },
} as const;
type Name = keyof typeof names;

type CloudFlags = Readonly<Partial<Record<Name, string | undefined>>>;

const defaultListen = '127.0.0.1:3010';

/** Throws `usage`, naming the flag and the variable that is missing or bad. */
export function readCloudSettings(
  env: Readonly<Record<string, string | undefined>>,
  flags: CloudFlags = {},
): CloudSettings {
  const pick = (name: Name): string | null => flags[name] || env[names[name].env] || null;
  const need = (name: Name, what: string): string => {
    const value = pick(name);
    if (value !== null) return value;
    const { flag, env: variable } = names[name];
    throw new AppError(
      'usage',
      `${what} is not set.`,
      `Set ${flag} or ${variable}; docs/identity.md shows an example.`,
    );
  };
  const issuer = httpUrl('oidcIssuer', need('oidcIssuer', 'The OpenID provider that people sign in with'));
  const clientId = need('oidcClientId', 'The client id at the OpenID provider');
  const baseUrl = httpUrl('baseUrl', need('baseUrl', 'The address that people use'));
  if (new URL(baseUrl).pathname !== '/') {
    throw bad('baseUrl', baseUrl, 'Gantry needs a host name of its own: give an address without a path.');
  }
  const secretFile = pick('oidcClientSecretFile');
  return {
    home: dataFolder(env),
    baseUrl: new URL(baseUrl).origin,
    eventsEdgeUrl: edgeUrlOf(pick('eventsEdgeUrl'), baseUrl),
    listen: addressOf(pick('listen') ?? defaultListen),
    oidc: { issuer, clientId, clientSecret: secretFile === null ? null : secretIn(secretFile) },
    trustedProxies: proxiesIn(pick('trustedProxy') ?? ''),
    cluster: readClusterSettings(env, (value) => addressOf(value, 'GANTRY_CLUSTER_LISTEN')),
    push: readPushSettings(env),
    taskImages: readImageRules(env, 'GANTRY_TASK_IMAGES'),
    phone: readPhoneSettings(env),
    computersFolder: env.GANTRY_COMPUTERS || undefined,
    computersEngine: readComputersEngine(env),
    computersCluster: readComputersCluster(env),
    computerBounds: readComputerBounds(env),
    replicaUrl: replicaUrlOf(pick('replicaUrl')),
    databaseUrl: env.DATABASE_URL || null,
    eventStreams: whole(env, 'GANTRY_EVENT_STREAMS', 'a number', 1, 10_000),
  };
}

function bad(name: Name, value: string, action: string): AppError {
  const { flag, env } = names[name];
  return new AppError('usage', `${JSON.stringify(value)} is not a valid value for ${flag} (${env}).`, action);
}

/** https, or http on this machine: what travels between is a credential. */
function httpUrl(name: Name, value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '') {
    throw bad(name, value, 'Give an address such as https://gantry.example.');
  }
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))) return value;
  throw bad(name, value, 'Give an https address; http is enough only for 127.0.0.1 and localhost.');
}

/** What replicas say to each other is theirs: http is enough in a network of their own. */
function replicaUrlOf(value: string | null): string | null {
  if (value === null) return null;
  const url = URL.canParse(value) ? new URL(value) : null;
  const isPlain = url !== null && url.href === `${url.origin}/`;
  if (isPlain && (url.protocol === 'http:' || url.protocol === 'https:')) return url.origin;
  throw bad('replicaUrl', value, 'Give an address without a path, such as http://10.0.0.7:3010.');
}

/** A separate edge origin serves only the edge, so it must differ from the pages' origin. */
function edgeUrlOf(value: string | null, baseUrl: string): string | null {
  if (value === null) return null;
  const { origin, host, pathname } = new URL(httpUrl('eventsEdgeUrl', value));
  if (pathname === '/' && host !== new URL(baseUrl).host) return origin;
  throw bad(
    'eventsEdgeUrl',
    value,
    'Give an address other than the one people use, without a path, such as https://events.gantry.example.',
  );
}

function isLoopback(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return bare === 'localhost' || (ipaddr.isValid(bare) && ipaddr.process(bare).range() === 'loopback');
}

function addressOf(value: string, variable = `${names.listen.flag} (${names.listen.env})`): Address {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(value);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535) {
    const fact = `${JSON.stringify(value)} is not a valid value for ${variable}.`;
    throw new AppError('usage', fact, 'Give host and port, such as 127.0.0.1:3010.');
  }
  return { host, port };
}

function proxiesIn(list: string): string[] {
  const proxies = list
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
  // Throws for what is neither an address nor a network, before anything is started.
  createAddressOf(proxies);
  return proxies;
}

function secretIn(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw bad('oidcClientSecretFile', path, `The file cannot be read: ${(cause as Error).message}.`);
  }
  if (text === '') throw bad('oidcClientSecretFile', path, 'The file is empty; put the client secret in it.');
  return text;
}
