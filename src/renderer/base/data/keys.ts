/**
 * Keys of the data that the page reads. A computer's data has the computer in its key; the person's data has none. Must not know how anything is
 * read.
 */

export interface LedgerFilter {
  readonly type?: string;
  readonly subject?: string;
  readonly actor?: string;
}

/** Budgets of a run with its steps and campaign, or of a campaign. */
export type BudgetsOf =
  | { readonly run: string; readonly campaign?: never }
  | { readonly campaign: string; readonly run?: never };

/** Of the person, at their home cloud: the same whichever computer is looked at. */
export const personKeys = {
  session: ['session'],
  signInPlace: ['sign-in-place'],
  approvals: ['approvals'],
  computers: ['computers'],
  pairing: ['pairing'],
  pairingOf: (code: string) => ['pairing-of', code],
  apiKeys: ['api-keys'],
  signIns: ['sign-ins'],
  notifications: ['notifications'],
  preferences: ['preferences'],
  quiet: ['quiet'],
  reach: ['reach'],
  pushDevices: ['push-devices'],
  /** Keys that concern only this browser. */
  browserPush: ['browser-push'],
  usage: (month: string | null) => ['usage', month],
  usages: ['usage'],
  budget: ['budget'],
} as const;

/** `computer` null: the one that is answered without naming any, this computer or the default one. */
export function keysOf(computer: string | null) {
  const on = (...key: readonly unknown[]): readonly unknown[] => (computer === null ? key : ['on', computer, ...key]);
  return {
    ...personKeys,
    /** Makes the keys of an area that is loaded later. */
    on,
    /** Begins every key of this computer; null where keys begin with their own names. */
    all: computer === null ? null : on(),
    workspace: on('workspace'),
    trust: on('trust'),
    agents: on('agents'),
    teams: on('teams'),
    deliveries: on('deliveries'),
    deliveriesOf: (agentId: string) => on('deliveries', agentId),
    threads: on('threads'),
    health: on('health'),
    doctor: on('doctor'),
    modelPlaces: on('model-places'),
    explain: (agentId: string) => on('explain', agentId),
    campaigns: on('campaigns'),
    spending: on('spending'),
    accounts: on('accounts'),
    sandboxTry: (agentId: string) => on('sandbox-try', agentId),
    usageDays: (by: string, days: number) => on('usage-days', by, days),
    schedules: on('schedules'),
    occurrences: (scheduleId: string) => on('schedules', scheduleId),
    boards: on('board'),
    board: (campaignId: string) => on('board', campaignId),
    flow: (dagId: string) => on('flow', dagId),
    /** Read again with its run. */
    runTimes: (dagId: string) => on('flow', dagId, 'times'),
    /** Below the run or the board: what changes these changes them. */
    budgets: ({ run, campaign }: BudgetsOf) =>
      run === undefined ? on('board', campaign, 'budgets') : on('flow', run, 'budgets'),
    node: (dagId: string, nodeId: string) => on('node', dagId, nodeId),
    templates: on('templates'),
    template: (id: string) => on('template', id),
    messagesOf: (threadId: string) => on('messages', threadId),
    whys: on('why'),
    why: (id: string, dagId: string | null) => on('why', id, dagId),
    diffs: on('diff'),
    diff: (agentId: string) => on('diff', agentId),
    quickRuns: on('quick-runs'),
    lastEvent: on('last-event'),
    ledgers: on('ledger'),
    ledger: (filter: LedgerFilter) => on('ledger', filter),
  };
}

export type Keys = ReturnType<typeof keysOf>;
