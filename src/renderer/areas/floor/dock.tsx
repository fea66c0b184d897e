/** Panes in tabs and splits, remembered in this browser. Loaded with the first pane, together with the terminal. */
import 'dockview-react/dist/styles/dockview.css';
import './dock.css';
import {
  type AddPanelPositionOptions,
  type DockviewApi,
  DockviewReact,
  type IDockviewPanelHeaderProps,
  type IDockviewPanelProps,
} from 'dockview-react';
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { z } from 'zod';
import { BotStatus } from '../../base/bot-status.tsx';
import { botName } from '../../base/data/places.ts';
import { readJson, writeJson } from '../../base/data/settings.ts';
import { isLive } from '../../base/is-live.ts';
import { OnComputer, useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { firstPanes } from './first-panes.ts';
import { FloorProvider, type FloorState, useFloor } from './floor-state.tsx';
import { Pane } from './pane.tsx';

const Params = z.object({ originView: z.string().nullable().catch(null) }).catch({ originView: null });
const theme = { name: 'gantry', className: 'dock-gantry', gap: 0 };
const components = { pane: DockPane };

export function Dock({
  layoutKey,
  team,
  state,
}: {
  /** Where this browser keeps the layout. */
  layoutKey: string;
  /** The bots that a layout without panes begins with; null: those of all teams. */
  team: string | null;
  state: FloorState;
}) {
  const { paneRequests } = useServices();
  const waiting = useSyncExternalStore(paneRequests.subscribe, paneRequests.waiting);
  const [dock, setDock] = useState<DockviewApi | null>(null);
  const latest = useRef(state);
  latest.current = state;
  const { agents, focused } = state;

  // Panels of bots that are no more go; what was asked for comes.
  useEffect(() => {
    if (dock === null) return;
    for (const panel of [...dock.panels]) {
      if (!agents.some((agent) => agent.id === panel.id)) dock.removePanel(panel);
    }
    for (const request of waiting) {
      const agent = agents.find((one) => one.id === request.botId || one.pane?.id === request.paneId);
      paneRequests.done(request);
      if (agent === undefined) continue;
      const present = dock.getPanel(agent.id);
      const aside = request.quiet === true && (isTyping() || dock.activePanel !== undefined);
      if (aside && present !== undefined) continue;
      const typedIn = aside ? document.activeElement : null;
      if (present !== undefined) {
        // Only what differs: opening an open panel again takes its content out of the page for a moment.
        if (request.originView !== null) present.api.updateParameters({ originView: request.originView });
        if (dock.activePanel !== present) present.api.setActive();
      } else {
        dock.addPanel({
          id: agent.id,
          component: 'pane',
          title: botName(agent, agents),
          params: { originView: request.originView },
          position: request.split === true ? nextSplit(dock) : undefined,
          inactive: aside,
        });
        // A split moves the panes beside it in the page, and what is moved loses the focus. Who has gone elsewhere meanwhile is not called back.
        if (typedIn instanceof HTMLElement && typedIn !== document.body) {
          setTimeout(() => document.activeElement === document.body && typedIn.focus(), 0);
        }
      }
      if (!aside) latest.current.focus(agent.id);
      if (request.typing === true && !isWriting()) latest.current.type(agent.id);
    }
  }, [dock, agents, waiting, paneRequests]);

  // What runs is opened. Who has closed every pane chooses from a list in their place.
  const closedAll = useRef(false);
  useEffect(() => {
    if (dock === null || closedAll.current || dock.panels.length > 0 || waiting.length > 0) return;
    for (const { id } of firstPanes(agents, team)) {
      paneRequests.add({ botId: id, paneId: null, originView: null, split: true, quiet: true });
    }
  }, [dock, agents, team, waiting, paneRequests]);

  useEffect(() => {
    // On a busy computer the address is shown late: a bot that was clicked since then is not taken away again.
    if (dock === null || focused === null || !latest.current.isAsked(focused)) return;
    const panel = dock.getPanel(focused);
    if (panel !== undefined && dock.activePanel !== panel) panel.api.setActive();
  }, [dock, focused]);

  return (
    <FloorProvider value={state}>
      <DockviewReact
        theme={theme}
        components={components}
        defaultTabComponent={DockTab}
        watermarkComponent={Watermark}
        disableFloatingGroups
        onReady={({ api }) => {
          const saved = readJson(localStorage, layoutKey);
          if (saved !== null) {
            try {
              api.fromJSON(saved as Parameters<DockviewApi['fromJSON']>[0]);
            } catch {
              // A layout of another version: the floor starts empty.
              api.clear();
            }
          }
          api.onDidLayoutChange(() => writeJson(localStorage, layoutKey, api.toJSON()));
          // On subscribing, the dock reports the saved layout's active panel; a bot requested since then takes precedence.
          let restoring = true;
          api.onDidActivePanelChange((event) => {
            const asked = latest.current.focused !== null || paneRequests.waiting().length > 0;
            if (event.panel !== undefined && !(restoring && asked)) latest.current.focus(event.panel.id);
          });
          restoring = false;
          api.onDidRemovePanel((panel) => {
            const isThere = latest.current.agents.some((one) => one.id === panel.id);
            if (api.panels.length === 0) closedAll.current = isThere;
            // A pane whose bot is gone was closed by nobody: it must not lead away from the floor, to where it was opened from.
            latest.current.detached(panel.id, isThere ? Params.parse(panel.params).originView : null);
          });
          setDock(api);
        }}
      />
    </FloorProvider>
  );
}

const isTyping = (): boolean => document.activeElement?.matches('input, textarea, select') === true;
/** In a field of the page. A terminal does not count: the pane that was asked for may be about to cover it. */
const isWriting = (): boolean => isTyping() && document.activeElement?.closest('.xterm') === null;

/** The second pane stands beside the first, then each goes below the one that has most room; later ones are tabs. */
function nextSplit(dock: DockviewApi): AddPanelPositionOptions | undefined {
  const groups = dock.groups;
  if (dock.panels.length === 0 || groups.length >= 4) return undefined;
  const largest = groups.reduce((a, b) => (b.width * b.height >= a.width * a.height * 0.95 ? b : a));
  return { referenceGroup: largest, direction: largest.width > largest.height * 1.4 ? 'right' : 'below' };
}

function DockTab({ api }: IDockviewPanelHeaderProps) {
  const { agents } = useFloor();
  const agent = agents.find((one) => one.id === api.id);
  return (
    <span className="flex h-full items-center gap-2 px-3">
      {agent !== undefined && <BotStatus bot={agent} iconOnly />}
      <span className="max-w-44 truncate">{agent === undefined ? api.title : botName(agent, agents)}</span>
    </span>
  );
}

function DockPane({ api, containerApi }: IDockviewPanelProps) {
  const { agents, focused, typing, focus } = useFloor();
  const box = useRef<HTMLDivElement>(null);
  const inSight = useInSight(api, box);
  const [full, setFull] = useState(api.isMaximized());
  const agent = agents.find((one) => one.id === api.id);
  const name = agent === undefined ? null : botName(agent, agents);
  useEffect(() => {
    const listener = containerApi.onDidMaximizedGroupChange(() => setFull(api.isMaximized()));
    return () => listener.dispose();
  }, [api, containerApi]);
  useEffect(() => {
    if (name !== null && name !== api.title) api.setTitle(name);
  }, [name, api]);
  const onFocus = useCallback(() => focus(api.id), [focus, api]);
  const onDetach = useCallback(() => api.close(), [api]);
  const fullScreen = useMemo(
    () => ({ on: full, toggle: () => (full ? api.exitMaximized() : api.maximize()) }),
    [full, api],
  );
  if (agent === undefined || name === null || !inSight) return null;
  return (
    <div ref={box} className="contents">
      <OnComputer computer={agent.place.scope}>
        <Pane
          agent={agent}
          name={name}
          active={focused === agent.id}
          focusRequest={typing.botId === agent.id ? typing.count : 0}
          onFocus={onFocus}
          onDetach={onDetach}
          fullScreen={fullScreen}
        />
      </OnComputer>
    </div>
  );
}

/** Whether its pane is drawn: behind another tab nobody sees it, so it reads and draws nothing, unless somebody has begun to write in it. */
function useInSight(api: IDockviewPanelProps['api'], box: RefObject<HTMLElement | null>): boolean {
  const [inSight, setInSight] = useState(api.isVisible);
  useEffect(() => {
    const look = (): void => setInSight(api.isVisible || hasText(box.current));
    look();
    const listener = api.onDidVisibilityChange(look);
    return () => listener.dispose();
  }, [api, box]);
  return inSight;
}

function hasText(box: HTMLElement | null): boolean {
  const fields = box?.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('input, textarea:not(.xterm *)') ?? [];
  return [...fields].some(({ value }) => value !== '');
}

/** Buttons that fit a screen; the list has all bots. */
const maxOffered = 24;

function Watermark() {
  const { agents } = useFloor();
  const { paneRequests } = useServices();
  const live = agents.filter(isLive);
  if (live.length === 0) {
    return (
      <p className="flex h-full items-center justify-center p-6 text-center text-muted">
        No bot is running. Start a team in the list to watch it work here.
      </p>
    );
  }
  return (
    <div className="flex h-full flex-col items-center justify-center gap-3 overflow-y-auto p-6 text-muted">
      <p>These bots are running. Open a pane:</p>
      <ul aria-label="Running bots" className="flex max-w-[640px] flex-wrap justify-center gap-2">
        {live.slice(0, maxOffered).map((bot) => (
          <li key={bot.id}>
            <Button
              onClick={() => paneRequests.add({ botId: bot.id, paneId: null, originView: null })}
              aria-label={`Open the pane of ${botName(bot, agents)}`}
            >
              <BotStatus bot={bot} iconOnly />
              {botName(bot, agents)}
            </Button>
          </li>
        ))}
      </ul>
      {live.length > maxOffered && <p className="text-meta">The list has {live.length - maxOffered} more.</p>}
    </div>
  );
}
