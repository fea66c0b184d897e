/** The addresses of the page. Filters and the focused bot are in them, so that a link shows what its sender saw. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router';
import { z } from 'zod';
import { computersSearch } from '../areas/computers/search.ts';
import { connectorsSearch } from '../areas/connectors/search.ts';
import { docsSearch } from '../areas/docs/search.ts';
import { floorSearch } from '../areas/floor/search.ts';
import { HomePage } from '../areas/home/home-page.tsx';
import { homeSearch } from '../areas/home/search.ts';
import { inboxSearch } from '../areas/inbox/search.ts';
import { ledgerSearch } from '../areas/ledger/search.ts';
import { phoneSearch } from '../areas/phone/search.ts';
import { historySearch, tasksSearch } from '../areas/queue/search.ts';
import { toolsSearch } from '../areas/tools/search.ts';
import { workSearch } from '../areas/work/search.ts';
import { searchText } from '../base/search-text.ts';
import { later } from '../ui/later.ts';
import { BrokenPage, UnknownPage } from './broken-page.tsx';
import { Shell } from './shell.tsx';

/** The computer that is looked at: it stays in the address from page to page. */
const rootSearch = z.object({ computer: searchText });

const rootRoute = createRootRoute({
  validateSearch: rootSearch,
  search: { middlewares: [retainSearchParams(['computer'])] },
  component: Shell,
  notFoundComponent: UnknownPage,
  errorComponent: BrokenPage,
});

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  component: HomePage,
  validateSearch: homeSearch,
});
const floorRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/floor',
  component: lazyRouteComponent(
    later(() => import('../areas/floor/floor-page.tsx')),
    'FloorPage',
  ),
  validateSearch: floorSearch,
});
const workRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/work',
  component: lazyRouteComponent(
    later(() => import('../areas/work/work-places.tsx')),
    'WorkPlaces',
  ),
  validateSearch: workSearch,
});
const inboxRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/inbox',
  component: lazyRouteComponent(
    later(() => import('../areas/inbox/inbox-page.tsx')),
    'InboxPage',
  ),
  validateSearch: inboxSearch,
});
const toolsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/tools',
  component: lazyRouteComponent(
    later(() => import('../areas/tools/tools-page.tsx')),
    'ToolsPage',
  ),
  validateSearch: toolsSearch,
});
const computersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/computers',
  component: lazyRouteComponent(
    later(() => import('../areas/computers/computers-page.tsx')),
    'ComputersPage',
  ),
  validateSearch: computersSearch,
});
const connectorsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/connectors',
  component: lazyRouteComponent(
    later(() => import('../areas/connectors/connectors-page.tsx')),
    'ConnectorsPage',
  ),
  validateSearch: connectorsSearch,
});
const phoneRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/phone',
  component: lazyRouteComponent(
    later(() => import('../areas/phone/phone-page.tsx')),
    'PhonePage',
  ),
  validateSearch: phoneSearch,
});
const ledgerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/ledger',
  component: lazyRouteComponent(
    later(() => import('../areas/ledger/ledger-page.tsx')),
    'LedgerPage',
  ),
  validateSearch: ledgerSearch,
});
const docsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/docs',
  component: lazyRouteComponent(
    later(() => import('../areas/docs/docs-page.tsx')),
    'DocsPage',
  ),
  validateSearch: docsSearch,
});
const queue = later(() => import('../areas/queue/pages.ts'));
const queueRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/queue',
    component: lazyRouteComponent(queue, 'QueuePage'),
    validateSearch: tasksSearch,
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/queue/history',
    component: lazyRouteComponent(queue, 'HistoryPage'),
    validateSearch: historySearch,
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/queue/sessions',
    component: lazyRouteComponent(queue, 'SessionsPage'),
    validateSearch: tasksSearch,
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/queue/deployments',
    component: lazyRouteComponent(queue, 'DeploymentsPage'),
    validateSearch: tasksSearch,
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/queue/sessions/$id',
    component: lazyRouteComponent(queue, 'SessionPage'),
    validateSearch: tasksSearch,
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/queue/deployments/$id',
    component: lazyRouteComponent(queue, 'DeploymentPage'),
    validateSearch: tasksSearch,
  }),
] as const;
const pairRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/pair',
  component: lazyRouteComponent(
    later(() => import('../areas/pair/pair-page.tsx')),
    'PairPage',
  ),
});
const settings = later(() => import('../areas/settings/pages.ts'));
const settingsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/settings',
  component: lazyRouteComponent(settings, 'SettingsFrame'),
});
const settingsPages = [
  createRoute({
    getParentRoute: () => settingsRoute,
    path: '/',
    beforeLoad: () => {
      throw redirect({ to: '/settings/general' });
    },
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: '/general',
    component: lazyRouteComponent(settings, 'GeneralPage'),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: '/set-up',
    component: lazyRouteComponent(settings, 'SetUpPage'),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: '/account',
    component: lazyRouteComponent(settings, 'AccountPage'),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: '/agent-accounts',
    component: lazyRouteComponent(settings, 'AgentAccountsPage'),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: '/keys',
    component: lazyRouteComponent(settings, 'KeysPage'),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: '/sign-ins',
    component: lazyRouteComponent(settings, 'SignInsPage'),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: '/computers',
    component: lazyRouteComponent(settings, 'ComputersPage'),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: '/notifications',
    component: lazyRouteComponent(settings, 'NotificationsPage'),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: '/usage',
    component: lazyRouteComponent(settings, 'UsagePage'),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: '/desktop',
    component: lazyRouteComponent(settings, 'DesktopPage'),
  }),
] as const;
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
      toolsRoute,
      connectorsRoute,
      computersRoute,
      phoneRoute,
      ledgerRoute,
      docsRoute,
      ...queueRoutes,
      pairRoute,
      settingsRoute.addChildren(settingsPages),
      indexRoute,
    ]),
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
