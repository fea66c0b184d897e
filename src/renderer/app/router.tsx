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
import { TaskStatus } from '../../contracts/work-queue/task.ts';
import { HomePage } from '../areas/home/home-page.tsx';
import { later } from '../data/later.ts';
import { BrokenPage, UnknownPage } from './broken-page.tsx';
import { Shell } from './shell.tsx';

/** A link that somebody wrote may have a bare number where the page itself writes a text. */
const text = z
  .union([z.string(), z.number().transform(String)])
  .pipe(z.string().max(300))
  .optional()
  .catch(undefined);

/** The computer that is looked at: it stays in the address from page to page. */
const rootSearch = z.object({ computer: text });

const rootRoute = createRootRoute({
  validateSearch: rootSearch,
  search: { middlewares: [retainSearchParams(['computer'])] },
  component: Shell,
  notFoundComponent: UnknownPage,
  errorComponent: BrokenPage,
});

/** The names `allternit_thread`, `allternit_channel` and `bot` are part of the wire format of notification links. */
export const homeSearch = z.object({ allternit_thread: text, allternit_channel: text, bot: text });
export const workSearch = z.object({
  /** What runs by itself, in place of the campaigns. */
  schedules: text,
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
/** The open task, and the page and filters of the list of tasks; the names are those of the API. */
export const tasksSearch = z.object({
  status: TaskStatus.optional().catch(undefined),
  session_id: text,
  deployment_id: text,
  worker_id: text,
  cursor: z.string().max(500).optional().catch(undefined),
  task: text,
});
export type TasksSearch = z.infer<typeof tasksSearch>;
/** A server whose tools are shown (an attached one by its name), a tool that is open, and what the list is narrowed to. */
export const toolsSearch = z.object({ server: text, tool: text, filter: text });
export type ToolsSearch = z.infer<typeof toolsSearch>;
/** A hosted computer, a run of the computer that is looked at, and whether a new one is being put together. */
export const computersSearch = z.object({ hosted: text, run: text, start: text });
export type ComputersSearch = z.infer<typeof computersSearch>;
/**
 * A connector, an event of it that is being subscribed to, a subscription with the part of it that is shown, a run; or an app that was
 * let in. `cursor`: which page of what is listed.
 */
export const connectorsSearch = z.object({
  connector: text,
  event: text,
  sub: text,
  part: z.enum(['rules', 'runs']).optional().catch(undefined),
  state: text,
  run: text,
  app: text,
  cursor: z.string().max(500).optional().catch(undefined),
});
export type ConnectorsSearch = z.infer<typeof connectorsSearch>;
/**
 * A number, with the part of it that is shown: whom it texts with, a call of it, or its registration. Or the person's own phone, or the
 * handsets of the simulated carrier. `cursor`, `older`: which page of consents and of opt-outs.
 */
export const phoneSearch = z.object({
  number: text,
  show: z.enum(['calls', 'people', 'register']).optional().catch(undefined),
  with: text,
  call: text,
  page: z.enum(['own', 'handsets']).optional().catch(undefined),
  cursor: z.string().max(500).optional().catch(undefined),
  older: z.string().max(500).optional().catch(undefined),
});
export type PhoneSearch = z.infer<typeof phoneSearch>;
/** The code that a computer shows. */
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
  component: lazyRouteComponent(
    later(() => import('../areas/factory/floor-page.tsx')),
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
