/** `why`: finds the subject, gathers state and ledger for the sentence, and names the receipts. Reads only. */
import { AppError } from '../../../contracts/common/errors.ts';
import type { Agent } from '../../../contracts/factory/agent.ts';
import type { NodeLease } from '../../../contracts/factory/node-lease.ts';
import { explainWhy, type Why, type WhySubject } from '../../../contracts/factory/why-routes.ts';
import { iso } from '../../../kit/clock/clock.ts';
import { type BoundRoute, bind } from '../../../kit/http/types.ts';
import type { Ledger } from '../../../kit/ledger/ledger.ts';
import type { Store, Tx } from '../../../kit/store/store.ts';
import { toDelivery } from '../../messaging/model.ts';
import { readDelivery } from '../../messaging/store/deliveries.ts';
import type { Run, RunNode } from '../../workflows/model.ts';
import { loadRun } from '../../workflows/store/runs.ts';
import { heldNode, lastMove, lastMoveOfRun, nextNode, provenLines, runOfNode } from '../../workflows/store/why.ts';
import { type Because, type Told, type WhyFacts, whyBot, whyDelivery, whyNode, whyRun } from './sentences.ts';

interface WhyDeps {
  readonly store: Store;
  readonly ledger: Pick<Ledger, 'query'>;
  readonly workspace: string;
  /** By id, address, or a short name that only one bot has. */
  readonly findAgent: (name: string) => Agent | null;
  /** Of a step that is under way, by its id. */
  readonly leaseOf: (nodeId: string) => NodeLease | null;
  /** The file of a team while it waits for its person's yes. */
  readonly waitingFile: (team: string) => string | null;
}

type Read = Pick<Tx, 'get' | 'all'>;
interface Place {
  readonly run: Run;
  readonly node: RunNode;
}

/** Receipts that a sentence names at most. */
const maxReceipts = 10;

export function whyRoutes(deps: WhyDeps): BoundRoute[] {
  return [bind(explainWhy, async ({ params, query }) => ({ body: await explain(deps, params.id, query.run ?? null) }))];
}

/** `dagId` given: `id` may be a step of that run. `not_found` for an unknown id. */
export async function explain(deps: WhyDeps, id: string, dagId: string | null = null): Promise<Why> {
  const answer = await deps.store.read((tx): Why | null => {
    const facts = factsFrom(deps, tx);
    if (dagId !== null) {
      const run = loadRun(tx, deps.workspace, dagId);
      const node = run?.nodes.get(id) ?? run?.byStep.get(id);
      return run === null || node === undefined ? null : ofNode(tx, facts, { run, node });
    }
    const agent = deps.findAgent(id);
    if (agent !== null) {
      const told = whyBot(facts, agent, placeOf(deps, tx, nextNode(tx, deps.workspace, agent.address)));
      const file = deps.waitingFile(agent.team);
      const waits = file === null ? '' : ` ${file} has changed; it has no effect until you agree to it: gantry trust.`;
      return answerOf(tx, agentSubject(agent), { ...told, words: `${told.words}${waits}` }, agent.since);
    }
    const run = loadRun(tx, deps.workspace, id);
    if (run !== null) return ofRun(tx, facts, run);
    const place = placeOf(deps, tx, runOfNode(tx, id));
    if (place !== null) return ofNode(tx, facts, place);
    const record = readDelivery(tx, id);
    if (record === null) return null;
    const delivery = toDelivery(record);
    const handed = record.nodeId === null ? null : placeOf(deps, tx, runOfNode(tx, record.nodeId));
    const subject = { kind: 'delivery' as const, id, dagId: delivery.dagId ?? null, title: `to ${delivery.to}` };
    return answerOf(tx, subject, whyDelivery(facts, delivery, handed), delivery.at);
  });
  if (answer !== null) {
    const lease = answer.subject.kind === 'node' ? deps.leaseOf(answer.subject.id) : null;
    return { ...answer, receipts: await receiptsOf(deps, answer), ...(lease === null ? {} : { lease }) };
  }
  throw new AppError(
    'not_found',
    `There is no bot, step, delivery or run ${JSON.stringify(id)}${dagId === null ? '' : ` in the run ${dagId}`}.`,
    dagId === null
      ? 'Give an address or the full id; for a step, also name its run.'
      : 'See the steps of the run: GET /api/factory/dags/:dagId.',
  );
}

function factsFrom(deps: WhyDeps, tx: Read): WhyFacts {
  return {
    bot: (address) => (address.includes('@') ? deps.findAgent(address) : null),
    heldBy: (address) => placeOf(deps, tx, heldNode(tx, address)),
    proofs: (node) => provenLines(tx, node.dagId, node.seq, node.attempt),
  };
}

function placeOf(deps: WhyDeps, tx: Read, at: { dagId: string; nodeId: string } | null): Place | null {
  const run = at === null ? null : loadRun(tx, deps.workspace, at.dagId);
  const node = at === null ? undefined : run?.nodes.get(at.nodeId);
  return run === null || node === undefined ? null : { run, node };
}

function ofNode(tx: Read, facts: WhyFacts, { run, node }: Place): Why {
  const move = lastMove(tx, node.dagId, node.seq);
  return answerOf(tx, nodeSubject(node), whyNode(facts, run, node), move === null ? null : iso(move.at));
}

function ofRun(tx: Read, facts: WhyFacts, run: Run): Why {
  const told = whyRun(facts, run);
  const last = lastMoveOfRun(tx, run.dagId);
  const subject = { kind: 'run' as const, id: run.dagId, dagId: run.dagId, title: run.title };
  return answerOf(tx, subject, told, last === null ? null : iso(last));
}

/** Receipts of nodes come from their moves; those of the subject follow from the ledger. */
function answerOf(tx: Read, subject: WhySubject, told: Told, since: string | null): Why {
  const because = told.because.map(subjectOf);
  const nodes = told.because.flatMap((one) => (one.kind === 'node' ? [one.node] : []));
  const receipts = nodes.flatMap((node) => lastMove(tx, node.dagId, node.seq)?.receipt ?? []);
  const known = new Set<string>();
  const once = because.filter((one) => !known.has(one.id) && known.add(one.id));
  return { subject, sentence: told.words, since, because: once, receipts: receipts.map(String) };
}

async function receiptsOf(deps: WhyDeps, answer: Why): Promise<string[]> {
  const { kind, id } = answer.subject;
  // A bot's pane shows its current work; the ledger has its nodes and deliveries.
  const own =
    kind === 'bot' ? [] : await deps.ledger.query({ subject: `${kind}:${id}`, order: 'descending', limit: 1 });
  return [...new Set([...own.map((row) => row.id), ...answer.receipts])].slice(0, maxReceipts);
}

function subjectOf(because: Because): WhySubject {
  if (because.kind === 'bot') return agentSubject(because.agent);
  if (because.kind === 'node') return nodeSubject(because.node);
  const { dagId, title } = because.run;
  return { kind: 'run', id: dagId, dagId, title };
}

const agentSubject = (agent: Agent): WhySubject => ({ kind: 'bot', id: agent.id, dagId: null, title: agent.address });
const nodeSubject = (node: RunNode): WhySubject => ({
  kind: 'node',
  id: node.nodeId,
  dagId: node.dagId,
  title: node.title,
});
