/** The page's calls: one client over the route tables, with the cookie as its credential and the session's CSRF value. Must not know React. */
import { createClient } from '../../../client/client.ts';
import { listApprovals, resolveApproval } from '../../../contracts/approvals/routes.ts';
import { peerInput, peerScreen, peerScrollback, peerSize, peerStream } from '../../../contracts/factory/peer-routes.ts';
import { factoryRoutes } from '../../../contracts/factory/routes.ts';
import { createKey, listKeys, revokeKey } from '../../../contracts/identity/keys.ts';
import { protectedResource } from '../../../contracts/identity/resource.ts';
import { endSession, getSession, listSessions, revokeSession } from '../../../contracts/identity/routes.ts';
import { listComputers, revokeComputer, updateComputer } from '../../../contracts/link/computers.ts';
import { localPairingRoutes } from '../../../contracts/link/local-pairing.ts';
import { approvePairing, denyPairing, readPairing } from '../../../contracts/link/pairings.ts';
import { notificationRoutes } from '../../../contracts/notifications/routes.ts';
import { getBudget, getUsage, setBudget } from '../../../contracts/usage/routes.ts';

/** An address that a computer serves, at the one that is meant; null: the one that answers when none is named. */
export function onComputer(url: string, computer: string | null): string {
  if (computer === null) return url;
  return `${url}${url.includes('?') ? '&' : '?'}computer=${encodeURIComponent(computer)}`;
}

/** The peer routes as the home cloud passes them on to a computer. */
const peerRoutesOf = (computer: string) => {
  const at = `/api/v1/computers/${encodeURIComponent(computer)}/factory-peer`;
  return [
    { ...peerStream, path: `${at}/stream` },
    { ...peerScreen, path: `${at}/screen` },
    { ...peerInput, path: `${at}/input` },
    { ...peerSize, path: `${at}/size` },
    { ...peerScrollback, path: `${at}/scrollback` },
  ] as const;
};

/** `anyComputer` throws while no computer answers requests that name none, so that they are not sent in vain. */
export function createApi(anyComputer: () => Promise<void>) {
  let csrf: Promise<string> | null = null;
  const ifGone = 'Start Gantry again on this computer; this page reconnects automatically.';
  const identity = createClient(
    [getSession, endSession, listSessions, revokeSession, listKeys, createKey, revokeKey, protectedResource],
    { where: 'Gantry', ifGone, csrf: () => readCsrf() },
  );
  /** Read once, again after a failure: a restarted server may have given out another. */
  function readCsrf(): Promise<string> {
    csrf ??= identity
      .getSession()
      .then((session) => session.csrf)
      .catch((error: unknown) => {
        csrf = null;
        throw error;
      });
    return csrf;
  }
  const person = { where: 'Gantry', ifGone, csrf: readCsrf };
  const on = (computer: string | null) => ({
    ...person,
    async fetch(input: string, init?: RequestInit) {
      if (computer === null) await anyComputer();
      return fetch(onComputer(input, computer), init);
    },
  });
  const factoryOf = (computer: string | null) => createClient(factoryRoutes, on(computer));
  return {
    factory: factoryOf(null),
    factoryOf,
    /** How a client of an area that is loaded later calls a computer; null: the one that answers when none is named. */
    wireOf: on,
    /** How it calls the person's home cloud, which answers without any computer. */
    home: person,
    /** What a computer serves to the person's other computers: bots that those started there. */
    peerOf: (computer: string) => createClient(peerRoutesOf(computer), person),
    approvals: createClient([listApprovals, resolveApproval], person),
    identity,
    computers: createClient(
      [listComputers, updateComputer, revokeComputer, readPairing, approvePairing, denyPairing],
      person,
    ),
    pairing: createClient(localPairingRoutes, person),
    notifications: createClient(notificationRoutes, person),
    usage: createClient([getUsage, getBudget, setBudget], person),
    /** Forgets the CSRF value, so that the next write reads the session again. */
    renewSession(): void {
      csrf = null;
    },
  };
}

export type Api = ReturnType<typeof createApi>;
export type FactoryApi = Api['factory'];
