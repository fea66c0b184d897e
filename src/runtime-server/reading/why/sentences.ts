/**
 * Explains a state as a person would: one sentence that follows the chain of causes to its end. Pure: facts in, words out; the same words in the
 * terminal and on screen.
 */
import type { Agent } from '../../../contracts/factory/agent.ts';
import type { Delivery, DeliveryEvidence } from '../../../contracts/factory/delivery.ts';
import { nodeCauses } from '../../../contracts/factory/node.ts';
import type { Run, RunNode } from '../../workflows/model.ts';

export interface WhyFacts {
  /** By address; null for one that does not exist (any more). */
  bot(address: string): Agent | null;
  /** The node that the bot holds now. */
  heldBy(address: string): { readonly run: Run; readonly node: RunNode } | null;
  /** Lines of the node that are proven, newest first. */
  proofs(node: RunNode): readonly string[];
}

/** The causes in a sentence, nearest first. */
export type Because =
  | { readonly kind: 'node'; readonly node: RunNode }
  | { readonly kind: 'bot'; readonly agent: Agent }
  | { readonly kind: 'run'; readonly run: Run };

export interface Told {
  readonly words: string;
  readonly because: readonly Because[];
}

/** A longer chain of causes ends here: nobody follows more in one sentence. */
const deepest = 3;
const maxDetailLength = 240;

export function whyNode(facts: WhyFacts, run: Run, node: RunNode): Told {
  const told = predicate(facts, run, node, deepest);
  return { words: sentence(`${quoted(node.title)} ${told.words}`), because: told.because };
}

/** The text after a node's name: `waits for "Fix it", which …`. */
function predicate(facts: WhyFacts, run: Run, node: RunNode, depth: number): Told {
  const only = (words: string): Told => ({ words, because: [] });
  const words = nodeCauses[node.cause];
  switch (node.status) {
    case 'new': {
      const parent = node.parents.map((id) => run.nodes.get(id)).find((one) => one !== undefined && !isOver(one));
      return parent === undefined ? only('is about to begin') : chained('waits for', facts, run, parent, depth);
    }
    case 'ready':
      return whyReady(facts, node);
    case 'working':
      return whyWorking(facts, node);
    case 'checking':
      if (node.cause === 'reviewing' && node.checker !== null) {
        return withBot(facts, `is reported done and is being checked by ${node.checker}`, node.checker);
      }
      return only(node.cause === 'cancelling' ? words : 'is reported done, and its verify command is running');
    case 'needs_you':
      return only(`waits for you: ${words}${detail(node)}`);
    case 'done':
      return only(`is done: ${whyDone(facts, node)}`);
    case 'failed':
      return only(`failed${node.attempt > 1 ? ` in attempt ${node.attempt}` : ''}: ${words}${detail(node)}`);
    case 'blocked': {
      if (node.cause === 'gate') return only(`waits at its gate${detail(node)}`);
      const failed = [...node.parents.map((id) => run.nodes.get(id)), ...run.nodes.values()].find(
        (one) => one?.status === 'failed' && one.step.onFail !== 'continue',
      );
      return failed === undefined
        ? only(`cannot begin: ${words}`)
        : chained('cannot begin because of', facts, run, failed, depth);
    }
    case 'skipped':
      return only(`was skipped: ${words}${detail(node)}`);
    case 'cancelled':
      return only('was cancelled with its run');
  }
}

function chained(verb: string, facts: WhyFacts, run: Run, next: RunNode, depth: number): Told {
  const because: Because[] = [{ kind: 'node', node: next }];
  if (depth === 0) return { words: `${verb} ${quoted(next.title)}`, because };
  const told = predicate(facts, run, next, depth - 1);
  return { words: `${verb} ${quoted(next.title)}, which ${told.words}`, because: [...because, ...told.because] };
}

function whyReady(facts: WhyFacts, node: RunNode): Told {
  if (node.wakeAt !== null) {
    return { words: `will be retried at ${new Date(node.wakeAt).toISOString()}${detail(node)}`, because: [] };
  }
  if (!node.assignee.includes('@')) return { words: 'waits for other commands to finish', because: [] };
  if (node.handed !== 'no') return withBot(facts, `waits in the queue of ${node.assignee}`, node.assignee);
  const held = facts.heldBy(node.assignee);
  if (held === null || held.node.nodeId === node.nodeId) {
    return withBot(facts, `is about to be given to ${node.assignee}`, node.assignee);
  }
  const told = withBot(facts, `waits until ${node.assignee} has finished ${quoted(held.node.title)}`, node.assignee);
  return { words: told.words, because: [{ kind: 'node', node: held.node }, ...told.because] };
}

function whyWorking(facts: WhyFacts, node: RunNode): Told {
  const again =
    node.attempt > 1
      ? `, in attempt ${node.attempt}${node.detail === null ? '' : ` because ${short(node.detail)}`}`
      : '';
  if (node.cause === 'cancelling') return withBot(facts, 'is being cancelled', node.assignee);
  if (node.assignee === 'shell') return { words: `runs its command${again}`, because: [] };
  if (node.assignee === 'queue') {
    const state = node.cause === 'at_worker' ? 'is running' : 'waits for a worker';
    // The detail is a sentence of its own.
    const why = node.detail === null ? '' : `: ${short(node.detail.charAt(0).toLowerCase() + node.detail.slice(1))}`;
    return { words: `${state}${why}`, because: [] };
  }
  if (node.assignee === 'owner')
    return { words: 'was taken over by a person, who has not marked it done', because: [] };
  return withBot(facts, `is being worked on by ${node.assignee}${again}`, node.assignee);
}

function whyDone(facts: WhyFacts, node: RunNode): string {
  if (node.cause === 'accepted') return `accepted by a person${detail(node)}`;
  const [newest, ...more] = facts.proofs(node);
  if (node.cause === 'reported' && newest !== undefined)
    return `reported done by its bot, with ${quoted(newest)}${detail(node)}`;
  if (newest === undefined) return `${nodeCauses[node.cause]}${detail(node)}`;
  return `proven by ${quoted(newest)}${more.length === 0 ? '' : ` and ${more.length} more`}${detail(node)}`;
}

/** Names what keeps the bot itself, where that is the cause behind the cause. */
function withBot(facts: WhyFacts, words: string, address: string): Told {
  const agent = facts.bot(address);
  if (agent === null)
    return { words: address.includes('@') ? `${words}, which is no longer in a team` : words, because: [] };
  const reason = agent.stateReason === null ? '' : `: ${short(agent.stateReason)}`;
  const state = { needs_you: 'waits for you', offline: 'is offline', blocked: 'is blocked', failed: 'failed' };
  const stuck = agent.state in state ? `, which ${state[agent.state as keyof typeof state]}${reason}` : '';
  return { words: `${words}${stuck}`, because: [{ kind: 'bot', agent }] };
}

export function whyBot(
  facts: WhyFacts,
  agent: Agent,
  next: { readonly run: Run; readonly node: RunNode } | null,
): Told {
  const held = facts.heldBy(agent.address);
  const reason = agent.stateReason === null ? '' : `: ${short(agent.stateReason)}`;
  const step = held === null ? '' : `${quoted(held.node.title)} of the run ${quoted(held.run.title)}`;
  const because: Because[] =
    held === null
      ? []
      : [
          { kind: 'node', node: held.node },
          { kind: 'run', run: held.run },
        ];
  const waits = agent.queueDepth === 0 ? '' : `, and ${messages(agent.queueDepth)} for it`;
  const tell = (words: string): Told => ({ words: sentence(`${agent.address} ${words}`), because });
  const meanwhile = step === '' ? '' : `, while ${step} is its step`;
  const stale = agent.stale ? ', as last known: the panes cannot be read' : '';
  switch (agent.state) {
    case 'needs_you':
      return tell(`waits for you${reason}${meanwhile}${waits}${stale}`);
    case 'blocked':
      return tell(`is blocked${reason}${meanwhile}${waits}${stale}`);
    case 'failed':
      return tell(`failed${reason}${meanwhile}${waits}${stale}`);
    case 'offline':
      return tell(`is offline${reason === '' ? ': it was not started' : reason}${meanwhile}${waits}${stale}`);
    case 'starting':
      return tell(`is starting${reason}${meanwhile}${waits}${stale}`);
    case 'working':
    case 'checking': {
      const verb = agent.state === 'checking' ? 'is checking' : 'is working';
      const told = held === null ? null : whyWorking(facts, held.node).words;
      const again = told === null ? '' : (/, in attempt .*$/.exec(told)?.[0] ?? '');
      return tell(
        step === ''
          ? `${verb}${reason === '' ? ' on input from its pane' : reason}${waits}${stale}`
          : `${verb} on ${step}${again}${waits}${stale}`,
      );
    }
    case 'idle':
    case 'done': {
      if (step !== '')
        return tell(`is idle, although ${step} is its step: it has not reported it done${waits}${stale}`);
      if (next === null) return tell(`is idle${reason === '' ? ': no step is given to it' : reason}${waits}${stale}`);
      const told = predicate(facts, next.run, next.node, deepest - 1);
      return {
        words: sentence(`${agent.address} is idle because ${quoted(next.node.title)}, its next step, ${told.words}`),
        because: [{ kind: 'node', node: next.node }, ...told.because],
      };
    }
  }
}

const witnesses: Readonly<Record<DeliveryEvidence, string>> = {
  hook: 'its harness reported it',
  transcript: 'it is in its transcript',
  composer: 'it left its composer',
  exec: 'the program took it',
  model: 'the model took it',
  acp: 'the agent began to answer it',
};

export function whyDelivery(
  facts: WhyFacts,
  delivery: Delivery,
  handed: { readonly run: Run; readonly node: RunNode } | null,
): Told {
  const what =
    handed === null
      ? `The message to ${delivery.to}`
      : `The message that hands ${quoted(handed.node.title)} to ${delivery.to}`;
  const because: Because[] = handed === null ? [] : [{ kind: 'node', node: handed.node }];
  const said = delivery.detail === undefined || delivery.detail === '' ? '' : `: ${short(delivery.detail)}`;
  const waiting = withBot(facts, '', delivery.to);
  const tell = (words: string): Told => ({
    words: sentence(`${what} ${words}`),
    because: [...because, ...waiting.because],
  });
  switch (delivery.state) {
    case 'accepted':
      return tell(`is being handed over${said}`);
    case 'queued':
      return tell(
        `waits in the queue${said === '' ? `, because ${delivery.to} ${waiting.words.replace(/^, which /, '') || 'has not taken it yet'}` : said}`,
      );
    case 'verified':
      return tell(`arrived${delivery.evidence === null ? said : `: ${witnesses[delivery.evidence]}`}`);
    case 'unconfirmed':
      return tell(`may not have arrived${said === '' ? ': nothing confirmed that it arrived' : said}`);
    case 'best_effort':
      return tell(`was handed over; nothing confirmed more${said}`);
    case 'failed':
      return tell(`failed${said}`);
  }
}

export function whyRun(facts: WhyFacts, run: Run): Told {
  const nodes = [...run.nodes.values()];
  const name = `The run ${quoted(run.title)}`;
  const lean = (verb: string, node: RunNode | undefined, others: number): Told => {
    if (node === undefined) return { words: sentence(`${name} ${verb}`), because: [] };
    const told = predicate(facts, run, node, deepest - 1);
    const more = others > 0 ? `, and so ${others === 1 ? 'does 1 other step' : `do ${others} other steps`}` : '';
    return {
      words: sentence(`${name} ${verb} because ${quoted(node.title)} ${told.words}${more}`),
      because: [{ kind: 'node', node }, ...told.because],
    };
  };
  const first = (...tests: ((node: RunNode) => boolean)[]) => {
    for (const test of tests) {
      const found = nodes.find(test);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const needing = nodes.filter((node) => node.status === 'needs_you');
  const isAt =
    (...statuses: RunNode['status'][]) =>
    (node: RunNode) =>
      statuses.includes(node.status);
  switch (run.status) {
    case 'needs_you':
      return lean('needs you', needing[0], needing.length - 1);
    case 'running':
      return lean(
        run.cancelAt !== null ? 'is being cancelled' : run.stopping ? 'is stopping' : 'is running',
        first(isAt('working'), isAt('checking'), isAt('ready'), isAt('blocked'), isAt('new')),
        0,
      );
    case 'done': {
      const skipped = nodes.filter(isAt('skipped')).length;
      const left = skipped === 0 ? '' : `, and ${steps(skipped)} not needed`;
      const done = nodes.filter(isAt('done'));
      const word = done.some(({ cause }) => cause === 'reported') ? 'done' : 'proven';
      return { words: sentence(`${name} is done because ${steps(done.length)} ${word}${left}`), because: [] };
    }
    case 'degraded':
      return lean('is partly done', first(isAt('failed'), isAt('skipped')), 0);
    case 'failed':
      return lean(
        'failed',
        first((node) => node.status === 'failed' && node.step.onFail !== 'continue', isAt('failed')),
        0,
      );
    case 'cancelled':
      return { words: sentence(`${name} was cancelled`), because: [] };
  }
}

/** A question that ends it keeps its mark. */
const sentence = (words: string) => (/[?!…]$/.test(words) ? words : `${words}.`);
const steps = (count: number) => (count === 1 ? '1 step is' : `${count} steps are`);
const messages = (count: number) => (count === 1 ? '1 message waits' : `${count} messages wait`);
const isOver = (node: RunNode) => ['done', 'failed', 'skipped', 'cancelled'].includes(node.status);
const quoted = (text: string) => `“${short(text)}”`;
const detail = (node: RunNode) => (node.detail === null ? '' : ` (${short(node.detail)})`);

/** One line without its full stop, at most as long as a person reads inside a sentence. */
function short(text: string): string {
  const flat = text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  const whole = [...flat];
  return (whole.length > maxDetailLength ? `${whole.slice(0, maxDetailLength - 1).join('')}…` : flat).replace(
    /\.$/,
    '',
  );
}
