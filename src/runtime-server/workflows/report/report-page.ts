/**
 * A run's report as one HTML file to keep, print or send: no scripts, nothing read from elsewhere, every text escaped. What bots wrote is data.
 * Pure. Must not know where the data comes from.
 */
import { visible } from '../../../contracts/approvals/visible.ts';
import { type NodeStatus, nodeCauses } from '../../../contracts/factory/node.ts';
import type { RunStatus } from '../../../contracts/factory/workflow.ts';
import { documentPolicy } from '../../../kit/http/base-headers.ts';
import type { StepCost } from '../../usage/costs.ts';
import type { ReportStep, RunReport } from './run-report.ts';

const runWords: Readonly<Record<RunStatus, string>> = {
  running: 'Running',
  needs_you: 'Needs a person',
  done: 'Done',
  degraded: 'Done, without all of its steps',
  failed: 'Failed',
  cancelled: 'Cancelled',
};
const stepWords: Readonly<Record<NodeStatus, string>> = {
  new: 'New',
  ready: 'Ready',
  working: 'Working',
  checking: 'Checking',
  needs_you: 'Needs a person',
  done: 'Done',
  failed: 'Failed',
  blocked: 'Blocked',
  skipped: 'Skipped',
  cancelled: 'Cancelled',
};

const style = `
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1.5rem; background: #fff; color: #1a1c20; font: 14px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
p, dl, table, pre, figure { margin: .5rem 0; } .muted { color: #565b66; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; } dt { color: #565b66; } dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #d9dce2; padding: .3rem .6rem .3rem 0; text-align: left; vertical-align: top; overflow-wrap: anywhere; } th { font-weight: 600; } .n { text-align: right; white-space: nowrap; }
pre { background: #f4f5f7; border: 1px solid #d9dce2; border-radius: 4px; font: 12px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; padding: .6rem; white-space: pre-wrap; }
figure { border-left: 3px solid #d9dce2; padding-left: .75rem; } img { border: 1px solid #d9dce2; max-height: 40rem; max-width: 100%; }
.done { color: #1c6b34; } .failed, .rejected { color: #a3232a; } section.step { border-top: 1px solid #d9dce2; }
@media print { body { font-size: 11px; max-width: none; padding: 0; } h3, figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } pre { max-height: none; } a { color: inherit; } }
`;

/** For text and for values of attributes. Invisible characters are written out. */
function escaped(text: string): string {
  const marks: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return visible(text).replace(/[&<>"']/g, (char) => marks[char] ?? char);
}

export function reportPage(report: RunReport): string {
  const done = report.steps.filter(({ card }) => card.status === 'done').length;
  const costs = report.steps.flatMap((step) => step.costs);
  const facts: readonly (readonly [string, string])[] = [
    ['Status', runWords[report.status]],
    ['Steps done', `${done} of ${report.steps.length}`],
    ['Started', report.startedAt === null ? 'Not yet' : moment(report.startedAt)],
    ['Ended', report.endedAt === null ? 'Not yet' : moment(report.endedAt)],
    ['Model cost', costWords(costs)],
    ['Template', report.template],
    ['Campaign', report.campaignId],
    ['Run', report.dagId],
    ...report.params,
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(documentPolicy)}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<title>${escaped(report.title)} · report</title><style>${style}</style></head><body>
<header><h1>${escaped(report.title)}</h1><p class="muted">Report of a run, written ${moment(report.madeAt)} by Gantry</p></header>
<main>
<dl>${facts.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`).join('')}</dl>
${report.intent === '' ? '' : `<h2>Intent</h2>${block(report.intent)}`}
<h2>Steps</h2>${stepTable(report.steps)}
<h2>Decisions</h2>${decisionTable(report)}
<h2>Model cost</h2>${costTable(report.steps)}
<h2>Details</h2>${report.steps.map(stepDetails).join('\n')}${leftOut(report.steps)}
</main></body></html>
`;
}

function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  numbers: readonly number[] = [],
): string {
  const mark = (at: number) => (numbers.includes(at) ? ' class="n"' : '');
  const head = heads.map((name, at) => `<th scope="col"${mark(at)}>${escaped(name)}</th>`).join('');
  const body = rows.map((row) => `<tr>${row.map((cell, at) => `<td${mark(at)}>${escaped(cell)}</td>`).join('')}</tr>`);
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>`;
}

function stepTable(steps: readonly ReportStep[]): string {
  const rows = steps.map(({ card, workedMs, costs }, at) => [
    String(at + 1),
    card.title,
    stepWords[card.status],
    card.assignee ?? '',
    workedMs === null ? '' : duration(workedMs),
    String(card.attempt),
    card.proof.total === 0 ? 'None required' : `${card.proof.proven} of ${card.proof.total}`,
    costs.length === 0 ? '' : costWords(costs),
  ]);
  return table(['', 'Step', 'Status', 'By', 'Time', 'Attempts', 'Proofs', 'Model cost'], rows, [0, 4, 5, 6, 7]);
}

function decisionTable({ decisions }: RunReport): string {
  if (decisions.length === 0) return '<p class="muted">No person decided anything in this run.</p>';
  const rows = decisions.map(({ at, step, what, by, surface, note }) => [
    moment(at),
    step,
    what,
    surface === null ? by : `${by} (${surface})`,
    note ?? '',
  ]);
  return table(['When', 'Step', 'Decision', 'By', 'Note'], rows);
}

function costTable(steps: readonly ReportStep[]): string {
  const rows = steps.flatMap(({ card, costs }) =>
    costs.map((cost) => [
      card.title,
      cost.model,
      String(cost.requests),
      String(cost.input),
      String(cost.output),
      costWords([cost]),
    ]),
  );
  if (rows.length === 0) return '<p class="muted">No model request was recorded for this run.</p>';
  return table(['Step', 'Model', 'Requests', 'Tokens in', 'Tokens out', 'Cost'], rows, [2, 3, 4, 5]);
}

function stepDetails({ card, details }: ReportStep, at: number): string {
  if (details === null) return '';
  const { spec, progress, output, proofs, history } = details;
  const cause = card.detail ?? (card.cause === null ? '' : nodeCauses[card.cause]);
  const moves = history.map((move) => [
    moment(move.at),
    stepWords[move.status],
    move.detail ?? nodeCauses[move.cause],
    move.actor,
  ]);
  return `<section class="step"><h3>${at + 1}. ${escaped(card.title)}</h3>
<p><span class="${card.status}">${stepWords[card.status]}</span> <span class="muted">${escaped([card.assignee ?? '', cause].filter(Boolean).join(' · '))}</span></p>
${titled('Task', spec)}${titled('Progress', progress)}${titled('Output', output)}
${proofs.length === 0 ? '' : '<h4>Proofs</h4>'}${proofs.map(proofFigure).join('')}
${moves.length === 0 ? '' : `<h4>History</h4>${table(['When', 'Status', 'Why', 'By'], moves)}`}</section>`;
}

type Proof = NonNullable<ReportStep['details']>['proofs'][number];

function proofFigure({ line, outcome, at, receiptId, file }: Proof): string {
  const caption = `<figcaption><span class="${outcome === 'proven' ? 'done' : 'rejected'}">${outcome === 'proven' ? 'Proven' : 'Rejected'}</span>: ${escaped(line)} <span class="muted">${moment(at)}, receipt ${escaped(receiptId)}</span></figcaption>`;
  if (file === null) return `<figure>${caption}</figure>`;
  const about = `${file.name}, ${file.size} bytes, SHA-256 ${file.sha256}${file.why === null ? '' : `. ${file.why}`}`;
  return `<figure>${caption}${shownFile(file)}<p class="muted">${escaped(about)}</p></figure>`;
}

function shownFile({ shown, name }: NonNullable<Proof['file']>): string {
  if (shown === null) return '';
  if ('text' in shown)
    return `${block(shown.text)}${shown.cut ? '<p class="muted">The text is cut off here.</p>' : ''}`;
  return `<img alt="${escaped(name)}" src="data:${escaped(shown.mime)};base64,${shown.base64}">`;
}

function leftOut(steps: readonly ReportStep[]): string {
  const left = steps.filter(({ details }) => details === null).length;
  return left === 0 ? '' : `<p class="muted">${left} more steps are only in the table.</p>`;
}

const block = (text: string): string => `<pre>${escaped(text)}</pre>`;
const titled = (title: string, text: string): string => (text.trim() === '' ? '' : `<h4>${title}</h4>${block(text)}`);
/** In UTC: its reader may be elsewhere. */
const moment = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function costWords(costs: readonly StepCost[]): string {
  const requests = costs.reduce((sum, one) => sum + one.requests, 0);
  if (requests === 0) return 'None recorded';
  const unpriced = costs.reduce((sum, one) => sum + one.unpriced, 0);
  const dollars = `$${(costs.reduce((sum, one) => sum + one.microUsd, 0) / 1_000_000).toFixed(4)}`;
  if (unpriced === 0) return dollars;
  const rest = `${unpriced} ${unpriced === 1 ? 'request' : 'requests'} without a known price`;
  return unpriced === requests ? rest : `${dollars}, and ${rest}`;
}
