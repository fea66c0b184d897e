/**
 * Panes of the local pane host: keeps one connection, starts the host when there is none, and shows the last known panes
 * unchanged while it cannot be read. It knows nothing of agents.
 */
import type { Screen } from '../../contracts/factory/agent.ts';
import { type Event, hostEnded } from '../../programs/pane-host/protocol.ts';
import { createHostLink, type HostLinkDeps } from './host-link.ts';
import type { PaneEngine, PaneInfo, PaneListener } from './pane-engine.ts';
import { createViewers, text } from './viewers.ts';

export type { PaneSettings } from './host-link.ts';

export function createPaneEngine(
  deps: HostLinkDeps & {
    /** A listener or viewer threw. */
    readonly onError: (error: unknown) => void;
  },
): PaneEngine {
  const panes = new Map<string, PaneInfo>();
  const oscSeen = new Map<string, number>();
  const listeners = new Set<PaneListener>();
  const link = createHostLink({
    ...deps,
    onEvent,
    onEngine: (engine) => each((listener) => listener.onEngine?.(engine)),
    seen: () => Object.fromEntries(oscSeen),
    listed,
    onGivenUp() {
      for (const info of [...panes.values()]) {
        if (info.alive) ended({ ...info, alive: false, endReason: hostEnded });
      }
    },
  });
  const { ask } = link;
  const viewers = createViewers({ link, onError: deps.onError });

  function each(call: (listener: PaneListener) => void): void {
    for (const listener of listeners) {
      try {
        call(listener);
      } catch (error) {
        deps.onError(error);
      }
    }
  }
  function listed(infos: readonly PaneInfo[]): () => void {
    const known = new Map(panes);
    panes.clear();
    for (const info of infos) panes.set(info.id, info);
    return () => {
      for (const info of infos) {
        if (!info.alive && known.get(info.id)?.alive) ended(info);
      }
      // The host does not know it any more, and does not say how it ended.
      for (const [id, info] of known) {
        if (!panes.has(id) && info.alive) {
          ended({ ...info, alive: false, endReason: 'the pane host no longer knows it' });
        }
      }
      viewers.showAgain();
    };
  }

  function ended(info: PaneInfo): void {
    if (panes.has(info.id)) panes.set(info.id, info);
    oscSeen.delete(info.id);
    each((listener) => listener.onExit?.(info.id, info));
  }

  function onEvent(event: Event, tail: Uint8Array): void {
    switch (event.ev) {
      case 'created':
        panes.set(event.pane, event.info);
        break;
      case 'facts': {
        const known = panes.get(event.pane);
        if (!known) break;
        panes.set(event.pane, { ...known, offset: event.facts.offset, facts: event.facts });
        each((listener) => listener.onFacts?.(event.pane, event.facts));
        break;
      }
      case 'osc':
        if (event.seq <= (oscSeen.get(event.pane) ?? 0)) break;
        oscSeen.set(event.pane, event.seq);
        each((listener) => listener.onOsc?.(event.pane, event.osc));
        break;
      case 'exit':
        ended(event.info);
        break;
      default:
        viewers.event(event, tail);
    }
  }

  return {
    engine: link.engine,
    givenUp: link.givenUp,
    ready: link.ready,
    list: () => [...panes.values()],
    get: (id) => panes.get(id) ?? null,
    async create(spec) {
      const { ok } = await ask({ op: 'create', spec });
      // Its events came before the answer; it may have printed or ended since.
      return panes.get(ok.info.id) ?? ok.info;
    },
    async revive(spec, { words }) {
      const known = panes.get(spec.id);
      const seen = Math.max(known?.offset ?? 0, viewers.seenOf(spec.id));
      const revive = { words, offset: seen, revision: known?.facts.revision ?? 0 };
      const { ok } = await ask({ op: 'create', spec, revive });
      return panes.get(ok.info.id) ?? ok.info;
    },
    hold: viewers.hold,
    watch: viewers.watch,
    attach: viewers.attach,
    host: link.host,
    async write(id, data) {
      await ask({ op: 'write', pane: id }, typeof data === 'string' ? Buffer.from(data, 'utf8') : data);
    },
    async resize(id, { cols, rows }) {
      await ask({ op: 'resize', pane: id, cols, rows });
      const known = panes.get(id);
      if (known) panes.set(id, { ...known, cols, rows });
    },
    async screen(id): Promise<Screen> {
      const { ok, tail } = await ask({ op: 'screen', pane: id });
      return { ansi: text(tail), ...ok };
    },
    async capture(id, lines) {
      const { ok, tail } = await ask({ op: 'capture', pane: id, lines });
      return { text: text(tail), at: ok.at };
    },
    async scrollback(id, before, lines) {
      const { ok, tail } = await ask({ op: 'scrollback', pane: id, before, lines });
      return { ansi: text(tail), ...ok };
    },
    async read(id, offset, max) {
      const { ok, tail } = await ask({ op: 'read', pane: id, offset, max });
      return { ...ok, bytes: tail };
    },
    async kill(id) {
      await ask({ op: 'kill', pane: id });
    },
    async forget(id) {
      await ask({ op: 'forget', pane: id });
      panes.delete(id);
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stopHost: link.stopHost,
    async close() {
      link.close();
    },
  };
}
