/** The addresses of the page. Filters and the focused bot are in them, so that a link shows what its sender saw. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { z } from 'zod';
import { FloorPage } from '../areas/factory/floor-page.tsx';
import { HomePage } from '../areas/home/home-page.tsx';
import { SettingsPage } from '../areas/settings/settings-page.tsx';
import { BrokenPage, UnknownPage } from './broken-page.tsx';
import { Shell } from './shell.tsx';

const text = z.string().max(300).optional().catch(undefined);

const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: UnknownPage,
  errorComponent: BrokenPage,
});

/** The names `allternit_thread`, `allternit_channel` and `bot` are fixed by the interface ("Links" of notifications). */
export const homeSearch = z.object({ allternit_thread: text, allternit_channel: text, bot: text });
export const workSearch = z.object({
  campaign: text,
  dag: text,
  node: text,
  /** Without one: the board by what matters. */
  view: z.enum(['waves', 'graph']).optional().catch(undefined),
  /** `1`: the step takes the whole main part. */
  full: text,
  filter: text,
  /** The dialog that starts a run: a template's id, or empty. */
  start: text,
});
export const ledgerSearch = z.object({ type: text, subject: text, actor: text, row: text });
export const floorSearch = z.object({ filter: text, bot: text, dialog: text });

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  component: HomePage,
  validateSearch: homeSearch,
});
const floorRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/floor',
  component: FloorPage,
  validateSearch: floorSearch,
});
const workRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/work',
  component: lazyRouteComponent(() => import('../areas/work/work-page.tsx'), 'WorkPage'),
  validateSearch: workSearch,
});
const inboxRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/inbox',
  component: lazyRouteComponent(() => import('../areas/inbox/inbox-page.tsx'), 'InboxPage'),
});
const ledgerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/ledger',
  component: lazyRouteComponent(() => import('../areas/ledger/ledger-page.tsx'), 'LedgerPage'),
  validateSearch: ledgerSearch,
});
const settingsRoute = createRoute({ getParentRoute: () => rootRoute, path: '/settings', component: SettingsPage });
const indexRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/index.html',
  beforeLoad: () => {
    throw redirect({ to: '/' });
  },
});

export function createAppRouter() {
  return createRouter({
    routeTree: rootRoute.addChildren([
      homeRoute,
      floorRoute,
      workRoute,
      inboxRoute,
      ledgerRoute,
      settingsRoute,
      indexRoute,
    ]),
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
