/** Doors of agents and their panes: contract → registry and pane engine. */
import { AppError } from '../../../contracts/common/errors.ts';
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
} from '../../../contracts/factory/routes.ts';
import { iso } from '../../../kit/clock/clock.ts';
import { type BoundRoute, bind, type Principal } from '../../../kit/http/types.ts';
import type { PaneEngine } from '../../panes/pane-engine.ts';
import { kindOf, paneOf } from '../member.ts';
import { streamScreens } from '../pane-stream.ts';
import { type Conversations, readConversation, readTranscript } from '../pane-transcript.ts';
import { refuseUnreadable } from '../readable.ts';
import type { Member, Registry } from '../registry.ts';
import type { SizeOwners } from '../size-owners.ts';

const captureLines = 80;
const scrollbackLines = 200;

export interface AgentRoutesDeps {
  readonly registry: Registry;
  readonly panes: PaneEngine;
  readonly sizes: SizeOwners;
  readonly prove: (challenge: string) => string;
  /** Of hosted bots. */
  readonly conversations: Conversations;
}

export function agentRoutes(deps: AgentRoutesDeps): BoundRoute[] {
  const { registry, panes } = deps;

  const find = (id: string): Member => {
    const member = registry.find(id);
    if (member !== null) return member;
    throw new AppError('not_found', `No agent has the id or address "${id}".`, 'List them with `gantry agents ls`.');
  };
  /** The live pane. While the engine cannot be read, nobody can say that a pane is gone. */
  const livePane = (member: Member): string => {
    const pane = paneOf(member);
    if (pane !== null) {
      refuseUnreadable(panes);
      return pane.id;
    }
    if (member.hosted) throw withoutPane(member);
    throw new AppError(
      'not_found',
      `${member.address} has no live pane.`,
      `Start it with \`gantry teams up ${member.team}\`.`,
    );
  };
  /** The newest pane, live or closed. */
  const anyPane = (member: Member): string => {
    const pane = member.panes.at(-1);
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
        ok: true,
        service: 'gantry-engine',
        panes: panes.engine().running,
        ...(query.c === undefined ? {} : { proof: deps.prove(query.c) }),
      },
    })),
    bind(listAgents, ({ query }) => ({ body: { agents: registry.agents(query.team), engine: panes.engine() } })),
    bind(getAgent, ({ params }) => ({ body: registry.show(find(params.id)) })),
    bind(captureAgent, async ({ params, query }) => {
      const member = find(params.id);
      const lines = query.lines ?? captureLines;
      if (kindOf(member) === 'hosted') return { body: await deps.conversations.capture(member.id, lines) };
      return { body: await panes.capture(anyPane(member), lines) };
    }),
    bind(agentTranscript, async ({ params, query }) => {
      const member = find(params.id);
      if (kindOf(member) === 'hosted')
        return { body: await readConversation(deps.conversations, member, query.cursor) };
      return { body: await readTranscript(panes, anyPane(member), member.panes, query.cursor) };
    }),
    bind(agentScreen, async ({ params }) => ({ body: await panes.screen(livePane(find(params.id))) })),
    bind(agentScrollback, async ({ params, query }) => ({
      body: await panes.scrollback(livePane(find(params.id)), query.before, query.lines ?? scrollbackLines),
    })),
    bind(agentStream, ({ params }, sink) => {
      const pane = livePane(find(params.id));
      sink.open();
      return streamScreens(panes, pane, sink);
    }),
    bind(agentInput, async ({ params, body, principal }) => {
      const member = find(params.id);
      if (member.hosted) {
        await registry.hosted(member.id)?.input(body);
        return { body: { ok: true as const } };
      }
      const pane = livePane(member);
      const bot = registry.bot(member.id);
      if (bot === null) throw notReady(member);
      await bot.input(body);
      deps.sizes.typed(pane, viewerOf(principal));
      return { body: { ok: true as const } };
    }),
    bind(agentSize, async ({ params, body, principal }) => {
      const pane = livePane(find(params.id));
      if (deps.sizes.mayResize(pane, viewerOf(principal))) await panes.resize(pane, body);
      const now = panes.get(pane) ?? body;
      return { body: { ok: true as const, cols: now.cols, rows: now.rows } };
    }),
    bind(explainAgent, ({ params }) => ({ body: explain(find(params.id), registry) })),
    bind(agentHook, async ({ params, body, principal, signal }) => {
      const bot = principal.agentId === undefined ? null : registry.bot(principal.agentId);
      if (bot === null) {
        throw new AppError('not_found', 'This bot has no live pane.', 'Only a program in a pane of Gantry may report.');
      }
      return { body: await bot.hook(params.event, body, signal) };
    }),
  ];
}

/** Who looks at a pane: one browser, or one kind of program of the owner. */
function viewerOf(principal: Principal): string {
  return principal.sessionId ?? `${principal.userId} ${principal.via}`;
}

function withoutPane(member: Member): AppError {
  return new AppError(
    'not_found',
    `${member.address} is a hosted bot and has no live pane.`,
    `Read what it said with \`gantry agents transcript ${member.address}\`.`,
  );
}

function notReady(member: Member): AppError {
  return new AppError('transport', `${member.address} is being taken up again.`, 'Try again in a moment.');
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
