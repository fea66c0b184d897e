/** Rows of the ledger in sentences, for the pages and the command line. A sentence says what happened, not who did it: that is the row's actor. */
import { partyWords } from '../delivery.ts';
import { type NodeCause, nodeCauses } from '../node.ts';
import type { LedgerRow } from './ledger.ts';

type Row = Pick<LedgerRow, 'type' | 'subject' | 'body' | 'names'>;

interface Told {
  /** A text of the body; empty where it has none. */
  readonly text: (key: string) => string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The bot that the row is about, by its address. */
  readonly bot: string;
  /** The title of the step, run, thread or question in quotes; else its id. */
  readonly title: string;
  readonly parties: () => string;
}

const quoted = (text: string): string => `“${text}”`;
const spoken = (word: string): string => word.replaceAll('_', ' ');
const stateWords = (status: string): string => (status === 'needs_you' ? 'needs you' : `is ${spoken(status)}`);
const many = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const witnesses: Readonly<Record<string, string>> = {
  hook: 'its hook',
  transcript: 'its transcript',
  composer: 'its input line',
  exec: 'its command',
  model: 'the model',
};

const teamChanges: Readonly<Record<string, string>> = {
  up: 'was started',
  down: 'was stopped',
  file: 'has a changed file',
  invalid: 'cannot be used: its file has problems',
};

function worktree(verb: string) {
  return ({ text, body }: Told): string =>
    `${text('agent')}: ${many(Number(body.commits ?? 0), 'commit')} of ${text('branch')} ${verb}`;
}

/** Each type that is written, and its sentence. */
export const ledgerWords: Readonly<Record<string, (told: Told) => string>> = {
  'ledger.genesis': () => 'The ledger began',
  'ledger.exported': ({ body }) => `The ledger was exported: ${many(Number(body.rows ?? 0), 'row')}`,

  'delivery.accepted': ({ parties }) => `${parties()} · accepted`,
  delivery: ({ body, parties }) => {
    const { state, evidence } = (body.delivery ?? {}) as { state?: string; evidence?: string | null };
    const by = typeof evidence === 'string' ? ` by ${witnesses[evidence] ?? evidence}` : '';
    return `${parties()} · ${spoken(state ?? 'unknown')}${by}`;
  },
  'message.recorded': ({ parties, title }) => `${parties()} · kept in the thread ${title}`,
  'thread.created': ({ title }) => `Thread ${title} was opened`,
  'mail.sent': ({ parties }) => `Mail ${parties()}`,
  'mail.read': () => 'Mail was read',

  'team.changed': ({ body }) => {
    const { team, change } = (body.change ?? {}) as { team?: string; change?: string };
    return `Team ${team ?? ''} ${teamChanges[change ?? ''] ?? spoken(change ?? '')}`;
  },
  'worktree.merged': worktree('were merged'),
  'worktree.kept': worktree('were kept'),
  'worktree.discarded': worktree('were discarded'),
  'worktree.restored': worktree('were brought back'),

  'campaign.created': ({ text }) => `Campaign ${quoted(text('title'))} was opened`,
  'project.created': ({ text }) => `Project ${quoted(text('name'))} was created`,
  'project.changed': ({ text }) => `Project ${quoted(text('name'))} was changed`,
  'template.saved': ({ text }) => `Template ${quoted(text('name'))} was saved`,
  'template.removed': ({ text }) => `Template ${quoted(text('id'))} was deleted`,
  'template.restored': ({ text }) => `Template ${quoted(text('id'))} was brought back`,
  'schedule.created': ({ text }) => `Schedule ${quoted(text('title'))} was created`,
  'schedule.changed': ({ text, body }) =>
    `Schedule ${quoted(text('title'))} was ${body.paused === true ? 'changed and is paused' : 'changed'}`,
  'schedule.removed': ({ text }) => `Schedule ${quoted(text('title'))} was removed`,

  'run.started': ({ text }) => `Run ${quoted(text('title'))} was started`,
  'run.status': ({ text, title }) => `Run ${title} ${stateWords(text('status'))}`,
  'run.outcome': ({ text, title }) => `Run ${title}: the work of ${text('bot')} was ${text('outcome')}`,
  'node.status': ({ text, title }) => {
    const cause = nodeCauses[text('cause') as NodeCause];
    return `Step ${title} ${stateWords(text('status'))}${cause === undefined ? '' : `: ${cause}`}`;
  },
  'node.progress': ({ text, title }) => `Step ${title}: ${text('text')}`,
  'proof.recorded': ({ text, title }) => `Step ${title}: ${quoted(text('line'))} was ${text('outcome')}`,

  'approval.held': ({ bot, title }) => `Question${bot === '' ? '' : ` of ${bot}`}: ${title}`,
  'approval.answered': ({ text, title }) =>
    `Question ${title} was ${{ approve: 'approved', reject: 'rejected' }[text('decision')] ?? spoken(text('decision'))}`,
  'approval.expired': ({ title }) => `Question ${title} expired without an answer`,
  'approval.withdrawn': ({ title }) => `Question ${title} was withdrawn`,

  'tool.called': ({ text, body }) => {
    const how = body.acted !== true ? 'did not run' : body.isError === true ? 'ran and failed' : 'ran';
    return `Tool ${text('tool')} ${how}${text('rule') === '' ? '' : `, by the rule ${text('rule')}`}`;
  },
  'steer.checkpoint': ({ text, bot }) => `Checkpoint of ${bot}, ${spoken(text('state'))}`,
  'steer.interrupt': ({ bot }) => `${bot} was interrupted`,

  'trust.answered': ({ text, body }) => `${text('answer') === 'yes' ? 'Agreed to' : 'Said no to'} ${paths(body.files)}`,
  'trust.changed': ({ body }) => {
    const waits = (body.change as { waits?: unknown } | undefined)?.waits;
    return Array.isArray(waits) && waits.length > 0 ? `${paths(waits)} wait for a yes` : 'Nothing waits for a yes now';
  },
  'account.added': ({ text }) => `Account ${text('account')} of ${text('program')} was added`,
  'account.removed': ({ text }) => `Account ${text('account')} of ${text('program')} was removed`,
  'agent.account_changed': ({ body, bot }) => {
    const { from = '', to = '', resumed } = (body.change ?? {}) as { from?: string; to?: string; resumed?: boolean };
    const how = resumed === true ? 'in the same conversation' : 'in a new conversation';
    return `${bot} continues with the account ${to} instead of ${from}, ${how}`;
  },
  'vault.set': ({ text }) => `Secret ${text('name')} was saved`,
  'vault.removed': ({ text }) => `Secret ${text('name')} was removed`,
  'spending.limit': ({ text, body }) => {
    const who = text('limit') === '*' ? 'all bots' : text('limit');
    if (typeof body.dailyCents !== 'number') return `The daily limit of ${who} was removed`;
    return `The daily limit of ${who} is $${(body.dailyCents / 100).toFixed(2)}`;
  },
  'work.budget': ({ text, body }) => {
    const answer = text('answer');
    if (answer !== '')
      return `More budget was ${{ approve: 'approved', reject: 'rejected' }[answer] ?? spoken(answer)}`;
    const { usd, tokens, minutes } = (body.budget ?? {}) as { usd?: number; tokens?: number; minutes?: number };
    const parts = [
      usd === undefined ? '' : `$${usd}`,
      tokens === undefined ? '' : many(tokens, 'token'),
      minutes === undefined ? '' : many(minutes, 'minute'),
    ].filter((part) => part !== '');
    return parts.length === 0 ? 'Budget was removed' : `Budget was set: ${parts.join(', ')}`;
  },
  'model.kept': ({ text }) => `Model provider ${text('name')} was saved`,
  'model.forgotten': ({ text }) => `Model provider ${text('name')} was removed`,

  'connector.event.received': ({ text }) => `Event ${quoted(text('name'))} came from a connector`,
  'automation.rule.saved': ({ text, bot }) => `Rule for ${bot} was saved, version ${text('version') || '?'}`,
  'automation.rule.removed': () => 'Rule was removed',
  'automation.run.moved': ({ text }) => `Job of a rule is ${spoken(text('status'))}`,
  'ticket.created': ({ bot }) => `Ticket for ${bot} was opened`,
  'ticket.closed': ({ bot }) => `Ticket of ${bot} was closed`,
  'vendor.ticket.created': ({ bot }) => `Message became a ticket for ${bot}`,
  'trigger.created': ({ text, bot }) => `Trigger ${quoted(text('title'))} for ${bot} was created`,
  'trigger.removed': () => 'Trigger was removed',

  'lease.claimed': ({ text }) => `Lease on ${spoken(text('kind'))} ${text('key')} was claimed`,
  'lease.released': ({ text }) => `Lease on ${spoken(text('kind'))} ${text('key')} was released`,
  'plan.drafted': ({ body }) => `Plan of ${many(Number(body.steps ?? 0), 'step')} was drafted`,
  'plan.refined': ({ body, text }) =>
    `Plan was refined: ${many(Number(body.steps ?? 0), 'step')}, revision ${text('revision') || '?'}`,
  'plan.discarded': () => 'Plan was discarded',
  'plan.started': ({ body }) => `Plan of ${many(Number(body.steps ?? 0), 'step')} was started`,
  'peer.registered': ({ text }) => `Peer ${text('name')} was registered`,
  'peer.message': () => 'Message to a peer',
  'peer.removed': ({ text }) => `Peer ${text('name')} was removed`,
};

function paths(files: unknown): string {
  const all = Array.isArray(files) ? files : [];
  const names = all.map((one) =>
    typeof one === 'string' ? one : String((one as { path?: unknown } | null)?.path ?? ''),
  );
  return names.length > 3 ? `${names.slice(0, 2).join(', ')} and ${names.length - 2} more files` : names.join(', ');
}

/** The row in one sentence. A type of a later version is shown by its name. */
export function ledgerSentence({ type, subject, body, names = {} }: Row): string {
  if (body === null) return `Unreadable: ${type}`;
  const words = Object.hasOwn(ledgerWords, type) ? ledgerWords[type] : undefined;
  if (words === undefined) return `${type} of ${subject}`;
  const text = (key: string): string => {
    const value = body[key];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  const idOf = (about: string): string => about.slice(about.indexOf(':') + 1);
  return words({
    text,
    body,
    bot: names.bot ?? (text('agentId') || text('botId')),
    title: names.title === undefined ? idOf(subject) : quoted(names.title),
    parties: () => {
      const delivered = (body.delivery as { to?: string } | undefined)?.to;
      const to = partyWords(names.to ?? delivered ?? text('to'));
      const from = names.from ?? text('from');
      const who = from === '' ? `to ${to}` : `${partyWords(from)} → ${to}`;
      return names.firstWords === undefined ? who : `${who}: ${names.firstWords}`;
    },
  });
}
