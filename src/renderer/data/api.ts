/**
 * The calls of the page: one client over the route tables, with the cookie as its credential and the CSRF value that the
 * session gives. Must not know React.
 */
import { createClient } from '../../client/client.ts';
import { listApprovals, resolveApproval } from '../../contracts/approvals/routes.ts';
import { factoryRoutes } from '../../contracts/factory/routes.ts';
import { identityRoutes } from '../../contracts/identity/routes.ts';

export function createApi() {
  let csrf: Promise<string> | null = null;
  const ifGone = 'Start Gantry again on this computer; the page goes on by itself.';
  const identity = createClient(identityRoutes, { where: 'Gantry', ifGone, csrf: () => readCsrf() });
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
  return {
    factory: createClient(factoryRoutes, { where: 'Gantry', ifGone, csrf: readCsrf }),
    approvals: createClient([listApprovals, resolveApproval], { where: 'Gantry', ifGone, csrf: readCsrf }),
    identity,
    /** Forgets the CSRF value, so that the next write reads the session anew. */
    renewSession(): void {
      csrf = null;
    },
  };
}

export type Api = ReturnType<typeof createApi>;
export type FactoryApi = Api['factory'];
