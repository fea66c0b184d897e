/**
 * A bot over ACP: an agent that Gantry speaks with, which the factory sees as one more {@link PlacedBot}. Owns its state and its gate; must not know the
 * wire, and has no pane.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { ConversationModes } from '../../contracts/factory/conversation-routes.ts';
import type { PlacedBot } from '../agents/placement.ts';
import { createActivity } from '../harness/activity.ts';
import type { BotSpec, Gate } from '../harness/harness.ts';
import { createShownState } from '../hosted-bots/shown-state.ts';
import { type AgentLife, createAgentLife } from './agent-life.ts';
import { createRecorder } from './conversation.ts';
import type { AcpDeps } from './deps.ts';
import { createPermissions } from './permissions.ts';
import { readSession, saveSession, type TurnRecord, turnOfDelivery } from './store.ts';
import { createTurns } from './turns.ts';
import type { Update } from './updates.ts';

/** Its place in the registry adds the rest of a {@link PlacedBot}. */
export interface AcpBot extends Omit<PlacedBot, 'placement' | 'ref' | 'away' | 'stop'> {
  /** Its team is started, or its file has changed: an agent that could not be started is tried again. */
  update(spec: BotSpec): void;
  modes(): ConversationModes | null;
  setMode(mode: string): Promise<ConversationModes>;
  /** Writes what waits to be written of its conversation. */
  flush(): Promise<unknown>;
  /** Resolves when nothing of it runs any more, once it was closed. */
  ended(): Promise<void>;
  /** Ends it. A turn that runs is found as interrupted. */
  end(): Promise<void>;
}

/** `before`: a turn that an earlier process left. */
export function createAcpBot(deps: AcpDeps, first: BotSpec, before: TurnRecord | null): AcpBot {
  const { agentId } = first;
  const address = `${first.slug}@${first.team}`;
  let spec = first;
  let last = before;
  const closing = new AbortController();
  const gateListeners = new Set<() => void>();
  const shown = createShownState({ state: 'starting', reason: null }, deps.clock);
  const { show } = shown;
  const activity = createActivity(deps.clock);
  const recorder = createRecorder(deps, agentId);
  const { workspace } = deps;
  const permissions = createPermissions(deps, { agentId, address, cwd, workspace, recorder, onChange: asks });
  const life = createAgentLife(deps, {
    agentId,
    spec: () => spec,
    recorder,
    on: { onUpdate: hear, onPermission: askedFor(permissions.ask), may: askedFor(permissions.may) },
    mustReplay: before?.status === 'lost',
    show,
    onUp() {
      show('idle', last?.status === 'interrupted' ? `interrupted: ${last.reason ?? ''}` : null, 'acp.up');
      last = null;
      openGate();
    },
    onDown: permissions.cutAll,
  });
  const turns = createTurns(deps, {
    ...{ agentId, life, recorder, permissions, shown, openGate },
    culture: () => spec.culture,
    closing: closing.signal,
  });

  /** Some ask before they report anything, and a question is for the message that is being worked on, too. */
  function askedFor<Of extends readonly unknown[], Answer>(ask: (...of: Of) => Answer): (...of: Of) => Answer {
    return (...of) => {
      turns.heard();
      return ask(...of);
    };
  }

  function hear(update: Update): void {
    recorder.take(update);
    if (update.kind !== 'tool') activity.note('output');
    else if (update.report.input !== undefined) activity.called(update.report.title ?? 'a tool', update.report.input);
    else activity.note('tool');
    turns.heard();
  }

  /** The folder that the agent works in. */
  function cwd(): string {
    return life.cwd();
  }

  function asks([title]: readonly string[]): void {
    if (title !== undefined) show('needs_you', `asks: ${title}`, 'acp.asks');
    else if (turns.isRunning()) show('working', null, 'acp.answered');
  }

  function openGate(): void {
    if (gate().open) for (const listener of gateListeners) listener();
  }

  function gate(): Gate {
    if (life.link() !== null && !turns.isBusy() && !closing.signal.aborted) return { open: true };
    const { state, reason } = shown.now();
    return { open: false, why: reason === null ? state : `${state}: ${reason}`, setup: false };
  }

  life.start();
  return {
    state: shown.now,
    activity,
    onState: shown.onState,
    gate,
    onGate(listener) {
      gateListeners.add(listener);
      return () => gateListeners.delete(listener);
    },
    async deliver(message) {
      const now = gate();
      return now.open ? turns.begin(message) : { state: 'held', why: now.why };
    },
    async resume(message) {
      const earlier = await deps.store.read((tx) => turnOfDelivery(tx, message.deliveryId));
      if (earlier !== null && earlier.status !== 'lost' && earlier.status !== 'asked')
        return { state: 'verified', evidence: 'acp', detail: 'Gantry stopped while the agent was working on it' };
      const now = gate();
      if (!now.open) return { state: 'held', why: now.why };
      if (earlier === null) return turns.begin(message);
      // Its session, as it replayed it, says whether it ever had the message.
      return life.replayed().includes(`(message ${message.deliveryId})`)
        ? { state: 'verified', evidence: 'acp' }
        : null;
    },
    async input() {
      throw withoutTerminal(address);
    },
    explain: () => ({
      harness: 'acp',
      ruleset: `acp/1, ${life.link()?.agent ?? 'not running'}`,
      steps: shown.steps(),
      bottom: [],
      approvals: permissions.ids(),
    }),
    limit: turns.limit,
    unblock: turns.unblock,
    interruptKeys: () => [],
    interrupt: turns.interrupt,
    // Which step a turn belongs to is not known here: a message tells the bot.
    cancelWork: async () => false,
    update(next) {
      spec = next;
      const { state } = shown.now();
      if (life.link() === null && (state === 'failed' || state === 'needs_you')) life.start();
    },
    modes: () => life.link()?.modes() ?? null,
    setMode: (mode) => setMode(deps, { agentId, address, life }, mode),
    flush: recorder.flush,
    ended: life.close,
    async end() {
      closing.abort();
      permissions.cutAll();
      await life.close();
      await recorder.flush();
    },
    close() {
      turns.stop('It was stopped.');
      permissions.cutAll();
      void life.close();
      shown.close();
      gateListeners.clear();
    },
  };
}

function withoutTerminal(address: string): AppError {
  return new AppError(
    'not_found',
    `${address} speaks ACP and has no terminal to type into.`,
    `Send it a message; \`gantry orchestration steer ${address} interrupt\` ends its turn.`,
  );
}

/** It holds until a person sets another one, also after a restart. */
async function setMode(
  { store }: Pick<AcpDeps, 'store'>,
  { agentId, address, life }: { readonly agentId: string; readonly address: string; readonly life: AgentLife },
  mode: string,
): Promise<ConversationModes> {
  const link = life.link();
  const modes = link?.modes() ?? null;
  if (link === null || modes === null) {
    const fact = link === null ? `${address} is not running.` : `${address} names no modes.`;
    throw new AppError('not_found', fact, 'Start its team, or leave the mode to the agent.');
  }
  if (!modes.available.some(({ id }) => id === mode)) {
    const names = modes.available.map(({ id }) => id).join(', ');
    throw new AppError('usage', `${address} has no mode "${mode}".`, `It has: ${names}.`);
  }
  await link.setMode(mode);
  await store.write((tx) => {
    const saved = readSession(tx, agentId);
    if (saved !== null) saveSession(tx, agentId, { ...saved, mode });
  });
  return link.modes() ?? modes;
}
