/**
 * What becomes of one connection out of a sandbox: the engine, a request to a proxy, or a connection to a name. Nothing is looked up or sent before the
 * runtime has allowed it; on a connection that is allowed, TLS and HTTP may name that host only. Must not know who decides, or how.
 */
import type { Socket } from 'node:net';
import { dial } from '../../kit/egress/dial.ts';
import { type HostAndPort, hostNameOf, showHostAndPort } from '../../kit/egress/host-name.ts';
import { createHttpWay, type HttpWay, type Only } from './http-way.ts';
import { join, passOn } from './join.ts';
import { readOpening, readSpeech } from './peek.ts';
import type { Reason } from './protocol.ts';
import { faultOf, type plainAnswer, refusalOf, refuse } from './refusal.ts';
import type { Sandbox } from './sandbox.ts';
import type { Speech } from './sniff.ts';

/** Time for a program to say what it speaks, so that it hears of a refusal in those words. Milliseconds. */
const askedSpeechMs = 1000;

interface Ways {
  serve(sandbox: Sandbox, client: Socket): Promise<void>;
}

export function createWays(): Ways {
  const http = createHttpWay({
    onConnect: (sandbox, to, client, head) => {
      throughProxy(http, sandbox, to, client as Socket, head).catch(() => client.destroy());
    },
  });

  return {
    async serve(sandbox, client) {
      const opening = await readOpening(client);
      if (opening === null) client.destroy();
      else if (opening.way === 'proxy') http.take(client, { sandbox, only: null });
      else if (opening.way === 'engine') join(client, await toEngine(sandbox));
      else await toName(http, sandbox, opening, client);
    },
  };
}

const toEngine = (sandbox: Sandbox): Promise<Socket> =>
  dial({ host: '127.0.0.1', port: sandbox.enginePort(), isPrivateAllowed: true });

/** The program connected to a name that the sandbox's DNS answered. */
async function toName(http: HttpWay, sandbox: Sandbox, given: HostAndPort, client: Socket): Promise<void> {
  const host = hostNameOf(given.host);
  const end = async (refusal: Parameters<typeof refuse>[2]) => {
    const speech = await readSpeech(client, askedSpeechMs);
    refuse(client, speech?.found ?? null, refusal);
  };
  if (host === null || given.port < 1 || given.port > 65_535) {
    sandbox.refused({ host: null, port: 0 }, 'invalid', 'it is no host');
    return end(refusalOf('a connection', 'invalid', 'it is no host'));
  }
  const to = { host, port: given.port };
  const verdict = await sandbox.may(to);
  if (!verdict.allow) return end(refusalOf(showHostAndPort(to), verdict.reason, verdict.why));
  const { isPrivateAllowed } = verdict;
  try {
    await tunnel(
      http,
      sandbox,
      { ...to, isPrivateAllowed, isOpened: false },
      client,
      await sandbox.dial(to, isPrivateAllowed),
    );
  } catch (error) {
    await end(faultOf(to, error as Error));
  }
}

/** `CONNECT`: the program hears at once what is refused. */
async function throughProxy(
  http: HttpWay,
  sandbox: Sandbox,
  to: HostAndPort,
  client: Socket,
  head: Buffer,
): Promise<void> {
  const end = (refusal: Parameters<typeof plainAnswer>[0]) => refuse(client, { is: 'http' }, refusal);
  const verdict = await sandbox.may(to);
  if (!verdict.allow) return end(refusalOf(showHostAndPort(to), verdict.reason, verdict.why));
  const { isPrivateAllowed } = verdict;
  let upstream: Socket;
  try {
    upstream = await sandbox.dial(to, isPrivateAllowed);
  } catch (error) {
    return end(faultOf(to, error as Error));
  }
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) client.unshift(head);
  await tunnel(http, sandbox, { ...to, isPrivateAllowed, isOpened: false }, client, upstream);
}

/**
 * Nothing of the program's reaches the server before it is known what it speaks, and to whom. A server that speaks first is passed on at once: until
 * then either side may be the one that begins.
 */
async function tunnel(http: HttpWay, sandbox: Sandbox, to: Only, client: Socket, upstream: Socket): Promise<void> {
  const leave = () => upstream.destroy();
  client.once('close', leave);
  let hasSpoken = false;
  const speaks = () => {
    hasSpoken = true;
    passOn(upstream, client);
  };
  upstream.once('readable', speaks);
  const peeked = await readSpeech(client, null);
  upstream.off('readable', speaks);
  // It left, or did before: the server's connection ends with it.
  if (client.destroyed) return void upstream.destroy();
  const wrong = wrongIn(peeked?.found ?? null, to, hasSpoken);
  if (wrong !== null) {
    const { reason, why } = wrong;
    sandbox.refused(to, reason, why);
    if (hasSpoken) client.destroy();
    else refuse(client, peeked?.found ?? null, refusalOf(showHostAndPort(to), reason, why));
    upstream.destroy();
  } else if (peeked?.found.is === 'http') http.take(client, { sandbox, only: to, upstream });
  else if (peeked?.found.is === 'tls' && !hasSpoken && hasKeys(sandbox, to)) {
    try {
      const opened = await sandbox.open(client, upstream, to);
      http.take(opened.client, { sandbox, only: { ...to, isOpened: true }, upstream: opened.upstream });
    } catch {
      // The program is not to believe our certificate where the server's is not valid.
      const why = 'its certificate is not valid';
      sandbox.refused(to, 'invalid', why);
      refuse(client, peeked.found, refusalOf(showHostAndPort(to), 'invalid', why));
      upstream.destroy();
    }
  } else {
    // What it sent last may still be on its way.
    client.off('close', leave);
    if (!hasSpoken) passOn(upstream, client);
    if (peeked !== null && peeked.rest.length > 0) upstream.write(peeked.rest);
    passOn(client, upstream);
  }
}

const hasKeys = (sandbox: Sandbox, to: HostAndPort): boolean =>
  sandbox.keys().some(({ host, port }) => host === to.host && port === to.port);

function wrongIn(
  speech: Speech | null,
  to: HostAndPort,
  hasSpoken: boolean,
): { readonly reason: Reason; readonly why: string } | null {
  if (speech === null) return { reason: 'invalid', why: 'it did not say what it is' };
  if (speech.is === 'broken') return { reason: 'invalid', why: speech.why };
  if (speech.is === 'tls' && speech.name !== null && hostNameOf(speech.name) !== to.host) {
    return { reason: 'mismatch', why: 'its TLS handshake names another host' };
  }
  // To pass on its requests one by one, the server must not have begun with something else.
  if (speech.is === 'http' && hasSpoken) return { reason: 'invalid', why: 'its server spoke before the HTTP request' };
  return null;
}
