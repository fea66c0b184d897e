/**
 * The peer routes, answered by crews. Every name is looked up among the crews of the ticket's user only, so that another user's
 * bot answers exactly like one that does not exist.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Delivery } from '../../contracts/factory/delivery.ts';
import {
  type PeerAgent,
  type PeerSendResult,
  peerAgents,
  peerCapture,
  peerEvents,
  peerHello,
  peerInput,
  peerProgress,
  peerScreen,
  peerScrollback,
  peerSend,
  peerSize,
  peerStop,
  peerStream,
  peerTeamDown,
  peerTeamUp,
  peerTranscript,
  ticketExpired,
} from '../../contracts/factory/peer-routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import { type BoundRoute, bind, type Principal, type SseSink } from '../../kit/http/types.ts';
import type { BotTokens } from '../agents/bot-homes.ts';
import { type Member, paneOf } from '../agents/member.ts';
import type { Base } from '../base/base.ts';
import type { ProgressBook } from '../base/progress.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import { streamScreens } from '../panes/pane-stream.ts';
import { readTranscript } from '../panes/pane-transcript.ts';
import { refuseUnreadable } from '../panes/readable.ts';
import type { SizeOwners } from '../panes/size-owners.ts';
import type { Bring } from './bring.ts';
import type { Crew } from './crew.ts';
import type { Crews } from './crews.ts';

const captureLines = 80;
const scrollbackLines = 200;
/** The check of a ticket tolerates 30 s of clock difference, so a stream may outlive its ticket by as much. */
const graceMs = 30_000;
/** Several changes of a moment are sent as one. */
const gatherMs = 50;

export function peerRoutes(
  deps: Pick<Base, 'clock' | 'timers'> & {
    readonly crews: Crews;
    readonly bring: Bring;
    readonly progress: ProgressBook;
    readonly panes: PaneEngine;
    readonly sizes: SizeOwners;
    readonly tokens: BotTokens;
    readonly computerId: string;
    readonly engineId: string;
  },
): BoundRoute[] {
  const { crews, panes } = deps;
  const find = (principal: Principal, address: string) => {
    const found = crews.member(principal.userId, address);
    if (found !== null) return found;
    throw new AppError('not_found', `Nobody here has the address "${address}".`, 'List your bots at /peer/agents.');
  };
  const livePane = ({ member }: { member: Member }): string => {
    const pane = paneOf(member);
    if (pane === null) throw new AppError('not_found', `${member.address} has no live pane.`, 'Start its team.');
    refuseUnreadable(panes);
    return pane.id;
  };
  const anyPane = ({ member }: { member: Member }): string => {
    const pane = member.panes.at(-1);
    if (pane !== undefined) return pane;
    throw new AppError('not_found', `${member.address} never had a pane.`, 'Start its team.');
  };
  const crewOf = (principal: Principal, team: string) => {
    const crew = crews.find(principal.userId, team);
    if (crew !== null) return crew;
    throw new AppError('not_found', `No team is called "${team}" here.`, 'Start it first.');
  };
  const agentsOf = (user: string, team?: string): PeerAgent[] =>
    crews
      .of(user)
      .flatMap((crew) =>
        crew.registry.members(team).map((member) => shown(member, crew.views.show(member), deps.clock.now())),
      );
  const viewer = (principal: Principal) => `peer ${principal.userId}`;
  const by = (principal: Principal) => ({ actor: principal.userId, surface: 'peer' });

  /** Ends the stream when its ticket does. Returns the function that cancels this. */
  const untilExpired = (principal: Principal, sink: SseSink): void => {
    const end = () => {
      sink.send({ event: 'gone', data: { reason: ticketExpired } });
      sink.close();
    };
    const left = (principal.expiresAt ?? deps.clock.now()) + graceMs - deps.clock.now();
    const cancel = deps.timers.after(left, end);
    sink.signal.addEventListener('abort', cancel, { once: true });
  };

  return [
    bind(peerHello, ({ principal }) => ({
      body: { computerId: deps.computerId, engine: deps.engineId, user: principal.userId },
    })),
    bind(peerTeamUp, async (asked) => {
      const { principal, params, body } = asked;
      const { ok, result } = await deps.progress.follow(asked, (onProgress) =>
        deps.bring(principal.userId, params.name, body, by(principal), onProgress),
      );
      return { status: ok ? (200 as const) : (409 as const), body: result };
    }),
    bind(peerProgress, ({ principal, params }) => ({
      body: { progress: deps.progress.read(principal, params.progressKey) },
    })),
    bind(peerTeamDown, async ({ principal, params }) => ({
      body: await crewOf(principal, params.name).teams.down(params.name, by(principal)),
    })),
    bind(peerSend, async ({ principal, body, request }) => {
      const { crew, member } = find(principal, body.to);
      const header = request.headers['idempotency-key'];
      const key = Array.isArray(header) ? header.join(', ') : header;
      return { body: await sendToGuest(crew, member, body, principal.userId, key) };
    }),
    bind(peerStop, async ({ principal, body }) => {
      const { crew, member } = find(principal, body.to);
      if (!member.live) return { body: { stopped: [] } };
      refuseUnreadable(panes);
      await crew.registry.stop(member.id);
      await deps.tokens.revoke(member.id);
      return { body: { stopped: [member.address] } };
    }),
    bind(peerCapture, async ({ principal, query }) => {
      const session = anyPane(find(principal, query.to));
      const lines = query.lines ?? captureLines;
      return { body: { to: query.to, session, lines, ...(await panes.capture(session, lines)) } };
    }),
    bind(peerAgents, ({ principal, query }) => ({ body: { agents: agentsOf(principal.userId, query.team) } })),
    bind(peerEvents, ({ principal }, sink) => {
      sink.open();
      untilExpired(principal, sink);
      const tell = () => void sink.send({ event: 'agents', data: { agents: agentsOf(principal.userId) } });
      let cancel: (() => void) | null = null;
      const stop = crews.onChange((user) => {
        if (user !== principal.userId || cancel !== null) return;
        cancel = deps.timers.after(gatherMs, () => {
          cancel = null;
          tell();
        });
      });
      sink.signal.addEventListener(
        'abort',
        () => {
          stop();
          cancel?.();
        },
        { once: true },
      );
      tell();
    }),
    bind(peerScreen, async ({ principal, query }) => ({
      body: await panes.screen(livePane(find(principal, query.to))),
    })),
    bind(peerStream, ({ principal, query }, sink) => {
      const pane = livePane(find(principal, query.to));
      sink.open();
      untilExpired(principal, sink);
      return streamScreens(panes, pane, sink);
    }),
    bind(peerInput, async ({ principal, body: { to, ...input } }) => {
      const found = find(principal, to);
      const pane = livePane(found);
      const bot = found.crew.registry.bot(found.member.id);
      if (bot === null) throw new AppError('transport', `Gantry is reconnecting to ${to}.`, 'Try again in a moment.');
      await bot.input(input);
      deps.sizes.typed(pane, viewer(principal));
      return { body: { ok: true as const } };
    }),
    bind(peerSize, async ({ principal, body: { to, cols, rows } }) => {
      const pane = livePane(find(principal, to));
      if (deps.sizes.mayResize(pane, viewer(principal))) await panes.resize(pane, { cols, rows });
      const now = panes.get(pane) ?? { cols, rows };
      return { body: { ok: true as const, cols: now.cols, rows: now.rows } };
    }),
    bind(peerScrollback, async ({ principal, query: { to, before, lines } }) => ({
      body: await panes.scrollback(livePane(find(principal, to)), before, lines ?? scrollbackLines),
    })),
    bind(peerTranscript, async ({ principal, query: { to, cursor } }) => {
      const found = find(principal, to);
      return { body: await readTranscript(panes, anyPane(found), found.member.panes, cursor) };
    }),
  ];
}

function shown(member: Member, agent: { queueDepth: number; stale: boolean }, now: number): PeerAgent {
  return {
    address: member.address,
    session: paneOf(member)?.id ?? null,
    harness: member.spec?.harness ?? member.definition?.harnesses[0] ?? null,
    live: member.live,
    state: member.shown.state,
    stateReason: member.shown.reason,
    stale: agent.stale,
    since: iso(member.shown.since),
    forMs: Math.max(0, now - member.shown.since),
    queueDepth: agent.queueDepth,
  };
}

/** A message from another computer to a bot here: a send like any other, answered in the shape of the peer routes. */
interface GuestMessage {
  readonly text: string;
  readonly queue?: boolean | undefined;
  /** Address of a bot on the caller's computer. */
  readonly from?: string | undefined;
}

/** 504 when nothing proved that it arrived, 502 when it failed; each with the delivery's `state` beside the error. */
async function sendToGuest(
  crew: Crew,
  member: Member,
  { text, queue, from }: GuestMessage,
  user: string,
  key: string | undefined,
): Promise<PeerSendResult> {
  const name = `${from ?? 'owner'} (another computer)`;
  const sender = { caller: `peer:${user}`, surface: 'peer', name, agentId: null, inPerson: false };
  const asked = { to: member.address, text, ...(queue === undefined ? {} : { queue }) };
  const sent = await crew.sends.send(asked, sender, key);
  if ('dryRun' in sent) throw new Error('A send of a peer was answered as a dry run.');
  return answerOf(sent, crew.views.show(member).queueDepth);
}

function answerOf(sent: Delivery, depth: number): PeerSendResult {
  const said = sent.detail === undefined ? {} : { reason: sent.detail };
  const fact = `${sent.to}: ${sent.detail ?? sent.state}.`;
  const extra = { state: sent.state };
  switch (sent.state) {
    case 'verified':
      return { to: sent.to, state: 'verified', messageId: sent.id, evidence: sent.evidence, ...said };
    case 'accepted':
    case 'queued':
      return { to: sent.to, state: 'queued', messageId: sent.id, depth, ...said };
    case 'failed':
      throw new AppError('transport', fact, 'Check the bot, then send it again.', { extra });
    default:
      throw new AppError('timeout', fact, 'Check the pane before you send it again.', { extra });
  }
}
