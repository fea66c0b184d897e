/** The form that attaches or changes a server: its values, its errors, and the request. Pure; must not know how it looks. */
import {
  type AttachedServer,
  AttachServer,
  type ChangeServer,
  defaultCallTimeoutMs,
  hiddenSecret,
  nativeFamilies,
  placeOf,
  type Transport,
} from '../../../contracts/tool-server/servers.ts';

/** A variable or a header: its value is a secret. */
export interface Pair {
  readonly key: number;
  readonly name: string;
  readonly value: string;
}

interface ServerDraft {
  readonly name: string;
  readonly type: Transport['type'];
  readonly command: string;
  /** One a line. */
  readonly args: string;
  readonly cwd: string;
  readonly env: readonly Pair[];
  readonly url: string;
  readonly headers: readonly Pair[];
  readonly clientId: string;
  readonly clientSecret: string;
  /** With spaces between. */
  readonly scopes: string;
  /** Of one call, seconds. */
  readonly timeout: string;
}

const empty: ServerDraft = {
  name: '',
  type: 'stdio',
  command: '',
  args: '',
  cwd: '',
  env: [],
  url: '',
  headers: [],
  clientId: '',
  clientSecret: '',
  scopes: '',
  timeout: String(defaultCallTimeoutMs / 1000),
};

const pairsOf = (record: Readonly<Record<string, string>> | undefined): Pair[] =>
  Object.entries(record ?? {}).map(([name, value], key) => ({ key, name, value }));

export function draftOf(server: AttachedServer | null): ServerDraft {
  if (server === null) return empty;
  const { transport } = server;
  const base = { ...empty, name: server.name, type: transport.type, timeout: String(server.timeoutMs / 1000) };
  if (transport.type === 'stdio') {
    return {
      ...base,
      command: transport.command,
      args: (transport.args ?? []).join('\n'),
      cwd: transport.cwd ?? '',
      env: pairsOf(transport.env),
    };
  }
  return {
    ...base,
    url: transport.url,
    headers: pairsOf(transport.headers),
    clientId: transport.oauth?.clientId ?? '',
    clientSecret: transport.oauth?.clientSecret ?? '',
    scopes: (transport.oauth?.scopes ?? []).join(' '),
  };
}

/** Spaces or commas between. */
export const scopesOf = (typed: string): string[] | undefined => {
  const scopes = typed.split(/[\s,]+/).filter((one) => one !== '');
  return scopes.length === 0 ? undefined : scopes;
};

/** Null: it can be the name of a server. */
export function nameProblem(name: string): string | null {
  if (name === '') return 'Required.';
  if ((nativeFamilies as readonly string[]).includes(name)) {
    return `"${name}" is reserved for Gantry’s own tools. Choose another name.`;
  }
  if (/^[a-z0-9_-]{1,32}$/.test(name)) return null;
  return 'Up to 32 lowercase letters, digits, "-" and "_". Its tool names begin with it.';
}

/** Null: it can be the address of a server. */
export function urlProblem(url: string): string | null {
  if (url === '') return 'Required.';
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return null;
  return 'Must be an address that begins with https:// or http://.';
}

/** Rows without a name are no rows yet. */
function recordOf(pairs: readonly Pair[]): Record<string, string> | undefined {
  const named = pairs.filter(({ name }) => name.trim() !== '');
  return named.length === 0 ? undefined : Object.fromEntries(named.map(({ name, value }) => [name.trim(), value]));
}

/** What is left empty is not sent. */
export const given = <K extends string, T>(name: K, value: T | undefined): { [key in K]?: T } =>
  value === undefined || value === '' ? {} : ({ [name]: value } as { [key in K]: T });

function transportOf(draft: ServerDraft): Transport {
  if (draft.type === 'stdio') {
    const args = draft.args.split('\n').filter((line) => line.trim() !== '');
    return {
      type: 'stdio',
      command: draft.command.trim(),
      ...(args.length === 0 ? {} : { args }),
      ...given('env', recordOf(draft.env)),
      ...given('cwd', draft.cwd.trim()),
    };
  }
  const oauth = {
    ...given('clientId', draft.clientId.trim()),
    ...given('clientSecret', draft.clientSecret),
    ...given('scopes', scopesOf(draft.scopes)),
  };
  return {
    type: 'http',
    url: draft.url.trim(),
    ...given('headers', recordOf(draft.headers)),
    ...(Object.keys(oauth).length === 0 ? {} : { oauth }),
  };
}

export function bodyOf(draft: ServerDraft): AttachServer {
  const timeoutMs = Math.round(Number(draft.timeout) * 1000);
  return {
    name: draft.name.trim(),
    transport: transportOf(draft),
    ...(timeoutMs === defaultCallTimeoutMs || draft.timeout.trim() === '' ? {} : { timeoutMs }),
  };
}

/** Only fields that differ from the server's present values: naming a transport again would reconnect it. */
export function changeOf(draft: ServerDraft, server: AttachedServer): ChangeServer {
  const { name, transport, timeoutMs = defaultCallTimeoutMs } = bodyOf(draft);
  const before = bodyOf(draftOf(server));
  return {
    ...(name === before.name ? {} : { name }),
    ...(JSON.stringify(transport) === JSON.stringify(before.transport) ? {} : { transport }),
    ...(timeoutMs === server.timeoutMs ? {} : { timeoutMs }),
  };
}

type DraftProblems = Partial<Record<keyof ServerDraft, string>>;

/** What the contract has to say, in words, below the field that it is about. `server`: the one that is changed. */
export function problemsOf(draft: ServerDraft, server: AttachedServer | null): DraftProblems {
  const problems: DraftProblems = {};
  const name = nameProblem(draft.name.trim());
  if (name !== null) problems.name = name;
  const pairs = draft.type === 'stdio' ? 'env' : 'headers';
  if (draft.type === 'stdio' && draft.command.trim() === '') problems.command = 'Required.';
  if (draft.type === 'http') {
    const url = urlProblem(draft.url.trim());
    if (url !== null) problems.url = url;
  }
  const names = draft[pairs].map((pair) => pair.name.trim()).filter((one) => one !== '');
  const twice = names.find((one, index) => names.indexOf(one) !== index);
  if (twice !== undefined) problems[pairs] = `${twice} appears twice.`;
  else if (draft[pairs].some((pair) => pair.name.trim() === '' && pair.value !== '')) {
    problems[pairs] = 'A value has no name.';
  }
  // Secrets go only to their original target: Gantry keeps them only for the same program or address.
  if (server !== null && placeOf(transportOf(draft)) !== placeOf(server.transport)) {
    const other = draft.type === 'stdio' ? 'program' : 'address';
    const kept = draft[pairs].find(({ value }) => value === hiddenSecret);
    if (kept !== undefined) {
      problems[pairs] ??= `Enter the value of ${kept.name.trim()} again: the ${other} has changed.`;
    }
    if (draft.type === 'http' && draft.clientSecret === hiddenSecret) {
      problems.clientSecret = 'Enter it again: the address has changed.';
    }
  }
  const seconds = Number(draft.timeout);
  if (draft.timeout.trim() !== '' && !(seconds >= 1 && seconds <= 600))
    problems.timeout = 'Enter a whole number from 1 to 600.';
  if (Object.keys(problems).length > 0) return problems;
  // Whatever else the contract forbids: lengths and counts.
  for (const { path, message } of AttachServer.safeParse(bodyOf(draft)).error?.issues ?? []) {
    const field = String(path[1] === 'oauth' ? path[2] : path[0] === 'transport' ? path[1] : path[0]);
    problems[(field === 'timeoutMs' ? 'timeout' : field in empty ? field : 'name') as keyof ServerDraft] ??=
      `It ${message}.`;
  }
  return problems;
}
