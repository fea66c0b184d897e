/** The frame around every view: rail, view, status bar; palette, shortcuts, toasts, window events. */
import { useQuery } from '@tanstack/react-query';
import { Outlet, useLocation, useNavigate, useRouter } from '@tanstack/react-router';
import { type ComponentProps, lazy, Suspense, useMemo, useState } from 'react';
import { Toaster } from 'sonner';
import { AppError } from '../../contracts/common/errors.ts';
import { helpFor } from '../areas/docs/contents.ts';
import { sectionsIn } from '../areas/settings/sections.ts';
import type { Action } from '../base/actions.ts';
import { useOnlyComputer } from '../base/computers.tsx';
import { FloorsProvider, usePlaces } from '../base/floors.tsx';
import { useNoComputer } from '../base/no-computer.tsx';
import { places as railPlaces } from '../base/rail-places.ts';
import { OnComputer, useAddActions, useLink, useServices, useSettings } from '../base/services.tsx';
import { useUndoAction } from '../base/undo.ts';
import { useHomeCloud } from '../base/use-home-cloud.ts';
import { useNarrow, useRoomy } from '../base/use-narrow.ts';
import { useUnread } from '../base/use-news.ts';
import { useTheme } from '../base/use-theme.ts';
import { useWaiting } from '../base/use-waiting.ts';
import { later } from '../ui/later.ts';
import { AnnounceNeeds } from './announce-needs.tsx';
import { DemoPhoneBanner, FullDiskBanner } from './banners.tsx';
import { LateNotice } from './late-notice.tsx';
import { ObeyDesktop, ObeyWindowEvents, ObeyWorker } from './obey.tsx';
import { Rail } from './rail.tsx';
import { useShortcuts } from './shortcuts.ts';
import { NoComputerPage, SignedOutPage } from './signed-out-page.tsx';
import { LinkNotice, StatusBar } from './status-bar.tsx';

const Palette = lazy(later(() => import('./palette.tsx').then((module) => ({ default: module.Palette }))));
const ShortcutsDialog = lazy(
  later(() => import('./shortcuts-dialog.tsx').then((module) => ({ default: module.ShortcutsDialog }))),
);

/** Nothing behind it is read before it is known that somebody is signed in. */
export function Shell() {
  useTheme();
  const { queries } = useServices();
  const session = useQuery(queries.session);
  const link = useLink();
  const refused = [link.error, session.error].some((error) => error instanceof AppError && error.status === 401);
  if (refused) return <SignedOutPage ended={session.data !== undefined} />;
  return (
    <FloorsProvider>
      <Frame />
    </FloorsProvider>
  );
}

function Frame() {
  const scheme = useTheme();
  const narrow = useNarrow();
  const roomy = useRoomy();
  const { railWords } = useSettings();
  const { settings, desktop } = useServices();
  const navigate = useNavigate();
  const router = useRouter();
  const [overlay, setOverlay] = useState<'palette' | 'shortcuts' | null>(null);

  const actions = useMemo<readonly Action[]>(() => {
    const palette = () => setOverlay('palette');
    return [
      ...railPlaces.map(
        (place): Action => ({
          id: `go-${place.path}`,
          title: place.name,
          group: 'Go to',
          keys: `g ${place.letter}`,
          run: () => void navigate({ to: place.path }),
        }),
      ),
      ...sectionsIn(desktop !== null).map(
        (section): Action => ({
          id: `go-${section.path}`,
          title: `Settings: ${section.name}`,
          group: 'Go to',
          run: () => void navigate({ to: section.path }),
        }),
      ),
      {
        id: 'new-run',
        title: 'New run',
        group: 'Work',
        keys: 'N',
        changes: false,
        run: () => void navigate({ to: '/', search: { new: '1' } }),
      },
      { id: 'palette', title: 'Find a command', group: 'Help', keys: 'Ctrl K', hidden: true, run: palette },
      {
        id: 'palette-terminal',
        title: 'Find a command from a terminal',
        group: 'Help',
        keys: 'Ctrl Shift P',
        hidden: true,
        run: palette,
      },
      {
        id: 'help',
        title: 'Help for this page',
        group: 'Help',
        keys: 'F1',
        run: () => {
          const { pathname } = router.state.location;
          if (pathname !== '/docs') void navigate({ to: '/docs', search: { doc: helpFor(pathname) } });
        },
      },
      { id: 'shortcuts', title: 'Show all shortcuts', group: 'Help', keys: '?', run: () => setOverlay('shortcuts') },
      {
        id: 'screen-reader',
        title: 'Toggle screen reader mode in terminals',
        group: 'View',
        run: () => settings.set({ screenReader: !settings.get().screenReader }),
      },
      {
        id: 'rail-words',
        title: 'Show or hide the words of the rail',
        group: 'View',
        run: () => settings.set({ railWords: !settings.get().railWords }),
      },
      ...(['system', 'dark', 'light'] as const).map(
        (theme): Action => ({
          id: `theme-${theme}`,
          title: theme === 'system' ? 'System theme' : `${theme === 'dark' ? 'Dark' : 'Light'} theme`,
          group: 'View',
          run: () => settings.set({ theme }),
        }),
      ),
    ];
  }, [navigate, router, settings, desktop]);
  useAddActions(actions);
  useAddActions(useComputerActions());
  useUndoAction();
  useShortcuts();

  const clear = useLocation({ select: ({ pathname }) => pathname === '/' }) ? belowNewRun : belowBar;

  const rail = (
    <WaitingRail
      narrow={narrow}
      words={!roomy ? 'none' : railWords ? 'shown' : 'hidden'}
      onWords={(words) => settings.set({ railWords: words === 'shown' })}
      onPalette={() => setOverlay('palette')}
    />
  );
  return (
    <div className="flex h-(--seen) flex-col bg-window text-ui">
      <ObeyWindowEvents />
      <ObeyWorker />
      <ObeyDesktop />
      <AnnounceNeeds />
      <DemoPhoneBanner />
      <FullDiskBanner />
      <LateNotice />
      <div className="flex min-h-0 flex-1">
        {!narrow && rail}
        <View />
      </div>
      {narrow && <LinkNotice />}
      {narrow ? rail : <StatusBar />}
      <Suspense>
        {overlay === 'palette' && <Palette open onOpenChange={(open) => setOverlay(open ? 'palette' : null)} />}
        {overlay === 'shortcuts' && (
          <ShortcutsDialog open onOpenChange={(open) => setOverlay(open ? 'shortcuts' : null)} />
        )}
      </Suspense>
      <Toaster
        theme={scheme}
        position={narrow ? 'top-center' : 'top-right'}
        offset={clear}
        mobileOffset={clear}
        toastOptions={{
          classNames: {
            // A dialog takes the pointer from the rest of the page; a toast lies over it.
            toast:
              'pointer-events-auto !rounded-panel !border !border-line !bg-raised !font-sans !text-ui !text-ink !shadow-float',
            description: '!text-muted',
            actionButton:
              '!h-7 !rounded-control !bg-raised !border !border-solid !border-line-strong !text-ink !font-medium',
          },
        }}
      />
    </div>
  );
}

/** Of a toast, px from the top of the window: it covers neither the field of a new run, one or two lines high, nor the button of a page's bar. */
const belowNewRun = { top: 188 } as const;
const belowBar = { top: 56 } as const;

/** Drawn again when somebody waits or news comes, without the rest of the frame. */
function WaitingRail(props: Omit<ComponentProps<typeof Rail>, 'needs' | 'news'>) {
  const { bots, steps, approvals } = useWaiting();
  const needs = useMemo(() => ({ '/': bots, '/work': steps, '/inbox': approvals }), [bots, steps, approvals]);
  return <Rail needs={needs} news={useUnread()} {...props} />;
}

/** Places that show what is on a computer: without one there is nothing to show. */
const ofComputers: readonly string[] = ['/', '/floor', '/work', '/tools', '/connectors', '/ledger'];

function View() {
  const only = useOnlyComputer();
  const places = usePlaces();
  const { pathname } = useLocation();
  const scope = places.find((place) => place.id === only)?.scope ?? null;
  const none = useNoComputer();
  if (none && ofComputers.includes(pathname)) return <NoComputerPage />;
  return (
    <OnComputer computer={scope}>
      <Outlet />
    </OnComputer>
  );
}

/** The home cloud's name, and a choice of one computer if there are several. */
function useComputerActions(): readonly Action[] {
  const places = usePlaces();
  const navigate = useNavigate();
  const home = useHomeCloud();
  const cloud = home === null ? null : `Home cloud ${home.name}${home.linked === false ? ' (away)' : ''}`;
  return useMemo(() => {
    const toCloud: readonly Action[] =
      cloud === null
        ? []
        : [
            {
              id: 'home-cloud',
              title: cloud,
              group: 'Go to',
              run: () => void navigate({ to: '/settings/computers' }),
            },
          ];
    if (places.length < 2) return toCloud;
    const look = (title: string, computer: string | undefined): Action => ({
      id: `look-${computer ?? 'all'}`,
      title,
      group: 'View',
      run: () => void navigate({ to: '.', search: (old) => ({ ...old, computer }) }),
    });
    return [
      ...toCloud,
      ...places.map((place) => look(`Show ${place.name}${place.away ? ' (away)' : ''}`, place.id)),
      look('Show all computers', undefined),
    ];
  }, [places, navigate, cloud]);
}
