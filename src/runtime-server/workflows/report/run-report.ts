/**
 * Gathers a run for its report: steps with times, proofs, costs and decisions. Texts and images are bounded, and what is left out is counted.
 * Must not know HTML.
 */
import { createHash } from 'node:crypto';
import type { Approval } from '../../../contracts/approvals/approval.ts';
import type { NodeCard, NodePage } from '../../../contracts/factory/node.ts';
import type { RunStatus } from '../../../contracts/factory/workflow.ts';
import { iso } from '../../../kit/clock/clock.ts';
import { readWithin } from '../../../kit/files/within.ts';
import type { StepCost } from '../../usage/costs.ts';
import type { WorkflowDeps } from '../deps.ts';
import type { Pages } from '../pages.ts';
import { unknownRun } from '../scheduler.ts';
import { loadRun } from '../store/runs.ts';

type NodeMove = NodePage['history'][number];

/** Bytes of one image, and of all: a page of a few megabytes can still be sent. */
const largestImage = 1_500_000;
const maxImages = 8_000_000;
/** Characters of one text, and of all. */
const maxItemLength = 20_000;
const maxTextLength = 2_000_000;
/** Steps with all of their details; the table has every step. */
const maxDetailed = 300;

interface ReportFile {
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
  /** Inline: an image as base64 with its type, or a text; null: only named. */
  readonly shown:
    | { readonly mime: string; readonly base64: string }
    | { readonly text: string; readonly cut: boolean }
    | null;
  /** Why it is only named, as a sentence; null: it is shown, or nothing can show it. */
  readonly why: string | null;
}

interface ReportProof {
  readonly line: string;
  readonly outcome: 'proven' | 'rejected';
  readonly at: string;
  readonly receiptId: string;
  readonly file: ReportFile | null;
}

/** Something that a person decided in the run. */
interface Decision {
  readonly at: string;
  readonly step: string;
  readonly what: string;
  readonly by: string;
  /** Where it was answered; null: not recorded. */
  readonly surface: string | null;
  readonly note: string | null;
}

export interface ReportStep {
  readonly card: NodeCard;
  readonly costs: readonly StepCost[];
  /** Time in which it was worked on or checked, ms; null: never begun. */
  readonly workedMs: number | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** Null beyond the number of steps that are shown with details. */
  readonly details: {
    readonly spec: string;
    readonly progress: string;
    readonly output: string;
    readonly proofs: readonly ReportProof[];
    readonly history: readonly NodeMove[];
  } | null;
}

export interface RunReport {
  readonly dagId: string;
  readonly title: string;
  readonly status: RunStatus;
  readonly campaignId: string;
  readonly template: string;
  readonly intent: string;
  readonly params: readonly (readonly [string, string])[];
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly madeAt: string;
  readonly steps: readonly ReportStep[];
  readonly decisions: readonly Decision[];
}

type ReportDeps = Pick<
  WorkflowDeps,
  'store' | 'workspace' | 'clock' | 'approvals' | 'costsOf' | 'ownerId' | 'workforce'
> & {
  readonly pages: Pages;
};

export async function gatherReport(deps: ReportDeps, dagId: string): Promise<RunReport> {
  const { store, workspace, pages } = deps;
  const run = await store.read((tx) => loadRun(tx, workspace, dagId));
  if (run === null) throw unknownRun(dagId);
  const [flow, costs, approvals] = await Promise.all([
    pages.flow(dagId),
    deps.costsOf?.(dagId) ?? [],
    deps.approvals?.ofRun(dagId) ?? [],
  ]);
  const bounds = { images: maxImages, text: maxTextLength };
  const nameOf = (actor: string) => (actor === deps.ownerId ? 'owner' : (deps.workforce.addressOf(actor) ?? actor));
  const steps: ReportStep[] = [];
  const decisions: Decision[] = approvals.flatMap((one) => decisionOf(one, flow.nodes, nameOf));
  for (const [index, card] of flow.nodes.entries()) {
    const page = await pages.node(dagId, card.nodeId);
    const history = page.history.map((move) => ({ ...move, actor: nameOf(move.actor) }));
    const answered = approvals.filter((one) => one.nodeId === card.nodeId);
    decisions.push(...history.flatMap((move) => decidedBy(move, card, answered)));
    steps.push({
      card,
      costs: costs.filter((cost) => cost.nodeId === card.nodeId),
      ...timesOf(page.history, deps.clock.now()),
      details: index < maxDetailed ? detailsOf(workspace, page, history, bounds) : null,
    });
  }
  const starts = steps.flatMap(({ startedAt }) => startedAt ?? []).sort();
  const ends = steps.flatMap(({ endedAt }) => endedAt ?? []).sort();
  const open = run.status === 'running' || run.status === 'needs_you';
  return {
    dagId,
    title: run.title,
    status: run.status,
    campaignId: run.campaignId,
    template: run.template.name,
    intent: run.intent,
    params: Object.entries(run.params).filter(([name]) => name !== 'intent'),
    startedAt: starts[0] ?? null,
    endedAt: open ? null : (ends.at(-1) ?? null),
    madeAt: iso(deps.clock.now()),
    steps,
    decisions: decisions.sort((a, b) => a.at.localeCompare(b.at)),
  };
}

/** Times of a step, from its moves. What is still going counts until now. */
export function timesOf(
  history: readonly Pick<NodeMove, 'at' | 'status'>[],
  now: number,
): Pick<ReportStep, 'workedMs' | 'startedAt' | 'endedAt'> {
  let worked = 0;
  let startedAt: string | null = null;
  let since: number | null = null;
  for (const { at, status } of history) {
    if (since !== null) worked += Date.parse(at) - since;
    const works = status === 'working' || status === 'checking';
    since = works ? Date.parse(at) : null;
    if (works) startedAt ??= at;
  }
  if (since !== null) worked += Math.max(0, now - since);
  const last = history.at(-1);
  const ended = last !== undefined && ['done', 'failed', 'skipped', 'cancelled'].includes(last.status);
  return { workedMs: startedAt === null ? null : worked, startedAt, endedAt: ended ? last.at : null };
}

function decisionOf(approval: Approval, nodes: readonly NodeCard[], nameOf: (actor: string) => string): Decision[] {
  const { decision, resolvedAt, resolvedBy, note, title, nodeId } = approval;
  if (decision === null || resolvedAt === null || resolvedBy === null) return [];
  const step = nodes.find((card) => card.nodeId === nodeId)?.title ?? '';
  const what = `${decision === 'approve' ? 'Approved' : 'Rejected'}: ${title}`;
  return [{ at: resolvedAt, step, what, by: nameOf(resolvedBy.user), surface: resolvedBy.surface, note }];
}

const personal: Partial<Record<NodeMove['cause'], string>> = {
  gate_open: 'Opened the gate',
  gate_rejected: 'Rejected at the gate',
  accepted: 'Accepted the proof',
  retried: 'Retried the step',
  skipped_by_person: 'Skipped the step',
  failed_by_person: 'Gave the step up',
};

/** Moves that a person made and that no approval tells of. */
function decidedBy(move: NodeMove, { title, gate }: NodeCard, approvals: readonly Approval[]): Decision[] {
  const what = personal[move.cause];
  if (what === undefined) return [];
  if (
    move.cause.startsWith('gate_') &&
    (gate?.kind !== 'manual' || approvals.some(({ decision }) => decision !== null))
  )
    return [];
  return [{ at: move.at, step: title, what, by: move.actor, surface: null, note: move.detail }];
}

interface Bounds {
  images: number;
  text: number;
}

function detailsOf(
  workspace: string,
  page: NodePage,
  history: readonly NodeMove[],
  bounds: Bounds,
): NonNullable<ReportStep['details']> {
  const bounded = (text: string) => takeText(text, bounds).text;
  return {
    spec: bounded(page.spec),
    progress: bounded(page.progressMd),
    output: bounded(page.output ?? ''),
    proofs: page.proofs.map(({ line, outcome, at, receiptId }) => {
      const file = page.files.find((one) => one.receiptId === receiptId);
      return { line, outcome, at, receiptId, file: file === undefined ? null : fileOf(workspace, file, bounds) };
    }),
    history,
  };
}

/** Cut where the limits of one and of all are reached. */
function takeText(text: string, bounds: Bounds): { text: string; cut: boolean } {
  const taken = text.slice(0, Math.min(maxItemLength, bounds.text));
  bounds.text -= taken.length;
  return { text: taken, cut: taken.length < text.length };
}

function fileOf(workspace: string, file: NodePage['files'][number], bounds: Bounds): ReportFile {
  const { name, size, sha256, mime } = file;
  const only = (why: string | null): ReportFile => ({ name, size, sha256, shown: null, why });
  const image = /^image\/(png|jpeg|gif|webp)$/.test(mime);
  if (!image && !/^(text\/|application\/json$)/.test(mime)) return only(null);
  if (image && size > Math.min(largestImage, bounds.images)) return only('It is too large for this page.');
  const found = readWithin(workspace, file.path, 25 * 1024 * 1024);
  if (found.is === 'absent') return only('The file is no longer in the workspace.');
  if (found.is === 'unfit') return only(found.why);
  if (createHash('sha256').update(found.bytes).digest('hex') !== sha256) return only('The file was changed since.');
  if (!image) return { name, size, sha256, shown: takeText(found.bytes.toString('utf8'), bounds), why: null };
  bounds.images -= size;
  return { name, size, sha256, shown: { mime, base64: found.bytes.toString('base64') }, why: null };
}
