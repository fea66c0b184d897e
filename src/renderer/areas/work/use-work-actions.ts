/** What the keyboard and the palette can do on the page of work. */
import { type RefObject, useMemo } from 'react';
import { type Action, useAddActions } from '../../app/actions.ts';

export interface WorkActions {
  readonly page: RefObject<HTMLElement | null>;
  readonly campaignId: string | null;
  readonly nodeId: string | null;
  /** The run whose graph is shown on request; undefined while there is none. */
  readonly graphOf: string | undefined;
  readonly narrow: boolean;
  /** Changes the address. */
  readonly go: (change: { view?: 'waves' | 'graph'; dag?: string; start?: string }) => void;
  readonly closeNode: () => void;
  readonly leaveCampaign: () => void;
}

export function useWorkActions(work: WorkActions): void {
  const { page, campaignId, nodeId, graphOf, narrow, go, closeNode, leaveCampaign } = work;
  const actions = useMemo<readonly Action[]>(() => {
    const field = (...selectors: string[]): void => {
      const found = selectors.map((one) => page.current?.querySelector<HTMLElement>(one)).find((one) => one != null);
      found?.focus();
    };
    const list: Action[] = [
      { id: 'start-run', title: 'Start a run', group: 'Work', keys: 's', run: () => go({ start: '' }) },
      {
        id: 'back',
        title: 'Close the step, or back to the list',
        group: 'View',
        keys: 'Esc',
        hidden: true,
        run: () => {
          if (nodeId !== null) closeNode();
          else if (narrow && campaignId !== null) leaveCampaign();
          else field('[data-campaign][aria-current]', '[data-campaign]');
        },
      },
    ];
    if (campaignId === null) return list;
    list.push(
      { id: 'filter', title: 'Filter steps', group: 'View', keys: '/', run: () => field('[data-filter]') },
      {
        id: 'board',
        title: 'Board by what matters',
        group: 'Work',
        keys: 'b',
        run: () => go({ view: undefined }),
      },
      { id: 'waves', title: 'Board by waves', group: 'Work', keys: 'w', run: () => go({ view: 'waves' }) },
      {
        id: 'to-steps',
        title: 'Into the steps',
        group: 'View',
        keys: 'e',
        hidden: true,
        run: () => field('[data-node][aria-current]', 'main [data-row][data-node]', '.react-flow__node'),
      },
    );
    if (graphOf !== undefined) {
      list.push({
        id: 'graph',
        title: 'Graph of the run',
        group: 'Work',
        keys: 'd',
        run: () => go({ view: 'graph', dag: graphOf }),
      });
    }
    return list;
  }, [campaignId, closeNode, go, graphOf, leaveCampaign, narrow, nodeId, page]);
  useAddActions(actions);
}
