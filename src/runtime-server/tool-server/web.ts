/**
 * Requests to addresses that a caller chose, under the guard of outgoing requests and the policy. An address that is not on the public internet
 * needs a rule that names its host, and a redirect is checked like the first request. Used by `http.*` and by documents that are fetched by address.
 * Must not know the use of an answer.
 */

import { AppError } from '../../contracts/common/errors.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import { createEgress, type Egress, type EgressAnswer, type EgressRequest } from '../../kit/egress/egress.ts';
import type { EgressMeter } from '../../kit/egress/egress-metrics.ts';
import type { Lookup } from '../../kit/egress/lookup.ts';
import { redirectOf } from '../../kit/egress/redirect.ts';
import type { PolicyVerdict } from '../policy/policy.ts';
import type { DocumentFetch } from './documents/index.ts';
import type { OtherHost } from './tool.ts';

export interface WebAnswer extends EgressAnswer {
  /** Where it was found in the end. */
  readonly url: string;
}

export interface Web extends DocumentFetch {
  /** Only from its text: no name is looked up before anybody was asked, since a lookup tells the name's owner something. */
  host(url: string): Required<OtherHost>;
  /** `planned`: the host that the policy decided about. A redirect elsewhere that it would not simply allow is itself the answer. */
  request(request: EgressRequest, planned: OtherHost, may: (host: OtherHost) => PolicyVerdict): Promise<WebAnswer>;
  close(): Promise<void>;
}

export interface WebDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly lookup?: Lookup;
  readonly meter?: EgressMeter | undefined;
}

type May = (host: OtherHost) => PolicyVerdict;

const maxRedirects = 3;
/** Names that lead to this computer or its network by definition. */
const localName = /(?:^|\.)(?:localhost|local|internal|home\.arpa)(?::\d+)?$/;
const documentTimeoutMs = 60_000;
const defaultTimeoutMs = 30_000;
const advice = 'Use a public http or https address; any other needs a rule in .gantry/policy.yaml that names its host.';

export function createWeb({ clock, lookup, meter }: WebDeps): Web {
  const options = { plain: true, advice, ...(lookup === undefined ? {} : { lookup }) };
  const counted = (egress: Egress): Egress => meter?.count('tools', egress) ?? egress;
  const guarded = counted(createEgress(options));

  function host(url: string): Required<OtherHost> {
    // The policy decides about private addresses; any other problem is an error at once.
    const bad = createEgress({ ...options, allow: URL.canParse(url) ? [placeOf(url)] : [] }).refusal(url);
    if (bad !== null) throw bad;
    return { host: hostOf(url), privateHost: guarded.refusal(url) !== null || localName.test(hostOf(url)) };
  }

  /** Resolves it. An address that turns out to be private needs its own permission. */
  async function settle(url: string, at: OtherHost, may: May): Promise<OtherHost> {
    if (at.privateHost === true || (await guarded.where(url)) === 'public') return at;
    const found = { ...at, privateHost: true };
    const { verdict, rule } = may(found);
    // A person who was asked about this host was asked by the rule that names it.
    if (verdict === 'allow' || (verdict === 'ask' && may(at).verdict === 'ask')) return found;
    throw new AppError('refused', `${at.host} is blocked: ${rule}.`, advice, { wireCode: 'address_refused' });
  }

  /** A separate connection for a rule's host: it must not serve other callers than the rule allows. */
  async function ask(request: EgressRequest, { privateHost }: OtherHost): Promise<EgressAnswer> {
    if (privateHost !== true) return guarded.request(request);
    const opened = counted(createEgress({ ...options, allow: [placeOf(request.url)] }));
    try {
      return await opened.request(request);
    } finally {
      await opened.close();
    }
  }

  async function request(first: EgressRequest, planned: OtherHost, may: May): Promise<WebAnswer> {
    const endsAt = clock.monotonic() + (first.timeoutMs ?? defaultTimeoutMs);
    let now = first;
    let at = await settle(now.url, planned, may);
    for (let redirects = 0; ; redirects += 1) {
      // One deadline for the whole chain: otherwise each redirect would restart it.
      const timeoutMs = Math.ceil(endsAt - clock.monotonic());
      if (timeoutMs <= 0) {
        const fact = `${first.url.slice(0, 200)} did not answer in time: it redirects, and every redirect took time.`;
        throw new AppError('transport', fact, 'Set a longer timeout, or request the final address.');
      }
      const answer = await ask({ ...now, timeoutMs }, at);
      const next = redirectOf(now, answer);
      if (next === null) return { ...answer, url: now.url };
      const leads = host(next.url);
      if (leads.host !== at.host && mayGo(may(leads), now.url, leads) === 'ask') return { ...answer, url: now.url };
      if (redirects === maxRedirects) {
        const fact = `${first.url.slice(0, 200)} redirects more than ${maxRedirects} times.`;
        throw new AppError('transport', fact, 'Request the final address.');
      }
      now = next;
      at = leads.host === at.host ? at : await settle(next.url, leads, may);
    }
  }

  return {
    host,
    request,
    async get(url, { signal, largest, may }) {
      const planned = host(url);
      const asked = { method: 'GET', url, headers: { 'user-agent': 'Gantry' }, signal, timeoutMs: documentTimeoutMs };
      const answer = await request({ ...asked, largestAnswer: largest, longer: 'cut' }, planned, may);
      if (answer.truncated) {
        throw new AppError(
          'usage',
          `${url.slice(0, 200)} answers with more than ${largest} bytes.`,
          'Request a part of it.',
        );
      }
      return { status: answer.status, url: answer.url, contentType: contentTypeOf(answer), body: answer.body };
    },
    close: () => guarded.close(),
  };
}

export function contentTypeOf({ headers }: Pick<EgressAnswer, 'headers'>): string {
  const type = headers['content-type'];
  return (Array.isArray(type) ? type[0] : type) ?? '';
}

function mayGo({ verdict, rule }: PolicyVerdict, from: string, { host = '' }: OtherHost): 'allow' | 'ask' {
  if (verdict !== 'deny') return verdict;
  throw new AppError(
    'refused',
    `${from.slice(0, 200)} redirects to ${host}, which is not allowed: ${rule}.`,
    'Do not request it another way.',
  );
}

/** As rules name it: without a last dot, which means the same name, and with its port unless that is the scheme's own. */
function hostOf(url: string): string {
  const { hostname, port } = new URL(url);
  const name = hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
  return port === '' ? name : `${name}:${port}`;
}

/** As the guard allows it: with its port always. */
function placeOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  const name = hostname.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return `${name}:${port === '' ? (protocol === 'http:' ? '80' : '443') : port}`;
}
