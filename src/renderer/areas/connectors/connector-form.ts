/** The form that connects a service or changes a connector: its values, its errors, and the request. Pure; must not know how it looks. */
import {
  type ChangeConnector,
  type Connector,
  type ConnectorAuth,
  CreateConnector,
} from '../../../contracts/connectors/connector.ts';
import { hiddenSecret } from '../../../contracts/tool-server/servers.ts';
import { given, nameProblem, scopesOf, urlProblem } from '../tools/server-form.ts';

interface ConnectorDraft {
  readonly name: string;
  readonly url: string;
  readonly auth: ConnectorAuth['type'];
  readonly key: string;
  readonly header: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** With spaces between. */
  readonly scopes: string;
}

const empty: ConnectorDraft = {
  name: '',
  url: '',
  auth: 'oauth',
  key: '',
  header: '',
  clientId: '',
  clientSecret: '',
  scopes: '',
};

export function draftOf(connector: Connector | null): ConnectorDraft {
  if (connector === null) return empty;
  const { auth, name, url } = connector;
  const base = { ...empty, name, url, auth: auth.type };
  if (auth.type === 'api_key') return { ...base, key: auth.key, header: auth.header ?? '' };
  if (auth.type === 'none') return base;
  return {
    ...base,
    clientId: auth.clientId ?? '',
    clientSecret: auth.clientSecret ?? '',
    scopes: (auth.scopes ?? []).join(' '),
  };
}

function authOf(draft: ConnectorDraft): ConnectorAuth {
  if (draft.auth === 'none') return { type: 'none' };
  if (draft.auth === 'api_key') return { type: 'api_key', key: draft.key, ...given('header', draft.header.trim()) };
  return {
    type: 'oauth',
    ...given('clientId', draft.clientId.trim()),
    ...given('clientSecret', draft.clientSecret),
    ...given('scopes', scopesOf(draft.scopes)),
  };
}

export function bodyOf(draft: ConnectorDraft): CreateConnector {
  return { name: draft.name.trim(), url: draft.url.trim(), auth: authOf(draft) };
}

/** Only fields that differ from the connector's present values: naming a transport again would reconnect it. */
export function changeOf(draft: ConnectorDraft, connector: Connector): ChangeConnector {
  const { name, url, auth } = bodyOf(draft);
  const before = bodyOf(draftOf(connector));
  return {
    ...(name === before.name ? {} : { name }),
    ...(url === before.url ? {} : { url }),
    ...(JSON.stringify(auth) === JSON.stringify(before.auth) ? {} : { auth }),
  };
}

type ConnectorProblems = Partial<Record<keyof ConnectorDraft, string>>;

/** What the contract has to say, in words, below the field that it is about. `connector`: the one that is changed. */
export function problemsOf(draft: ConnectorDraft, connector: Connector | null): ConnectorProblems {
  const problems: ConnectorProblems = {};
  const url = draft.url.trim();
  const wrong = { name: nameProblem(draft.name.trim()), url: urlProblem(url) };
  if (wrong.name !== null) problems.name = wrong.name;
  if (wrong.url !== null) problems.url = wrong.url;
  if (draft.auth === 'api_key' && draft.key.trim() === '') problems.key = 'Required.';
  // Secrets go where they were meant to go.
  if (connector !== null && url !== connector.url) {
    if (draft.auth === 'api_key' && draft.key === hiddenSecret) {
      problems.key ??= 'Enter it again: the address has changed.';
    }
    if (draft.auth === 'oauth' && draft.clientSecret === hiddenSecret) {
      problems.clientSecret = 'Enter it again: the address has changed.';
    }
  }
  if (Object.keys(problems).length > 0) return problems;
  // Whatever else the contract forbids: lengths and counts.
  for (const { path, message } of CreateConnector.safeParse(bodyOf(draft)).error?.issues ?? []) {
    const field = String(path[0] === 'auth' ? path.at(1) : path[0]);
    problems[(field in empty ? field : 'name') as keyof ConnectorDraft] ??= `It ${message}.`;
  }
  return problems;
}
