/** Routes of agents and their panes, from the contract to registry and pane engine. */
import { AppError } from '../../contracts/common/errors.ts';
import {
  agentHook,
  agentInput,
  agentScreen,
  agentScrollback,
  agentSize,
  agentStream,
  agentTranscript,
  captureAgent,
  explainAgent,
  getAgent,
  health,
  listAgents,
} from '../../contracts/factory/routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import { type BoundRoute, bind, type Principal } from '../../kit/http/types.ts';
import type { Store } from '../../kit/store/store.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import { streamScreens } from '../panes/pane-stream.ts';
import { type Conversations, readConversation, readTranscript, type TranscriptPage } from '../panes/pane-transcript.ts';
import type { PaneView } from '../panes/pane-view.ts';
import { refuseUnreadable } from '../panes/readable.ts';
import type { SizeOwners } from '../panes/size-owners.ts';
import type { AgentViews } from './agent-views.ts';
import { paneOf } from './member.ts';
import { placeNamed } from './placement.ts';
import type { Member, Registry } from './registry.ts';

const captureLines = 80;
const scrollbackLines = 200;

export function agentRoutes(deps: {
  readonly registry: Registry;
  readonly views: AgentViews;
  readonly panes: PaneEngine;
  /** Those of bots on other computers. */
  readonly remote: PaneView & { transcript(id: string, cursor: string | undefined): Promise<TranscriptPage> };
  readonly sizes: SizeOwners;
  readonly prove: (challenge: string) => string;
  readonly store: Pick<Store, 'trouble'>;
  /** Conversations of bots that are spoken with without a terminal. */
  readonly conversations: Conversations;
}): BoundRoute[] {
  const { registry, views, panes } = deps;
  const here: PaneView = { ...panes, sizeOf: (pane) => panes.get(pane) };

  const find = (id: string): Member => {
    const member = registry.find(id);
    if (member !== null) return member;
    throw new AppError('not_found', `No agent has the id or address "${id}".`, 'List them with `gantry agents ls`.');
  };
  const viewOf = (member: Member): PaneView => (member.remote === null ? here : deps.remote);
  /** The live pane. While the engine is unreadable, it is unknown whether a pane is gone. */
  const livePane = (member: Member): string => {
    const pane = paneOf(member);
    if (pane !== null) {
      refuseUnreadable(viewOf(member));
      return pane.id;
    }
    if (member.placement.keepsConversation) throw withoutPane(member);
    throw new AppError(
      'not_found',
      `${member.address} has no live pane.`,
      `Start it with \`gantry teams up ${member.team}\`.`,
    );
  };
  /** The newest pane, live or closed. */
  const anyPane = (member: Member): string => {
    const pane = member.remote?.session ?? member.panes.at(-1);
    if (pane !== undefined) return pane;
    throw new AppError(
      'not_found',
      `${member.address} never had a pane.`,
      `Start it with \`gantry teams up ${member.team}\`.`,
    );
  };

  return [
    bind(health, ({ query }) => ({
      body: {
        ok: deps.store.trouble() === null,
        service: 'gantry-engine',
        panes: panes.engine().running,
        ...(query.c === undefined ? {} : { proof: deps.prove(query.c) }),
      },
    })),
    bind(listAgents, ({ query }) => ({ body: { agents: views.agents(query.team), engine: panes.engine() } })),
    bind(getAgent, ({ params }) => ({ body: views.show(find(params.id)) })),
    bind(captureAgent, async ({ params, query }) => {
      const member = find(params.id);
      if (member.placement.keepsConversation) {
        const said = await deps.conversations.capture(member.id, query.lines ?? captureLines);
        if (said === null) throw withoutPane(member);
        return { body: said };
      }
      return { body: await viewOf(member).capture(anyPane(member), query.lines ?? captureLines) };
    }),
    bind(agentTranscript, async ({ params, query }) => {
      const member = find(params.id);
      if (member.placement.keepsConversation)
        return { body: await readConversation(deps.conversations, member, query.cursor) };
      if (member.remote !== null) return { body: await deps.remote.transcript(member.remote.session, query.cursor) };
      return { body: await readTranscript(panes, anyPane(member), member.panes, query.cursor) };
    }),
    bind(agentScreen, async ({ params }) => {
      const member = find(params.id);
      return { body: await viewOf(member).screen(livePane(member)) };
    }),
    bind(agentScrollback, async ({ params, query }) => {
      const member = find(params.id);
      const lines = query.lines ?? scrollbackLines;
      return { body: await viewOf(member).scrollback(livePane(member), query.before, lines) };
    }),
    bind(agentStream, ({ params }, sink) => {
      const member = find(params.id);
      const pane = livePane(member);
      sink.open();
      return streamScreens(viewOf(member), pane, sink);
    }),
    bind(agentInput, async ({ params, body, principal }) => {
      const member = find(params.id);
      const pane = livePane(member);
      const bot = registry.bot(member.id);
      if (bot === null) throw notReady(member);
      await bot.input(body);
      deps.sizes.typed(pane, viewerOf(principal));
      return { body: { ok: true as const } };
    }),
    bind(agentSize, async ({ params, body, principal }) => {
      const member = find(params.id);
      const pane = livePane(member);
      const view = viewOf(member);
      if (deps.sizes.mayResize(pane, viewerOf(principal))) await view.resize(pane, body);
      const now = view.sizeOf(pane) ?? body;
      return { body: { ok: true as const, cols: now.cols, rows: now.rows } };
    }),
    bind(explainAgent, ({ params }) => ({ body: explain(find(params.id), registry) })),
    bind(agentHook, async ({ params, body, principal, signal }) => {
      const bot = principal.agentId === undefined ? null : registry.bot(principal.agentId);
      if (bot?.hook === undefined) {
        throw new AppError('not_found', 'This bot has no live pane.', 'Only a program in a Gantry pane may report.');
      }
      return { body: await bot.hook(params.event, body, signal) };
    }),
  ];
}

/** The viewer of a pane: one browser, or one kind of program of the owner. */
function viewerOf(principal: Principal): string {
  return principal.sessionId ?? `${principal.userId} ${principal.via}`;
}

function withoutPane(member: Member): AppError {
  return new AppError(
    'not_found',
    `${member.address} ${placeNamed(member.definition?.binding ?? { type: 'hosted' }) === 'acp' ? 'speaks ACP' : 'is a hosted bot'} and has no live pane.`,
    `Read what it said with \`gantry agents transcript ${member.address}\`; \`gantry orchestration steer ${member.address} interrupt\` ends its turn.`,
  );
}

function notReady(member: Member): AppError {
  return new AppError('transport', `Gantry is reconnecting to ${member.address}.`, 'Try again in a moment.');
}

function explain(member: Member, registry: Registry) {
  const shown = { agent: member.address, state: member.shown.state, stateReason: member.shown.reason };
  const bot = registry.bot(member.id);
  if (bot === null) {
    const harness = member.spec?.harness ?? member.definition?.harnesses[0] ?? 'none';
    return { ...shown, harness, ruleset: 'none: it has no live pane', steps: [], bottom: [], approvals: [] };
  }
  const { harness, ruleset, steps, bottom, approvals } = bot.explain();
  return {
    ...shown,
    harness,
    ruleset,
    steps: steps.map((step) => ({ ...step, at: iso(step.at) })),
    bottom: [...bottom],
    approvals: [...approvals],
  };
}
