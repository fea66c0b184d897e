/** Actions of the work page for the keyboard and the palette. */
import { type RefObject, useMemo } from 'react';
import type { Action } from '../../base/actions.ts';
import { useAddActions } from '../../base/services.tsx';
import { backAction, filterAction, focusIn } from '../../base/way-back.ts';

interface WorkActions {
  readonly page: RefObject<HTMLElement | null>;
  readonly campaignId: string | null;
  readonly nodeId: string | null;
  /** The run whose graph or times are shown on request; undefined: none. */
  readonly graphOf: string | undefined;
  readonly narrow: boolean;
  /** Changes the address. */
  readonly go: (change: { view?: 'waves' | 'graph' | 'times'; dag?: string; start?: string }) => void;
  readonly closeNode: () => void;
  readonly leaveCampaign: () => void;
}

export function useWorkActions(work: WorkActions): void {
  const { page, campaignId, nodeId, graphOf, narrow, go, closeNode, leaveCampaign } = work;
  const actions = useMemo<readonly Action[]>(() => {
    const list: Action[] = [
      { id: 'start-run', title: 'Start a run', group: 'Work', keys: 's', run: () => go({ start: '' }) },
      backAction(
        page,
        () => {
          if (nodeId !== null) closeNode();
          else if (narrow && campaignId !== null) leaveCampaign();
          else focusIn(page, '[data-campaign][aria-current]', '[data-campaign]');
        },
        'Close the step, or back to the list',
      ),
    ];
    if (campaignId === null) return list;
    list.push(
      filterAction(page, 'Filter steps'),
      {
        id: 'board',
        title: 'Show the board',
        group: 'Work',
        keys: 'b',
        run: () => go({ view: undefined }),
      },
      { id: 'waves', title: 'Show waves', group: 'Work', keys: 'w', run: () => go({ view: 'waves' }) },
      {
        id: 'to-steps',
        title: 'Go to the steps',
        group: 'View',
        keys: 'e',
        hidden: true,
        run: () => focusIn(page, '[data-node][aria-current]', 'main [data-row][data-node]', '.react-flow__node'),
      },
    );
    if (graphOf !== undefined) {
      list.push({
        id: 'graph',
        title: 'Show the graph',
        group: 'Work',
        keys: 'd',
        run: () => go({ view: 'graph', dag: graphOf }),
      });
      list.push({
        id: 'times',
        title: 'Show step times',
        group: 'Work',
        keys: 't',
        run: () => go({ view: 'times', dag: graphOf }),
      });
    }
    return list;
  }, [campaignId, closeNode, go, graphOf, leaveCampaign, narrow, nodeId, page]);
  useAddActions(actions);
}
