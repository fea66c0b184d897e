/** The floor: teams and bots at the left, their panes in the middle, the inspector at the right; one stack in narrow windows. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { ArrowLeft, PanelRight } from 'lucide-react';
import { lazy, type ReactNode, type RefObject, Suspense, useCallback, useMemo, useRef, useState } from 'react';
import type { Action } from '../../base/actions.ts';

import { useBotName, useHere } from '../../base/computers.tsx';
import type { PlacedBot } from '../../base/data/places.ts';
import { useBots, useFloors, useFloorsComplete } from '../../base/floors.tsx';
import { pathOfView } from '../../base/rail-places.ts';
import { OnComputer, useAddActions, useServices, useSettings } from '../../base/services.tsx';
import { useNarrow, useTight } from '../../base/use-narrow.ts';
import { backAction, filterAction, focusIn } from '../../base/way-back.ts';
import { IconButton } from '../../ui/button.tsx';
import { later } from '../../ui/later.ts';
import { Sheet } from '../../ui/sheet.tsx';
import { BesideColumn, useBeside } from './changes/beside-column.tsx';
import { Composer } from './composer.tsx';
import { LastDeliveries } from './deliveries.tsx';
import { useBotOfAddress, useOpenAsking, useTeamActions, useUnknownRequests } from './floor-hooks.ts';
import { FloorList } from './floor-list.tsx';
import type { FloorState } from './floor-state.tsx';
import { Inspector } from './inspector.tsx';
import { LayoutMenu } from './layout-menu.tsx';
import { type Layouts, readLayouts, teamOfLayout } from './layouts.ts';
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

/** One pane fills a narrow window: there, the list shows who asks. */
const noBots: readonly PlacedBot[] = [];

export function FloorPage() {
  const { queries } = useServices();
  const { filter } = useSearch({ from: '/floor' });
  const navigate = useNavigate();
  const narrow = useNarrow();
  const tight = useTight();
  const complete = useFloorsComplete();
  const here = useHere();
  const workspace = useQuery(queries.workspace).data;
  const dialogs = useTeamDialogs();
  const inspector = useInspector(tight);
  const { shown: inspectorShown, toggle } = inspector;
  const beside = useBeside();
  const { show: showBeside } = beside;
  const page = useRef<HTMLDivElement>(null);
  const { state, openBot, openAndType, typeInFocused, leave } = useFocus();
  const { agents, focused } = state;
  const agent = agents.find((one) => one.id === focused) ?? null;
  const besides = agent === null ? undefined : beside.look;
  // It takes the place of what is beside the pane.
  const toggleInspector = useCallback(() => {
    if (besides !== undefined) showBeside(undefined);
    if (besides === undefined || !inspectorShown) toggle();
  }, [besides, showBeside, inspectorShown, toggle]);
  // The panes of a computer that is away are laid out as they were last, whatever its engine is.
  const layout = workspace?.engineId ?? (here.away ? here.id : null);

  const [layouts, setLayouts] = useLayouts(layout);
  const teams = [...new Set(agents.map((one) => one.team))];

  useUnknownRequests(complete ? agents : undefined);
  useBotOfAddress(agents, focused);
  useOpenAsking(narrow ? noBots : agents);
  useTeamActions(dialogs.setAsk);
  const back = useCallback(() => {
    if (narrow) leave();
    else focusIn(page, '[data-bot][aria-current]', '[data-bot]', '[data-row]');
  }, [narrow, leave]);
  useFloorActions({
    page,
    type: typeInFocused,
    toggleInspector,
    back,
    adopt: dialogs.setAdopt,
    // The sample has it.
    demo: workspace?.demo === true ? null : dialogs.setDemo,
  });

  const list = (
    <FloorList
      filter={filter ?? ''}
      onFilter={(typed) =>
        void navigate({
          to: '/floor',
          search: (old) => ({ ...old, filter: typed === '' ? undefined : typed }),
          replace: true,
        })
      }
      selected={focused}
      onOpen={openAndType}
      onTeam={dialogs.setAsk}
      onDemo={() => dialogs.setDemo(true)}
      onAdopt={() => dialogs.setAdopt(true)}
    />
  );
  const inspected = (
    <OnComputer computer={agent?.place.scope ?? null}>
      <Inspector agent={agent} agents={agents} onBeside={() => beside.show('changes')} />
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
        <FloorHeader
          bot={narrow ? agent : null}
          onBack={leave}
          folder={workspace?.path}
          layouts={
            !narrow &&
            layouts !== null &&
            agents.length > 0 && (
              <LayoutMenu
                layouts={layouts}
                teams={teams}
                onChange={(next) => {
                  setLayouts(next);
                  leave();
                }}
              />
            )
          }
          inspector={inspector.shown && besides === undefined}
          onInspector={toggleInspector}
        />
        {narrow && agent === null ? (
          list
        ) : (
          <Panes agent={agent} state={state} layouts={complete ? layouts : null} onTarget={openBot} />
        )}
      </main>
      {agent !== null && besides !== undefined ? (
        <BesideColumn agent={agent} look={besides} tight={tight} onClose={() => beside.show(undefined)} />
      ) : tight ? (
        <Sheet open={inspector.shown} onOpenChange={inspector.setSheet} title="Inspector">
          {inspected}
        </Sheet>
      ) : (
        inspector.shown && (
          <aside aria-label="Inspector" className="flex w-80 shrink-0 flex-col border-l border-line">
            {inspected}
          </aside>
        )
      )}
      {dialogs.dialogs}
    </div>
  );
}

/** The bot's pane, or all panes as they are laid out, once that is known. */
function Panes({
  agent,
  state,
  layouts,
  onTarget,
}: {
  agent: PlacedBot | null;
  state: ReturnType<typeof useFocus>['state'];
  layouts: Layouts | null;
  onTarget: (bot: PlacedBot) => void;
}) {
  const narrow = useNarrow();
  return (
    <>
      <div className="min-h-0 flex-1">
        <Suspense>
          {narrow
            ? agent !== null && <OnePane agent={agent} state={state} />
            : layouts !== null && (
                <Dock key={layouts.key} layoutKey={layouts.key} team={teamOfLayout(layouts.shown)} state={state} />
              )}
        </Suspense>
      </div>
      <OnComputer computer={agent?.place.scope ?? null}>
        {agent !== null && <LastDeliveries agentId={agent.id} harness={agent.binding.harness} />}
        <Composer place="floor" bots={state.agents} target={agent} onTarget={onTarget} />
      </OnComputer>
    </>
  );
}

/** The bot in focus, which the address names, and the ways to change it. */
function useFocus() {
  const focused = useSearch({ from: '/floor' }).bot ?? null;
  const agents = useBots();
  const navigate = useNavigate();
  const router = useRouter();
  const openBot = useOpenBot('floor');
  const [typing, setTyping] = useState<FloorState['typing']>({ botId: null, count: 0 });
  const leaving = useRef(false);

  const focus = useCallback(
    (botId: string) => {
      // The next pane becomes active while a detached one leads elsewhere, and while another page is still loading.
      if (leaving.current || router.latestLocation.pathname !== '/floor') return;
      void navigate({
        to: '/floor',
        search: (old) => (old.bot === botId ? old : { ...old, bot: botId, file: undefined }),
        replace: true,
      });
    },
    [navigate, router],
  );
  const detached = useCallback(
    (botId: string, originView: string | null) => {
      const path = originView === null ? null : pathOfView(originView);
      if (path !== null && path !== '/floor') {
        leaving.current = true;
        void navigate({ to: path });
        return;
      }
      void navigate({
        to: '/floor',
        search: (old) => (old.bot === botId ? { ...old, bot: undefined } : old),
        replace: true,
      });
    },
    [navigate],
  );
  const type = useCallback((botId: string) => setTyping(({ count }) => ({ botId, count: count + 1 })), []);
  const typeInFocused = useCallback(() => {
    if (focused !== null) type(focused);
  }, [focused, type]);
  const openAndType = useCallback(
    (one: PlacedBot) => {
      openBot(one);
      type(one.id);
    },
    [openBot, type],
  );
  /** Back to the list, where there is room for one of both. */
  const leave = useCallback(
    () => void navigate({ to: '/floor', search: (old) => ({ ...old, bot: undefined }) }),
    [navigate],
  );
  const isAsked = useCallback(
    (botId: string) => {
      const { bot } = router.latestLocation.search;
      return bot === botId;
    },
    [router],
  );
  const state = { agents, focused, typing, focus, type, detached, isAsked } satisfies FloorState;
  return { state, openBot, openAndType, typeInFocused, leave };
}

/** The layouts of this floor, and how to change which one is shown; null until it is known whose floor it is. */
function useLayouts(floor: string | null): [Layouts | null, (layouts: Layouts) => void] {
  const [changed, setChanged] = useState<{ floor: string; layouts: Layouts } | null>(null);
  const read = useMemo(() => (floor === null ? null : readLayouts(localStorage, floor)), [floor]);
  const set = useCallback((layouts: Layouts) => floor !== null && setChanged({ floor, layouts }), [floor]);
  return [changed !== null && changed.floor === floor ? changed.layouts : read, set];
}

/** Beside the panes it stays as it was left; over them it opens when somebody asks. */
function useInspector(tight: boolean) {
  const { settings } = useServices();
  const { inspectorOpen } = useSettings();
  const [sheet, setSheet] = useState(false);
  const toggle = useCallback(() => {
    if (tight) setSheet((open) => !open);
    else settings.set({ inspectorOpen: !settings.get().inspectorOpen });
  }, [tight, settings]);
  return { shown: tight ? sheet : inspectorOpen, toggle, setSheet };
}

interface FloorActions {
  readonly page: RefObject<HTMLElement | null>;
  readonly type: () => void;
  readonly toggleInspector: () => void;
  readonly back: () => void;
  readonly adopt: (open: true) => void;
  /** Null: there is nothing to add. */
  readonly demo: ((open: true) => void) | null;
}

/** What the keyboard and the palette can do on the floor. */
function useFloorActions(floor: FloorActions): void {
  const { page, type, toggleInspector, back, adopt, demo } = floor;
  const actions = useMemo<readonly Action[]>(
    () => [
      filterAction(page, 'Filter bots'),
      {
        id: 'composer',
        title: 'Leave the terminal and write a message',
        group: 'Pane',
        keys: 'Ctrl Shift L',
        run: () => focusIn(page, '[data-composer]'),
      },
      { id: 'terminal', title: 'Type in the pane', group: 'Pane', keys: 't', run: type },
      { id: 'inspector', title: 'Show or hide the inspector', group: 'View', keys: 'i', run: toggleInspector },
      backAction(page, back),
      { id: 'adopt', title: 'Adopt a conversation', group: 'Bots', run: () => adopt(true) },
      ...(demo === null
        ? []
        : [{ id: 'demo', title: 'Add the demo team', group: 'Teams', run: () => demo(true) } satisfies Action]),
    ],
    [page, type, toggleInspector, back, adopt, demo],
  );
  useAddActions(actions);
}

function FloorHeader({
  bot,
  onBack,
  folder,
  layouts,
  inspector,
  onInspector,
}: {
  /** The only pane shown, with a way back; null: the list or all panes are shown. */
  bot: PlacedBot | null;
  onBack: () => void;
  /** Of the workspace; undefined: not known yet. */
  folder: string | undefined;
  /** Chooses the layout of the panes. */
  layouts: ReactNode;
  /** Whether it is shown. */
  inspector: boolean;
  onInspector: () => void;
}) {
  const { computer } = useSearch({ from: '/floor' });
  // Where several computers are shown, no single folder is the floor’s.
  const oneFloor = useFloors().length <= 1 || computer !== undefined;
  return (
    <header className="flex h-10 shrink-0 items-center gap-2 border-b border-line bg-panel px-3">
      {bot !== null && (
        <IconButton label="Back to the list" onClick={onBack}>
          <ArrowLeft aria-hidden="true" />
        </IconButton>
      )}
      <h1 className="min-w-0 truncate text-title font-semibold">{bot?.name ?? 'Floor'}</h1>
      {folder !== undefined && oneFloor && (
        <span className="min-w-0 truncate text-meta text-muted" title={folder}>
          {shortPath(folder)}
        </span>
      )}
      <span className="ml-auto flex shrink-0 items-center gap-1">
        {layouts}
        <IconButton
          label={inspector ? 'Hide the inspector' : 'Show the inspector'}
          shortcut="i"
          aria-pressed={inspector}
          onClick={onInspector}
        >
          <PanelRight aria-hidden="true" />
        </IconButton>
      </span>
    </header>
  );
}

const doNothing = (): void => {};

/** The pane of one bot, where there is no room for more. */
function OnePane({ agent, state }: { agent: PlacedBot; state: FloorState }) {
  const { detached } = state;
  const onDetach = useCallback(() => detached(agent.id, null), [detached, agent.id]);
  return (
    <OnComputer computer={agent.place.scope}>
      <Pane
        key={agent.id}
        agent={agent}
        name={useBotName(agent)}
        active
        focusRequest={0}
        onFocus={doNothing}
        onDetach={onDetach}
      />
    </OnComputer>
  );
}

/** The end of a path tells workspaces apart; the whole is in the tooltip. */
function shortPath(path: string): string {
  const parts = path.split(/[\\/]/).filter(Boolean);
  return parts.length > 3 ? `…/${parts.slice(-2).join('/')}` : path;
}
