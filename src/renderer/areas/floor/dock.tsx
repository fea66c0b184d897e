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
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { z } from 'zod';
import { botName } from '../../base/data/places.ts';
import { readJson, writeJson } from '../../base/data/settings.ts';
import { isLive } from '../../base/is-live.ts';
import { OnComputer, useServices } from '../../base/services.tsx';
import { agentStatus, Status } from '../../ui/status.tsx';
import { FloorProvider, type FloorState, useFloor } from './floor-state.tsx';
import { Pane } from './pane.tsx';

const Params = z.object({ originView: z.string().nullable().catch(null) }).catch({ originView: null });
const theme = { name: 'gantry', className: 'dock-gantry', gap: 0 };
const components = { pane: DockPane };

/** Storage key of a layout, separate for each engine and shape. */
const layoutKey = (layout: string): string => `gantry.floor.v1.${layout}`;

export function Dock({ layout, state }: { layout: string; state: FloorState }) {
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
        });
      }
      latest.current.focus(agent.id);
    }
  }, [dock, agents, waiting, paneRequests]);

  useEffect(() => {
    if (dock === null || focused === null) return;
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
          const saved = readJson(localStorage, layoutKey(layout));
          if (saved !== null) {
            try {
              api.fromJSON(saved as Parameters<DockviewApi['fromJSON']>[0]);
            } catch {
              // A layout of another version: the floor starts empty.
              api.clear();
            }
          }
          api.onDidLayoutChange(() => writeJson(localStorage, layoutKey(layout), api.toJSON()));
          // On subscribing, the dock reports the saved layout's active panel; a bot requested since then takes precedence.
          let restoring = true;
          api.onDidActivePanelChange((event) => {
            const asked = latest.current.focused !== null || paneRequests.waiting().length > 0;
            if (event.panel !== undefined && !(restoring && asked)) latest.current.focus(event.panel.id);
          });
          restoring = false;
          api.onDidRemovePanel((panel) => {
            latest.current.detached(panel.id, Params.parse(panel.params).originView);
          });
          setDock(api);
        }}
      />
    </FloorProvider>
  );
}

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
      {agent !== undefined && <Status look={agentStatus[agent.state]} wire={agent.state} iconOnly />}
      <span className="max-w-44 truncate">{agent === undefined ? api.title : botName(agent, agents)}</span>
    </span>
  );
}

function DockPane({ api, containerApi }: IDockviewPanelProps) {
  const floor = useFloor();
  const [full, setFull] = useState(api.isMaximized());
  const agent = floor.agents.find((one) => one.id === api.id);
  useEffect(() => {
    const listener = containerApi.onDidMaximizedGroupChange(() => setFull(api.isMaximized()));
    return () => listener.dispose();
  }, [api, containerApi]);
  useEffect(() => {
    if (agent === undefined) return;
    const name = botName(agent, floor.agents);
    if (name !== api.title) api.setTitle(name);
  }, [agent, floor.agents, api]);
  if (agent === undefined) return null;
  return (
    <OnComputer computer={agent.place.scope}>
      <Pane
        agent={agent}
        active={floor.focused === agent.id}
        focusRequest={floor.focused === agent.id ? floor.focusRequest : 0}
        scrollbackOpen={floor.scrollbackOf === agent.id}
        onScrollback={(open) => floor.showScrollback(open ? agent.id : null)}
        onFocus={() => floor.focus(agent.id)}
        onDetach={() => api.close()}
        fullScreen={{ on: full, toggle: () => (full ? api.exitMaximized() : api.maximize()) }}
      />
    </OnComputer>
  );
}

function Watermark() {
  const { agents } = useFloor();
  const live = agents.filter(isLive).length;
  return (
    <div className="flex h-full items-center justify-center p-6 text-center text-muted">
      {live === 0
        ? 'No bot is running. Start a team in the list to watch it work here.'
        : 'Choose a bot in the list to open its pane here.'}
    </div>
  );
}
