/** The floor: teams and bots at the left, their panes in the middle, the inspector at the right; one stack where it is narrow. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { ArrowLeft, PanelRight } from 'lucide-react';
import { lazy, Suspense, useCallback, useMemo, useRef, useState } from 'react';
import type { Action } from '../../base/actions.ts';

import { useHere } from '../../base/computers.tsx';
import type { PlacedBot } from '../../base/data/places.ts';
import { useBots, useFloors, useFloorsComplete } from '../../base/floors.tsx';
import { pathOfView } from '../../base/rail-places.ts';
import { OnComputer, useAddActions, useServices, useSettings } from '../../base/services.tsx';
import { useNarrow, useTight } from '../../base/use-narrow.ts';
import { backAction, filterAction, focusIn } from '../../base/way-back.ts';
import { IconButton } from '../../ui/button.tsx';
import { later } from '../../ui/later.ts';
import { Sheet } from '../../ui/sheet.tsx';
import { Composer } from './composer.tsx';
import { LastDeliveries } from './deliveries.tsx';
import { useBotOfAddress, useTeamActions, useUnknownRequests } from './floor-hooks.ts';
import { FloorList } from './floor-list.tsx';
import type { FloorState } from './floor-state.tsx';
import { Inspector } from './inspector.tsx';
import { useOpenBot } from './use-open-bot.ts';
import { useTeamDialogs } from './use-team-dialogs.tsx';

/** A terminal measures its font once, when it opens: the font has to be there by then. Without it another one serves. */
const fontReady = (): Promise<unknown> => document.fonts.load('12.5px "JetBrains Mono Variable"').catch(() => []);
const Dock = lazy(
  later(async () => {
    const [module] = await Promise.all([import('./dock.tsx'), fontReady()]);
    return { default: module.Dock };
  }),
);
const Pane = lazy(
  later(async () => {
    const [module] = await Promise.all([import('./pane.tsx'), fontReady()]);
    return { default: module.Pane };
  }),
);

export function FloorPage() {
  const { queries, settings } = useServices();
  const { inspectorOpen } = useSettings();
  const search = useSearch({ from: '/floor' });
  const navigate = useNavigate();
  const narrow = useNarrow();
  const tight = useTight();
  const agents = useBots();
  const complete = useFloorsComplete();
  /** Where several computers are shown, no single folder is the floor’s. */
  const several = useFloors().length > 1;
  const oneFloor = !several || search.computer !== undefined;
  const here = useHere();
  const workspace = useQuery(queries.workspace);
  const openBot = useOpenBot('floor');
  const { setAsk, setDemo, setAdopt, dialogs } = useTeamDialogs();
  const [sheet, setSheet] = useState(false);
  const [focusRequest, setFocusRequest] = useState(0);
  const [scrollbackOf, showScrollback] = useState<string | null>(null);
  const page = useRef<HTMLDivElement>(null);
  const router = useRouter();
  const leaving = useRef(false);

  // The panes of a computer that is away are laid out as they were last, whatever its engine is.
  const layout = workspace.data?.engineId ?? (here.away ? here.id : null);
  const focused = search.bot ?? null;
  const agent = agents.find((one) => one.id === focused) ?? null;
  const focus = useCallback(
    (botId: string) => {
      // The next pane becomes active while a detached one leads elsewhere, and while another page is still loading.
      if (leaving.current || router.latestLocation.pathname !== '/floor') return;
      void navigate({
        to: '/floor',
        search: (old) => (old.bot === botId ? old : { ...old, bot: botId }),
        replace: true,
      });
    },
    [navigate, router],
  );
  const openAndType = useCallback(
    (one: PlacedBot) => {
      openBot(one);
      setFocusRequest((count) => count + 1);
    },
    [openBot],
  );
  const detached = useCallback(
    (botId: string, originView: string | null) => {
      showScrollback((open) => (open === botId ? null : open));
      const path = originView === null ? null : pathOfView(originView);
      if (path !== null && path !== '/floor') {
        leaving.current = true;
        void navigate({ to: path });
      } else
        void navigate({
          to: '/floor',
          search: (old) => (old.bot === botId ? { ...old, bot: undefined } : old),
          replace: true,
        });
    },
    [navigate],
  );

  useUnknownRequests(complete ? agents : undefined);
  useBotOfAddress(agents, focused);

  const actions = useMemo<readonly Action[]>(() => {
    return [
      filterAction(page, 'Filter bots'),
      {
        id: 'composer',
        title: 'Leave the terminal and write a message',
        group: 'Pane',
        keys: 'Ctrl Shift L',
        run: () => focusIn(page, '[data-composer]'),
      },
      {
        id: 'scrollback',
        title: 'Scrollback and search of the pane',
        group: 'Pane',
        keys: 'Ctrl Shift F',
        run: () => showScrollback((open) => (open === focused ? null : focused)),
      },
      {
        id: 'terminal',
        title: 'Type in the pane',
        group: 'Pane',
        keys: 't',
        run: () => setFocusRequest((count) => count + 1),
      },
      {
        id: 'inspector',
        title: 'Show or hide the inspector',
        group: 'View',
        keys: 'i',
        run: () => (tight ? setSheet((open) => !open) : settings.set({ inspectorOpen: !settings.get().inspectorOpen })),
      },
      backAction(page, () => {
        if (narrow) void navigate({ to: '/floor', search: (old) => ({ ...old, bot: undefined }) });
        else focusIn(page, '[data-bot][aria-current]', '[data-bot]', '[data-row]');
      }),
      { id: 'adopt', title: 'Adopt a session', group: 'Bots', run: () => setAdopt(true) },
      ...(workspace.data?.demo === true
        ? []
        : [{ id: 'demo', title: 'Add the demo team', group: 'Teams', run: () => setDemo(true) } satisfies Action]),
    ];
  }, [focused, narrow, navigate, settings, tight, workspace.data?.demo, setDemo, setAdopt]);
  useAddActions(actions);
  useTeamActions(setAsk);

  const list = (
    <FloorList
      filter={search.filter ?? ''}
      onFilter={(filter) =>
        void navigate({
          to: '/floor',
          search: (old) => ({ ...old, filter: filter === '' ? undefined : filter }),
          replace: true,
        })
      }
      selected={focused}
      onOpen={openAndType}
      onTeam={setAsk}
      onDemo={() => setDemo(true)}
      onAdopt={() => setAdopt(true)}
    />
  );
  const state: FloorState = {
    agents,
    focused,
    focusRequest,
    scrollbackOf,
    focus,
    showScrollback,
    detached,
  };
  const foot = (
    <OnComputer computer={agent?.place.scope ?? null}>
      {agent !== null && <LastDeliveries agentId={agent.id} harness={agent.binding.harness} />}
      <Composer place="floor" bots={agents} target={agent} onTarget={openBot} />
    </OnComputer>
  );
  const inspector = (
    <OnComputer computer={agent?.place.scope ?? null}>
      <Inspector agent={agent} agents={agents} />
    </OnComputer>
  );

  return (
    <div ref={page} className="flex min-w-0 flex-1">
      {!narrow && (
        <aside aria-label="Bots" className="flex w-60 shrink-0 flex-col border-r border-line">
          {list}
        </aside>
      )}
      <main className="flex min-h-0 min-w-0 flex-1 flex-col">
        <header className="flex h-10 shrink-0 items-center gap-2 border-b border-line bg-panel px-3">
          {narrow && agent !== null && (
            <IconButton
              label="Back to the list"
              onClick={() => void navigate({ to: '/floor', search: (old) => ({ ...old, bot: undefined }) })}
            >
              <ArrowLeft aria-hidden="true" />
            </IconButton>
          )}
          <h1 className="min-w-0 truncate text-title font-semibold">
            {narrow && agent !== null ? agent.name : 'Floor'}
          </h1>
          {workspace.data !== undefined && oneFloor && (
            <span className="min-w-0 truncate text-meta text-muted" title={workspace.data.path}>
              {shortPath(workspace.data.path)}
            </span>
          )}
          <span className="ml-auto shrink-0">
            <IconButton
              label={tight || !inspectorOpen ? 'Show the inspector' : 'Hide the inspector'}
              shortcut="i"
              aria-pressed={tight ? sheet : inspectorOpen}
              onClick={() => (tight ? setSheet(true) : settings.set({ inspectorOpen: !inspectorOpen }))}
            >
              <PanelRight aria-hidden="true" />
            </IconButton>
          </span>
        </header>
        {narrow ? (
          agent === null ? (
            list
          ) : (
            <>
              <div className="min-h-0 flex-1">
                <Suspense>
                  <OnComputer computer={agent.place.scope}>
                    <Pane
                      key={agent.id}
                      agent={agent}
                      active
                      focusRequest={0}
                      scrollbackOpen={scrollbackOf === agent.id}
                      onScrollback={(open) => showScrollback(open ? agent.id : null)}
                      onFocus={() => {}}
                      onDetach={() => detached(agent.id, null)}
                    />
                  </OnComputer>
                </Suspense>
              </div>
              {foot}
            </>
          )
        ) : (
          <>
            <div className="min-h-0 flex-1">
              <Suspense>{layout !== null && complete && <Dock layout={layout} state={state} />}</Suspense>
            </div>
            {foot}
          </>
        )}
      </main>
      {!tight && inspectorOpen && (
        <aside aria-label="Inspector" className="flex w-80 shrink-0 flex-col border-l border-line">
          {inspector}
        </aside>
      )}
      {tight && (
        <Sheet open={sheet} onOpenChange={setSheet} title="Inspector">
          {inspector}
        </Sheet>
      )}
      {dialogs}
    </div>
  );
}

/** The end of a path tells workspaces apart; the whole is in the tooltip. */
function shortPath(path: string): string {
  const parts = path.split(/[\\/]/).filter(Boolean);
  return parts.length > 3 ? `…/${parts.slice(-2).join('/')}` : path;
}
