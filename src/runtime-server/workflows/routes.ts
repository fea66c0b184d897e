/** The routes of workflows, from the contract to the service. Knows principals; must not know rules. */
import { createReadStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../../contracts/common/errors.ts';
import { listWorkBudgets, setWorkBudget } from '../../contracts/factory/budget-routes.ts';
import * as table from '../../contracts/factory/workflow-routes.ts';
import { openWithin } from '../../kit/files/within.ts';
import { documentHeaders } from '../../kit/http/base-headers.ts';
import { boundaryOf, readParts } from '../../kit/http/multipart.ts';
import { isOwnerInPerson, surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bind, type OwnerLookups, type Principal } from '../../kit/http/types.ts';
import type { Actor } from '../base/actor.ts';
import { cancelRun } from './cancel.ts';
import type { WorkflowDeps } from './deps.ts';
import type { Pages } from './pages.ts';
import type { Proofs } from './proofs.ts';
import { reportPage } from './report/report-page.ts';
import { gatherReport } from './report/run-report.ts';
import type { Runs } from './runs.ts';
import type { Scheduler } from './scheduler.ts';
import { cardsWhere, hasCampaign, readCampaigns, readProjects } from './store/campaigns.ts';
import { hasRun } from './store/runs.ts';
import type { TemplateFolder } from './template/folder.ts';
import type { TemplateRemovals } from './template/removal.ts';
import type { Caller, Verbs } from './verbs.ts';

interface RouteDeps extends WorkflowDeps {
  readonly templates: TemplateFolder;
  readonly removals: TemplateRemovals;
  readonly runs: Runs;
  readonly pages: Pages;
  readonly verbs: Verbs;
  readonly proofs: Proofs;
  readonly scheduler: Scheduler;
}

export function workflowOwners(deps: RouteDeps): OwnerLookups {
  const { store, workspace } = deps;
  return {
    template: (_, id) => deps.templates.find(id) !== null,
    run: (_, id) => store.read((tx) => hasRun(tx, workspace, id)),
    campaign: (_, id) => store.read((tx) => hasCampaign(tx, workspace, id)),
  };
}

export function bindWorkflowRoutes(deps: RouteDeps): BoundRoute[] {
  return [
    ...templateRoutes(deps),
    ...runRoutes(deps),
    ...campaignRoutes(deps),
    ...budgetRoutes(deps),
    ...nodeRoutes(deps),
    ...verbRoutes(deps),
  ];
}

function actorOf(principal: Principal): Actor {
  return { actor: principal.agentId ?? principal.userId, surface: surfaceOf(principal), report: principal.report };
}

function callerOf(deps: RouteDeps, principal: Principal): Caller {
  const actor = actorOf(principal);
  if (principal.agentId === undefined) return { ...actor, address: null };
  const address = deps.workforce.addressOf(principal.agentId);
  if (address !== null) return { ...actor, address };
  throw new AppError(
    'refused',
    `The bot ${principal.agentId} is no longer in a team.`,
    'Ask its person to start it again.',
  );
}

function templateRoutes({ templates, removals, runs }: RouteDeps): BoundRoute[] {
  return [
    bind(table.listTemplates, () => {
      const all = templates.list();
      return {
        body: {
          templates: all.flatMap(({ read }) => {
            if (!read.ok) return [];
            const { id, name, description, steps, params } = read.template;
            const shipped = !templates.has(id);
            return [{ id, name, description, steps: steps.length, params: params.length, shipped }];
          }),
          invalid: all.flatMap(({ id, read }) => (read.ok ? [] : [{ id, problems: [...read.problems] }])),
        },
      };
    }),
    bind(table.getTemplate, ({ params }) => ({ body: templates.use(params.id) })),
    bind(table.checkTemplate, ({ params }) => {
      const read = templates.find(params.id);
      const problems = read === null || read.ok ? [] : [...read.problems];
      return { body: { id: params.id, ok: problems.length === 0, problems } };
    }),
    bind(table.saveTemplate, async ({ body, principal }) => ({
      body: await runs.save(body, { ...actorOf(principal), inPerson: isOwnerInPerson(principal) }),
    })),
    bind(table.removeTemplate, async ({ params, query, principal }) => ({
      body: await removals.remove(params.id, query.dryRun === true, actorOf(principal)),
    })),
    bind(table.restoreTemplate, async ({ params, body, principal }) => ({
      body: await removals.restore(params.id, body.dryRun === true, actorOf(principal)),
    })),
  ];
}

function runRoutes(deps: RouteDeps): BoundRoute[] {
  return [
    bind(table.startRun, async ({ body, principal }) => ({ body: await deps.runs.start(body, actorOf(principal)) })),
    bind(table.getFlow, async ({ params }) => ({ body: await deps.pages.flow(params.dagId) })),
    bind(table.getRunTimes, async ({ params }) => ({ body: await deps.pages.times(params.dagId) })),
    bind(table.getRunReport, async ({ params, response }) => {
      const text = reportPage(await gatherReport(deps, params.dagId));
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-length': Buffer.byteLength(text),
        'content-disposition': `inline; filename="report-${params.dagId}.html"`,
        // What bots wrote must never run as a page of ours.
        ...documentHeaders,
      });
      response.end(text);
    }),
    bind(table.cancelRun, async ({ params, body, principal }) => {
      const plan = await cancelRun(deps.scheduler, params.dagId, actorOf(principal), body.dryRun === true);
      return { body: plan ?? (await deps.pages.flow(params.dagId)) };
    }),
  ];
}

function campaignRoutes(deps: RouteDeps): BoundRoute[] {
  const { store, workspace, runs } = deps;
  return [
    bind(table.listCampaigns, async () => ({
      body: { campaigns: await store.read((tx) => readCampaigns(tx, workspace)) },
    })),
    bind(table.createCampaign, async ({ body, principal }) => {
      const { dryRun, ...campaign } = body;
      if (dryRun === true) {
        const records = campaign.budget === undefined ? ['campaign.created'] : ['campaign.created', 'work.budget'];
        return { status: 200 as const, body: { dryRun: true as const, plan: { ...campaign, records } } };
      }
      return { status: 201 as const, body: await runs.createCampaign(campaign, actorOf(principal)) };
    }),
    bind(table.getBoard, async ({ params }) => ({ body: await deps.pages.board(params.id) })),
    bind(table.listProjects, async () => ({
      body: { projects: await store.read((tx) => readProjects(tx, workspace)) },
    })),
    bind(table.createProject, async ({ body, principal }) => {
      const answer = await runs.putProject(body, actorOf(principal));
      return answer.dryRun
        ? { status: 200 as const, body: { ...answer } }
        : { status: 201 as const, body: answer.project };
    }),
  ];
}

function budgetRoutes({ scheduler: { budgets } }: RouteDeps): BoundRoute[] {
  return [
    bind(listWorkBudgets, async ({ query }) => ({ body: { budgets: await budgets.list(query) } })),
    bind(setWorkBudget, async ({ body: { subject, budget, dryRun }, principal }) => {
      const from = await budgets.set(subject, budget, actorOf(principal), dryRun === true);
      if (dryRun === true) return { body: { dryRun: true as const, plan: { subject, from, to: budget } } };
      const [kind, id = ''] = subject.split(/:(.*)/s);
      const of = kind === 'campaign' ? { campaign: id } : { run: id.split('/')[0] ?? '' };
      return { body: { budgets: await budgets.list(of) } };
    }),
  ];
}

function nodeRoutes(deps: RouteDeps): BoundRoute[] {
  return [
    bind(table.listNodes, async ({ query, principal }) => {
      // A bot that names no bot asks for its own work.
      const own = principal.agentId === undefined ? null : deps.workforce.addressOf(principal.agentId);
      const filter = { assignee: query.assignee ?? own, open: query.status !== 'all' };
      return { body: { nodes: await deps.store.read((tx) => cardsWhere(tx, deps.workspace, filter)) } };
    }),
    bind(table.getNode, async ({ params }) => ({ body: await deps.pages.node(params.dagId, params.nodeId) })),
    bind(table.uploadProof, async ({ params, query, principal, request, response }) => {
      const parts = readParts(bodyOf(request), boundaryOf(request.headers['content-type']));
      const ref = { ...params, dryRun: query.dryRun };
      const text = JSON.stringify(await deps.proofs.upload(ref, callerOf(deps, principal), parts));
      response.writeHead(200, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(text),
      });
      response.end(text);
    }),
    bind(table.readProof, async ({ params, response }) => {
      const proof = await deps.proofs.find(params, params.receiptId);
      const handle = openWithin(deps.workspace, proof.file);
      if (typeof handle !== 'number')
        throw new AppError('refused', `${proof.file} was changed just now.`, 'Try again.');
      const shown = shownAs(proof.mime);
      const name = encodeURIComponent(proof.name);
      response.writeHead(200, {
        'content-type': shown ?? 'application/octet-stream',
        'content-length': proof.size,
        'content-disposition': `${shown === null ? 'attachment' : 'inline'}; filename*=UTF-8''${name}`,
        // A bot's upload must never run as a page of ours.
        'content-security-policy': "default-src 'none'; sandbox",
      });
      await pipeline(createReadStream('', { fd: handle }), response).catch(() => response.destroy());
    }),
  ];
}

function verbRoutes(deps: RouteDeps): BoundRoute[] {
  const { verbs } = deps;
  return [
    bind(table.claimNode, async ({ params, body, principal }) => ({
      body: await verbs.claim({ ...params, ...body }, callerOf(deps, principal)),
    })),
    bind(table.progressNode, async ({ params, body, principal }) => ({
      body: await verbs.progress({ ...params, dryRun: body.dryRun }, callerOf(deps, principal), body.text),
    })),
    bind(table.doneNode, async ({ params, body, principal }) => ({
      body: await verbs.done({ ...params, dryRun: body.dryRun }, callerOf(deps, principal), body),
    })),
    bind(table.failNode, async ({ params, body, principal }) => ({
      body: await verbs.fail({ ...params, dryRun: body.dryRun }, callerOf(deps, principal), body.reason),
    })),
    bind(table.retryNode, async ({ params, body, principal }) => ({
      body: await verbs.retry({ ...params, ...body }, callerOf(deps, principal)),
    })),
    bind(table.skipNode, async ({ params, body, principal }) => ({
      body: await verbs.skip({ ...params, dryRun: body.dryRun }, callerOf(deps, principal), body.reason ?? null),
    })),
    bind(table.gateNode, async ({ params, body, principal }) => ({
      body: await verbs.gate({ ...params, dryRun: body.dryRun }, callerOf(deps, principal), body.note ?? null),
    })),
  ];
}

/** Types that a browser may show; everything that could hold a script is text or a download. */
function shownAs(mime: string): string | null {
  if (/^image\/(png|jpeg|gif|webp)$/.test(mime)) return mime;
  if (mime === 'application/json' || (mime.startsWith('text/') && mime !== 'text/html'))
    return 'text/plain; charset=utf-8';
  return null;
}

async function* bodyOf(request: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of request) yield chunk as Buffer;
  } catch (cause) {
    throw new AppError('usage', 'The upload was cut off.', 'Send it again.', { wireCode: 'bad_request', cause });
  }
}
