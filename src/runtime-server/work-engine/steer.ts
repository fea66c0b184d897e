/**
 * Steering: note a bot's progress (checkpoint), ask it in a separate thread (consult), or end its turn and send a note (interrupt). A bot
 * checkpoints itself, consults any bot, and interrupts only those that its team file lets it direct. Owns `engine_checkpoint`; must not know how a
 * harness is typed into.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Agent } from '../../contracts/factory/agent.ts';
import type { Delivery, SendPlan, SendRequest } from '../../contracts/factory/delivery.ts';
import type { Checkpoint, SteerAnswer } from '../../contracts/factory/work-engine/steer.ts';
import * as table from '../../contracts/factory/work-engine/steer.ts';
import { iso } from '../../kit/clock/clock.ts';
import { bind, type Principal } from '../../kit/http/types.ts';
import type { Git } from '../../kit/process/git.ts';
import type { Value } from '../../kit/store/store.ts';
import type { Member } from '../agents/member.ts';
import { sha256 } from '../base/actor.ts';
import { decodeCursor, defaultLimit, encodeCursor, idCursor, page } from '../base/paging.ts';
import type { Sender } from '../messaging/send-route.ts';
import { senderOf } from '../messaging/sender.ts';
import type { ThreadService } from '../messaging/thread-service.ts';
import type { EnginePart, EnginePartDeps } from '../parties/part.ts';
import type { Caller } from '../parties/parties.ts';

const screenLines = 80;
const maxScreenLength = 16_384;
/** Of one bot; the oldest go first. */
export const maxCheckpoints = 200;

/** A live bot, as far as steering reaches. */
interface SteeredBot {
  interruptKeys(): readonly string[];
  /** `ended`: its turn was seen to end. */
  interrupt(why: string): Promise<{ readonly ended: boolean; readonly keys: readonly string[] }>;
}

export interface SteerDeps extends EnginePartDeps {
  readonly registry: {
    find(idOrAddress: string): Member | null;
    bot(agentId: string): SteeredBot | null;
  };
  readonly views: { show(member: Member): Agent };
  readonly panes: { capture(paneId: string, lines: number): Promise<{ text: string }> };
  readonly send: (request: SendRequest, sender: Sender) => Promise<Delivery | SendPlan>;
  readonly threads: ThreadService;
  /** Whether the first bot directs the second, both of one team. */
  readonly directs: (team: string, from: string, to: string) => boolean;
  readonly git: Pick<Git, 'try'>;
}

export function createSteer(deps: SteerDeps): EnginePart {
  const { store, ledger, clock, ids, workspace, parties, registry } = deps;

  async function checkpoint(member: Member, note: string | null, caller: Caller): Promise<Checkpoint> {
    const agent = deps.views.show(member);
    const pane = member.panes.at(-1);
    const cwd = member.spec?.cwd ?? member.definition?.cwd;
    const [screen, git] = await Promise.all([
      pane === undefined ? '' : deps.panes.capture(pane, screenLines).then(textOf, () => ''),
      cwd === undefined ? null : repositoryState(deps.git, cwd),
    ]);
    const body: Checkpoint = {
      id: ids.next('checkpoint'),
      agentId: member.id,
      agent: member.address,
      by: caller.name,
      at: iso(clock.now()),
      note,
      state: agent.state,
      stateReason: agent.stateReason,
      node: agent.currentNode,
      screen,
      git,
    };
    await store.write((tx) => {
      tx.run(
        'INSERT INTO engine_checkpoint (id, workspace, agent_id, body) VALUES (?, ?, ?, ?)',
        body.id,
        workspace,
        member.id,
        JSON.stringify(body),
      );
      tx.run(
        `DELETE FROM engine_checkpoint WHERE agent_id = ? AND id <=
          (SELECT id FROM engine_checkpoint WHERE agent_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`,
        member.id,
        member.id,
        maxCheckpoints,
      );
      const { id, agentId, state, node } = body;
      const noteSha256 = note === null ? null : sha256(note);
      ledger.append(tx, {
        type: 'steer.checkpoint',
        ...caller.actor,
        subject: `agent:${member.id}`,
        body: { v: 1, id, agentId, state, node, git, noteSha256 },
      });
    });
    return body;
  }

  async function consult(member: Member, question: string, caller: Caller, principal: Principal): Promise<SteerAnswer> {
    const title = `Consult: ${question.split('\n', 1)[0]}`.slice(0, 200);
    // A bot's own thread: it reads the answer there.
    const bot = caller.bot === null ? member.address : undefined;
    const thread = await deps.threads.create(deps.threads.plan(title, bot, caller.bot?.id), caller.actor);
    const delivery = await sent({ to: member.address, text: question, threadId: thread.id }, principal);
    return { action: 'consult', threadId: thread.id, delivery };
  }

  async function sent(request: SendRequest, principal: Principal): Promise<Delivery> {
    const delivery = await deps.send(request, senderOf(registry, principal));
    if ('dryRun' in delivery) throw new Error('A send was answered as a dry run.');
    return delivery;
  }

  /** The bot, to be interrupted. Refuses where a key could answer a question or hit the unknown. */
  function toInterrupt(member: Member): { readonly bot: SteeredBot; readonly keys: readonly string[] } {
    const { state, reason } = member.shown;
    if (!member.live) {
      const start = `Start it with \`gantry teams up ${member.team}\`.`;
      throw new AppError('not_found', `${member.address} is not running.`, start);
    }
    const bot = registry.bot(member.id);
    if (bot === null)
      throw new AppError('transport', `Gantry is reconnecting to ${member.address}.`, 'Try again in a moment.');
    // Without a terminal there is no key that could answer something else.
    if (!member.placement.inTerminal) return { bot, keys: [] };
    if (reason === 'unclear' || state === 'needs_you' || state === 'starting') {
      const why = reason === 'unclear' ? 'its state is unclear' : `it shows ${state.replace('_', ' ')}`;
      throw new AppError('refused', `${member.address} cannot be interrupted: ${why}.`, 'Check its pane.', {
        status: 409,
      });
    }
    return { bot, keys: state === 'working' || state === 'checking' ? bot.interruptKeys() : [] };
  }

  async function interrupt(
    member: Member,
    note: string | undefined,
    caller: Caller,
    principal: Principal,
  ): Promise<SteerAnswer> {
    const { bot } = toInterrupt(member);
    const { ended: interrupted, keys } = await bot.interrupt(`interrupted by ${caller.name}`);
    await store.write((tx) =>
      ledger.append(tx, {
        type: 'steer.interrupt',
        ...caller.actor,
        subject: `agent:${member.id}`,
        body: { v: 1, agentId: member.id, interrupted, keys, noteSha256: note === undefined ? null : sha256(note) },
      }),
    );
    const delivery = note === undefined ? null : await sent({ to: member.address, text: note }, principal);
    return { action: 'interrupt', interrupted, keys: [...keys], delivery };
  }

  function allow(action: (typeof table.steerActions)[number], member: Member, caller: Caller): void {
    if (caller.bot === null || action === 'consult') return;
    const itself = caller.id === member.id;
    if (action === 'checkpoint' && itself) return;
    const { team, slug } = caller.bot;
    if (action === 'interrupt' && !itself && team === member.team && deps.directs(team, slug, member.slug)) return;
    const rule =
      action === 'checkpoint'
        ? 'A bot can checkpoint only itself.'
        : 'A bot can interrupt only bots that its team file lets it direct.';
    throw new AppError('refused', `${caller.name} may not ${action} ${member.address}.`, rule);
  }

  async function steer(body: table.SteerRequest, principal: Principal): Promise<SteerAnswer> {
    const caller = parties.caller(principal);
    const member = registry.find(parties.bot(body.agent).id) as Member;
    const { action, note } = body;
    allow(action, member, caller);
    if (action === 'consult' && note === undefined) {
      throw new AppError('usage', 'Consulting a bot needs a question.', 'Give the question as note.');
    }
    if (action === 'consult' && member.id === caller.id) {
      throw new AppError('usage', 'A bot cannot consult itself.', 'Name another bot.');
    }
    if (body.dryRun === true) {
      const keys = action === 'interrupt' ? [...toInterrupt(member).keys] : [];
      const told = note === undefined ? [] : ['delivery.accepted', 'delivery'];
      const records = {
        checkpoint: ['steer.checkpoint'],
        consult: ['thread.created', 'delivery.accepted', 'message.recorded', 'delivery'],
        interrupt: ['steer.interrupt', ...told],
      }[action];
      return { dryRun: true, plan: { action, agent: member.address, keys, records } };
    }
    if (action === 'checkpoint') return { action, checkpoint: await checkpoint(member, note ?? null, caller) };
    if (action === 'consult') return consult(member, note ?? '', caller, principal);
    return interrupt(member, note, caller, principal);
  }

  return {
    owners: {},
    routes: [
      bind(table.steerAgent, async ({ body, principal }) => ({ body: await steer(body, principal) })),
      bind(table.listCheckpoints, async ({ query, principal }) => {
        const caller = parties.caller(principal);
        const agent = query.agent === undefined ? caller.bot?.id : parties.bot(query.agent).id;
        if (caller.bot !== null && agent !== caller.id) {
          throw new AppError('refused', 'A bot can see only its own checkpoints.', 'Leave `agent` out.');
        }
        const limit = query.limit ?? defaultLimit;
        const before = decodeCursor(query.cursor, idCursor);
        const values: Value[] = [agent === undefined ? workspace : agent, ...(before === null ? [] : [before])];
        const rows = await store.read((tx) =>
          tx.all<{ body: string }>(
            `SELECT body FROM engine_checkpoint WHERE ${agent === undefined ? 'workspace' : 'agent_id'} = ?
              ${before === null ? '' : 'AND id < ?'} ORDER BY id DESC LIMIT ?`,
            ...values,
            limit + 1,
          ),
        );
        const checkpoints = rows.map((row) => JSON.parse(row.body) as Checkpoint);
        const { shown, nextCursor } = page(checkpoints, limit, (last) => encodeCursor(last.id));
        return { body: { checkpoints: shown, nextCursor } };
      }),
    ],
  };
}

function textOf({ text }: { text: string }): string {
  return text.length <= maxScreenLength ? text : text.slice(-maxScreenLength);
}

/** Of the repository that a folder is in. */
interface RepositoryState {
  readonly head: string;
  readonly branch: string | null;
  /** Files that differ from the head, untracked ones too. */
  readonly changed: number;
}

async function repositoryState(git: Pick<Git, 'try'>, folder: string): Promise<RepositoryState | null> {
  const ran = await git
    .try(folder, ['status', '--porcelain=v2', '--branch', '--ignore-submodules=dirty'])
    .catch(() => null);
  if (ran === null || ran.exitCode !== 0) return null;
  const lines = ran.stdout.split('\n').filter((line) => line !== '');
  const fact = (name: string) => lines.find((line) => line.startsWith(`# branch.${name} `))?.slice(10 + name.length);
  const head = fact('oid');
  // A repository without a commit has no head yet.
  if (head === undefined || head === '(initial)') return null;
  const branch = fact('head');
  return {
    head,
    branch: branch === undefined || branch === '(detached)' ? null : branch,
    changed: lines.filter((line) => !line.startsWith('#')).length,
  };
}
