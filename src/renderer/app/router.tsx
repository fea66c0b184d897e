/** The addresses of the page. Filters and the focused bot are in them, so that a link shows what its sender saw. */
import { createRootRoute, createRoute, createRouter, redirect } from '@tanstack/react-router';
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
const settingsRoute = createRoute({ getParentRoute: () => rootRoute, path: '/settings', component: SettingsPage });
const indexRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/index.html',
  beforeLoad: () => {
    throw redirect({ to: '/' });
  },
});

export function createAppRouter() {
  return createRouter({ routeTree: rootRoute.addChildren([homeRoute, floorRoute, settingsRoute, indexRoute]) });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
