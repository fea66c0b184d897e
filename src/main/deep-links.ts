/**
 * Links `gantry://…`: where each leads, or null. Any web page or program can open one, so the list is closed and every
 * link only shows something. The same reader serves the system's links and the arguments of a second start. Pure.
 */
import type { Destination } from '../contracts/desktop/channels.ts';
import { maxQuickBots, quickPrograms } from '../contracts/factory/quick-run-routes.ts';

const maxLength = 500;
/** A link with a prompt. */
const maxNewLength = 8000;
const Id = /^[A-Za-z0-9_-]{1,100}$/;
const pages: ReadonlySet<string> = new Set([
  'floor',
  'work',
  'inbox',
  'ledger',
  'tools',
  'computers',
  'connectors',
  'phone',
  'queue',
]);
const settingsPages: ReadonlySet<string> = new Set([
  'general',
  'account',
  'keys',
  'sign-ins',
  'computers',
  'notifications',
  'usage',
  'desktop',
]);

/**
 * `gantry://new?prompt=…&repo=…&who=claude,codex`: the form of a new run, filled in. The person reads it and starts it; a link can neither start
 * it, nor trust a folder, nor choose a mode. Null: it is no such link, or has anything else in it.
 */
interface NewRunLink {
  readonly prompt: string;
  /** Counts only if it was used before; the code that follows the link checks that. */
  readonly repository: string | null;
  readonly who: readonly string[];
}

export function readNewRun(text: string): NewRunLink | null {
  if (text.length > maxNewLength || !/^gantry:\/\/new\/?(\?[\x21-\x7e]*)?$/i.test(text) || !URL.canParse(text))
    return null;
  const url = new URL(text);
  const { searchParams } = url;
  const names = [...searchParams.keys()];
  if (url.hash !== '' || new Set(names).size !== names.length) return null;
  if (!names.every((name) => name === 'prompt' || name === 'repo' || name === 'who')) return null;
  const prompt = searchParams.get('prompt') ?? '';
  const repository = searchParams.get('repo');
  const who = searchParams.get('who')?.split(',') ?? [];
  // Lines and tabs aside, control characters and turned directions hide what a person is to read.
  if (/[^\P{Cc}\n\t]|\p{Bidi_Control}|\uFFFD/u.test(`${prompt}${repository ?? ''}`)) return null;
  if (who.length > maxQuickBots || !who.every((one) => (quickPrograms as readonly string[]).includes(one))) return null;
  return { prompt, repository, who };
}

/** The page that shows it. `isKnown`: its repository was used before; another one is dropped. */
export function newRunPage({ prompt, repository, who }: NewRunLink, isKnown: boolean): Destination {
  const query = new URLSearchParams({ new: '1' });
  if (prompt !== '') query.set('prompt', prompt);
  if (repository !== null && isKnown) query.set('repo', repository);
  if (who.length > 0) query.set('who', who.join(','));
  return { kind: 'go', path: `/?${query}` };
}

/** `gantry://inbox`, `gantry://settings/desktop`, `gantry://thread/<id>`, `gantry://pane/<id>?bot=<id>`, `gantry://node/<dag>/<node>`, … */
export function readDeepLink(text: string): Destination | null {
  // Judged before it is parsed: no user, port, dot, fragment or escape can be in what is read below.
  if (text.length > maxLength || !/^gantry:\/\/[\w/-]*(\?[\w=-]*)?$/i.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  const path = url.pathname.replace(/^\/|\/$/g, '');
  const parts = path === '' ? [] : path.split('/');
  const query = [...url.searchParams];
  const [first = '', second = ''] = parts;
  if (!parts.every((part) => Id.test(part))) return null;
  if (url.hostname === 'pane') {
    const [name, botId] = query[0] ?? [];
    if (parts.length !== 1 || query.length !== 1 || name !== 'bot' || botId === undefined || !Id.test(botId))
      return null;
    return {
      kind: 'event',
      name: 'platform:factory-attach-pane',
      detail: { paneId: first, botId, originView: 'home' },
    };
  }
  if (query.length > 0) return null;
  switch (url.hostname) {
    case '':
    case 'home':
      return parts.length === 0 ? { kind: 'go', path: '/' } : null;
    case 'mode':
      return path === 'code' ? { kind: 'event', name: 'platform:switch-mode', detail: { mode: 'code' } } : null;
    case 'node':
      if (parts.length !== 2) return null;
      return { kind: 'event', name: 'platform:factory-open-node', detail: { dagId: first, nodeId: second } };
    case 'thread':
      return parts.length === 1 ? { kind: 'go', path: `/?allternit_thread=${first}` } : null;
    case 'settings':
      if (parts.length > 1 || (parts.length === 1 && !settingsPages.has(first))) return null;
      return { kind: 'go', path: `/settings/${first || 'general'}` };
    default:
      return pages.has(url.hostname) && parts.length === 0 ? { kind: 'go', path: `/${url.hostname}` } : null;
  }
}

/** The link among the arguments of a start; systems without `open-url` hand it over so. */
export function linkIn(argv: readonly string[]): string | null {
  return argv.find((word) => /^gantry:/i.test(word)) ?? null;
}
