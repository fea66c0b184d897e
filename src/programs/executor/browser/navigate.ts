/** Navigation: which addresses may be opened at all, and the result. Must not know members. */
import { HandsFault } from '../hands.ts';
import type { At } from './at.ts';

/** Milliseconds for a page until it can be used; and what is waited for all of it after that. */
const usableMs = 30_000;
const wholeMs = 2000;
/** For the browser's own page about a failure, which would come in between as well. */
const errorPageMs = 1000;
/** Of the time of the call, for its answer. */
const answerMs = 500;

export function isStep(url: string): url is 'back' | 'forward' | 'reload' {
  return url === 'back' || url === 'forward' || url === 'reload';
}

/** `example.com` is meant as https; throws `navigation_refused` for what is neither http nor https. */
function addressOf(text: string): string {
  const wanted = text.trim();
  if (wanted === 'about:blank') return wanted;
  // A port is no scheme: `localhost:3000`.
  const named = /^([a-z][a-z0-9+.-]*):(?!\d+(?:[/?#]|$))/i.exec(wanted)?.[1]?.toLowerCase();
  if (named !== undefined && named !== 'http' && named !== 'https')
    throw new HandsFault(
      'refused',
      'navigation_refused',
      `${named}: addresses cannot be opened, only http: and https:.`,
    );
  const whole = named === undefined ? `https://${wanted}` : wanted;
  if (!URL.canParse(whole) || new URL(whole).hostname === '')
    throw new HandsFault('page', 'navigation_failed', `${JSON.stringify(wanted.slice(0, 200))} is not an address.`);
  const { protocol, username, password, href } = new URL(whole);
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new HandsFault(
      'refused',
      'navigation_refused',
      `${protocol} addresses cannot be opened, only http: and https:.`,
    );
  if (username !== '' || password !== '')
    throw new HandsFault('refused', 'navigation_refused', 'An address must not carry a credential.');
  return href;
}

export async function navigate(at: At, text: string): Promise<string> {
  const url = addressOf(text);
  return go(at, url, (timeout) => at.tab.page.goto(url, { waitUntil: 'domcontentloaded', timeout }));
}

export async function step(at: At, way: 'back' | 'forward' | 'reload'): Promise<string> {
  const { page } = at.tab;
  return go(at, null, async (timeout) => {
    const options = { waitUntil: 'domcontentloaded', timeout } as const;
    if (way === 'reload') return page.reload(options);
    const before = page.url();
    const answer = await (way === 'back' ? page.goBack(options) : page.goForward(options));
    // About pages and changes of only the address have no response either.
    if (answer === null && page.url() === before) at.session.note(`There may be no page to go ${way} to.`);
    return answer;
  });
}

async function go(
  at: At,
  url: string | null,
  way: (timeoutMs: number) => Promise<{ status(): number } | null>,
): Promise<string> {
  const { page, cdp } = at.tab;
  const timeout = Math.min(usableMs, Math.max(1, at.timeoutMs - answerMs));
  try {
    const answer = await way(timeout).catch((error: Error) => {
      // The page of the last failure came in between.
      if (error.message.includes('interrupted by another navigation to "chrome-error:')) return way(timeout);
      throw error;
    });
    const refusal = refusalOf(at, page.url());
    if (refusal !== null) throw refusal;
    await page.waitForLoadState('load', { timeout: Math.min(wholeMs, at.timeoutMs) }).catch(() => {});
    at.tab.title = await page.title().catch(() => at.tab.title);
    const status = answer === null || answer.status() < 400 ? '' : ` It answered ${answer.status()}.`;
    return `${page.url()} is open.${status}`;
  } catch (error) {
    if (error instanceof HandsFault) throw error;
    const why = (error as Error).message.split('\n')[0]!.replace(/^page\.\w+: /, '');
    if (/Download is starting|net::ERR_ABORTED/.test(why)) return 'It is a download, not a page.';
    if (at.session.gone() !== null || at.signal.aborted) throw error;
    // What still loads would come in between whatever is done next.
    await cdp.send('Page.stopLoading').catch(() => {});
    if (why.startsWith('net::'))
      await page
        .waitForURL((shown) => shown.protocol === 'chrome-error:', { timeout: errorPageMs, waitUntil: 'commit' })
        .catch(() => {});
    const refusal = refusalOf(at, url ?? page.url());
    if (refusal !== null) throw refusal;
    const fact = /^Timeout/.test(why)
      ? 'the page did not load in time; what has loaded can be used'
      : why.replace(/ at \S+$/, '');
    throw new HandsFault('page', 'navigation_failed', `${url ?? 'The page'} could not be opened: ${fact}.`);
  }
}

function refusalOf({ session }: At, url: string): HandsFault | null {
  if (!URL.canParse(url) || session.proxy === null) return null;
  const { hostname, port, protocol, host } = new URL(url);
  const why = session.proxy.refusal(hostname, port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port));
  return why === null ? null : new HandsFault('refused', 'navigation_refused', `${host} may not be opened. ${why}`);
}
