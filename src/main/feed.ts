/**
 * What main asks its Gantry with the window's session: the number of panes, runs and needs, new notifications, and whether work is running that must
 * not be cut off. Polls while the computer is awake; a Gantry that does not answer is reported once.
 */
import { createClient, type Fetch } from '../client/client.ts';
import type { Approval, ApprovalDecision } from '../contracts/approvals/approval.ts';
import { approvalRoutes } from '../contracts/approvals/routes.ts';
import { factoryRoutes } from '../contracts/factory/routes.ts';
import { listNotifications, type Notification } from '../contracts/notifications/routes.ts';

export interface Counts {
  readonly panes: number;
  readonly runs: number;
  readonly needs: number;
}

export interface Feed {
  /** Looks now; the next looks follow. */
  look(): Promise<void>;
  /** No look until the computer is back. */
  rest(asleep: boolean): void;
  /** In words; null: nothing runs. What cannot be asked counts as running. */
  busy(): Promise<string | null>;
  /** Answers an approval as the person of the window. The first answer wins: a later one is an error that says which it was. */
  answer(approvalId: string, decision: ApprovalDecision): Promise<void>;
  /** Whether its person chose this repository before. Anybody can write a link that names one. */
  usedRepository(path: string): Promise<boolean>;
  close(): void;
}

export const lookEveryMs = 5_000;

export function createFeed(deps: {
  readonly origin: string;
  readonly cookie: { readonly name: string; readonly value: string };
  readonly fetch: Fetch;
  readonly after: (ms: number, task: () => void) => () => void;
  readonly onCounts: (counts: Counts) => void;
  /** With the approvals that wait now. */
  readonly onNews: (rows: readonly Notification[], open: readonly Approval[]) => void;
  readonly onFault: (fault: unknown) => void;
}): Feed {
  const { cookie, after } = deps;
  const api = createClient([...factoryRoutes, ...approvalRoutes, listNotifications], {
    baseUrl: deps.origin,
    fetch: deps.fetch,
    headers: { cookie: `${cookie.name}=${cookie.value}` },
  });
  let stopped = false;
  let asleep = false;
  let broken = false;
  let looking: Promise<void> | null = null;
  let forget = () => {};

  async function ask(): Promise<void> {
    const [{ agents }, { campaigns }, { approvals }, { notifications }] = await Promise.all([
      api.listAgents(),
      api.listCampaigns(),
      api.listApprovals({ query: { state: 'pending' } }),
      api.listNotifications({ query: { unread: 'true' } }),
    ]);
    if (stopped) return;
    deps.onCounts(countsOf(agents, campaigns, approvals));
    deps.onNews(notifications, approvals);
  }
  async function look(): Promise<void> {
    forget();
    looking ??= ask()
      .then(
        () => {
          broken = false;
        },
        (fault: unknown) => {
          if (!broken && !stopped) deps.onFault(fault);
          broken = true;
        },
      )
      .finally(() => {
        looking = null;
        forget();
        if (!stopped && !asleep) forget = after(lookEveryMs, () => void look());
      });
    await looking;
  }

  return {
    look,
    rest(sleeps) {
      asleep = sleeps;
      if (sleeps) forget();
      else void look();
    },
    async answer(id, decision) {
      await api.resolveApproval({ params: { id }, body: { decision } });
    },
    async usedRepository(path) {
      try {
        const { repositories } = await api.quickRunChoices();
        return repositories.some((one) => one.path === path);
      } catch (fault) {
        deps.onFault(fault);
        return false;
      }
    },
    async busy() {
      try {
        const [{ campaigns }, { leases }] = await Promise.all([api.listCampaigns(), api.listLeases()]);
        const runs = runsOf(campaigns);
        if (runs > 0) return `${runs} ${runs === 1 ? 'run is' : 'runs are'} under way`;
        return leases.length === 0 ? null : `${leases.length} ${leases.length === 1 ? 'lease is' : 'leases are'} held`;
      } catch {
        return 'Gantry could not be asked what is running';
      }
    },
    close() {
      stopped = true;
      forget();
    },
  };
}

interface Bot {
  readonly id: string;
  readonly state: string;
  readonly pane: unknown;
}

export function countsOf(
  agents: readonly Bot[],
  campaigns: readonly { readonly status: string; readonly proven: number; readonly total: number }[],
  approvals: readonly { readonly agentId?: string | null }[],
): Counts {
  const asking = new Set(approvals.map(({ agentId }) => agentId));
  const waiting = agents.filter(({ id, state }) => (state === 'needs_you' || state === 'blocked') && !asking.has(id));
  return {
    panes: agents.filter(({ pane }) => pane !== null).length,
    runs: runsOf(campaigns),
    needs: approvals.length + waiting.length,
  };
}

function runsOf(
  campaigns: readonly { readonly status: string; readonly proven: number; readonly total: number }[],
): number {
  return campaigns.filter(({ status, proven, total }) => status === 'active' && proven < total).length;
}
