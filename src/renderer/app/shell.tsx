/** The frame around every view: rail, view, status bar; palette, shortcuts, toasts, window events. */
import { useQuery } from '@tanstack/react-query';
import { Outlet, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState } from 'react';
import { Toaster } from 'sonner';
import { AppError } from '../../contracts/common/errors.ts';
import { type Action, useAddActions, useAllActions } from './actions.ts';
import { AnnounceNeeds } from './announce-needs.tsx';
import { SignedOutPage } from './broken-page.tsx';
import { ObeyWindowEvents } from './obey-window-events.tsx';
import { places } from './places.ts';
import { Rail } from './rail.tsx';
import { useLink, useServices } from './services.tsx';
import { useShortcuts } from './shortcuts.ts';
import { LinkNotice, StatusBar } from './status-bar.tsx';
import { useNarrow } from './use-narrow.ts';
import { useTheme } from './use-theme.ts';
import { useWaiting } from './use-waiting.ts';
import { dispatchWindowEvent } from './window-events.ts';

const Palette = lazy(() => import('./palette.tsx').then((module) => ({ default: module.Palette })));
const ShortcutsDialog = lazy(() =>
  import('./shortcuts-dialog.tsx').then((module) => ({ default: module.ShortcutsDialog })),
);

export function Shell() {
  const scheme = useTheme();
  const narrow = useNarrow();
  const { queries, settings } = useServices();
  const navigate = useNavigate();
  const session = useQuery(queries.session);
  const link = useLink();
  const agents = useQuery(queries.agents);
  const waiting = useWaiting();
  const [overlay, setOverlay] = useState<'palette' | 'shortcuts' | null>(null);

  const actions = useMemo<readonly Action[]>(() => {
    const palette = () => setOverlay('palette');
    return [
      ...places.map(
        (place): Action => ({
          id: `go-${place.path}`,
          title: place.name,
          group: 'Go to',
          keys: `g ${place.letter}`,
          run: () => void navigate({ to: place.path }),
        }),
      ),
      { id: 'palette', title: 'Find a command', group: 'Help', keys: 'Ctrl K', hidden: true, run: palette },
      {
        id: 'palette-terminal',
        title: 'Find a command, also from a terminal',
        group: 'Help',
        keys: 'Ctrl Shift P',
        hidden: true,
        run: palette,
      },
      { id: 'shortcuts', title: 'Show all shortcuts', group: 'Help', keys: '?', run: () => setOverlay('shortcuts') },
      ...(['system', 'dark', 'light'] as const).map(
        (theme): Action => ({
          id: `theme-${theme}`,
          title: theme === 'system' ? 'Theme as the computer has it' : `${theme === 'dark' ? 'Dark' : 'Light'} theme`,
          group: 'View',
          run: () => settings.set({ theme }),
        }),
      ),
    ];
  }, [navigate, settings]);
  useAddActions(actions);

  const bots = agents.data?.agents;
  const botActions = useMemo<readonly Action[]>(
    () =>
      (bots ?? []).map((agent) => ({
        id: `open-${agent.id}`,
        title: `Open ${agent.address}`,
        group: 'Bots',
        run: () =>
          dispatchWindowEvent('platform:factory-attach-pane', {
            paneId: agent.pane?.id ?? agent.id,
            botId: agent.id,
            originView: 'floor',
          }),
      })),
    [bots],
  );
  useAddActions(botActions);
  useShortcuts(useAllActions());

  const refused = [link.error, session.error].some((error) => error instanceof AppError && error.status === 401);
  if (refused) return <SignedOutPage />;
  const needs = { '/': waiting.bots, '/work': waiting.steps, '/inbox': waiting.approvals };
  const rail = <Rail needs={needs} narrow={narrow} onPalette={() => setOverlay('palette')} />;
  return (
    <div className="flex h-dvh flex-col bg-window text-ui">
      <ObeyWindowEvents />
      <AnnounceNeeds />
      <div className="flex min-h-0 flex-1">
        {!narrow && rail}
        <Outlet />
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
        toastOptions={{
          classNames: {
            toast: '!rounded-panel !border !border-line !bg-raised !font-sans !text-ui !text-ink !shadow-float',
            description: '!text-muted',
            actionButton:
              '!h-7 !rounded-control !bg-raised !border !border-solid !border-line-strong !text-ink !font-medium',
          },
        }}
      />
    </div>
  );
}
