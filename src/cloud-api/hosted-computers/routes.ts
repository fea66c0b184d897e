/**
 * HTTP edge of hosted computers: maps the contract to its rules. Checks the flag first, then the scope; an id in a path belongs only to its project.
 * Must not know drivers.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { adminGetPool, adminSetPool } from '../../contracts/hosted-computers/admin.ts';
import { largestMetadata, maxNameLength } from '../../contracts/hosted-computers/computer.ts';
import * as contract from '../../contracts/hosted-computers/routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import { cursorOf, placeOf } from '../../kit/http/place.ts';
import { type Before, type BoundRoute, bind, type Context, type Principal } from '../../kit/http/types.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import type { HostedApprovals } from './approvals.ts';
import { type ComputerBounds, withinBounds } from './bounds.ts';
import { type Calls, devicePath, refusalOf, unreadable } from './calls.ts';
import type { CapsOf } from './caps.ts';
import type { EventStream } from './event-stream.ts';
import type { Lifecycle } from './lifecycle.ts';
import { metersOf } from './meters.ts';
import { toComputer, unknownComputer } from './model.ts';
import type { createPool } from './pool.ts';
import type { AskedProjects } from './projects.ts';
import type { HostedSettings } from './settings.ts';
import type { ComputerStore } from './store.ts';
import type { Ways } from './ways.ts';

const defaultLimit = 50;

export function createHostedRoutes(deps: {
  readonly store: SharedStore;
  readonly ids: Ids;
  readonly computers: ComputerStore;
  readonly lifecycle: Lifecycle;
  readonly calls: Calls;
  readonly approvals: HostedApprovals;
  readonly settings: HostedSettings;
  readonly caps: CapsOf;
  readonly asked: AskedProjects;
  readonly events: EventStream;
  readonly ways: Pick<Ways, 'ask'>;
  readonly pool: ReturnType<typeof createPool>;
  readonly bounds: ComputerBounds;
}): readonly BoundRoute[] {
  const { store, computers, lifecycle, calls, approvals, settings, asked, events, pool } = deps;

  /** The computer in the path, in the project of the request. */
  async function named({ request, params }: { request: Context<never>['request']; params: { id: string } }) {
    const project = asked.of(request);
    const row = await computers.get(params.id);
    if (row === null || row.phase === 'deleted' || row.projectId !== project.id) throw unknownComputer(params.id);
    return { row, project };
  }

  const behindFlag = [
    bind(contract.listHostedComputers, async ({ request, query: { status, limit = defaultLimit, cursor } }) => {
      const after = cursor === undefined ? null : placeOf(cursor);
      const rows = await computers.list({ projectId: asked.of(request).id, status, after, limit: limit + 1 });
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      const more = rows.length > limit && last !== undefined;
      const next_cursor = more ? cursorOf({ created_at: last.createdAt, id: last.id }) : null;
      return { body: { computers: shown.map(toComputer), next_cursor } };
    }),
    bind(contract.createHostedComputer, async ({ principal, request, body = {} }) => {
      const project = asked.of(request);
      const name = checkedName(body.name);
      const metadata = checkedMetadata(body.metadata);
      const { userId } = project;
      const wish = withinBounds(deps.bounds, userId, {
        image: body.image ?? null,
        memory: body.memory_mib ?? null,
        processes: body.processes ?? null,
        lifetime: body.lifetime_seconds === undefined ? null : body.lifetime_seconds * 1000,
      });
      const caps = await deps.caps(project);
      await store.read((tx) => caps.checkSpend(tx));
      const id = deps.ids.next('cmp');
      const about = { id, projectId: project.id, userId, keyId: principal.keyId ?? null };
      const row = await lifecycle.create(
        {
          ...about,
          accountId: body.account_id ?? null,
          name: name ?? id,
          metadata,
          toolset: body.toolset ?? 'desktop',
          egress: body.egress ?? 'public',
          ...wish,
        },
        caps.room,
      );
      return { body: toComputer(row) };
    }),
    bind(contract.getHostedComputer, async (context) => ({ body: toComputer((await named(context)).row) })),
    bind(contract.deleteHostedComputer, async (context) => {
      const { row } = await named(context);
      return { body: toComputer(await lifecycle.remove(row.id)) };
    }),
    bind(contract.startHostedComputer, async (context) => {
      const { row, project } = await named(context);
      if (row.phase === 'running') return { body: toComputer(row) };
      const caps = await deps.caps(project);
      await store.read((tx) => caps.checkSpend(tx));
      return { body: toComputer(await lifecycle.start(row.id, caps.room)) };
    }),
    bind(contract.stopHostedComputer, async (context) => {
      const { row } = await named(context);
      return { body: toComputer(await lifecycle.stop(row.id)) };
    }),
    bind(contract.callHostedToolset, async (context) => {
      const { row, project } = await named(context);
      const { principal, body } = context;
      return { body: await calls.toolset({ project, computerId: row.id, principal, call: body }) };
    }),
    bind(contract.readHostedToolsetSchema, async (context) => {
      const { row, project } = await named(context);
      const { principal, query } = context;
      const path = `${devicePath}/toolset/schema?toolset=${query.toolset}`;
      const about = { project, computerId: row.id, principal };
      const answer = await calls.during(about, (up) => deps.ways.ask(up, { method: 'GET', path, principal }));
      if (answer.status !== 200) throw refusalOf(answer);
      const schema = contract.readHostedToolsetSchema.answers[200].safeParse(answer.body);
      if (!schema.success) throw unreadable();
      return { body: schema.data };
    }),
    bind(contract.listHostedEvents, async (context) => {
      const { row } = await named(context);
      const { after = -1, limit = defaultLimit } = context.query;
      const found = await computers.events(row.id, after, limit + 1);
      const shown = found.slice(0, limit);
      const next_cursor = found.length > limit ? String(shown.at(-1)!.index) : null;
      return { body: { events: shown, next_cursor } };
    }),
    bind(contract.streamHostedEvents, async (context, sink) => {
      const { row } = await named(context);
      const header = context.request.headers['last-event-id'];
      const last = typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) : null;
      sink.open();
      events.follow(row.id, last ?? context.query.after ?? -1, sink);
    }),
    bind(contract.approveHosted, async (context) => {
      const { row, project } = await named(context);
      const { principal, params, body } = context;
      const { approval_mode } = await settings.of(project.id);
      if (!isInPerson(principal) && approval_mode !== 'api_key') {
        throw new AppError(
          'refused',
          'A key cannot answer approvals of this project: its approval_mode is owner.',
          'Answer it in Gantry, or let keys answer in the settings of hosted computers.',
          { wireCode: 'forbidden' },
        );
      }
      const by = principal.keyId === undefined ? 'owner' : `key:${principal.keyId}`;
      const { id, state } = await approvals.answer(row.id, params.approvalId, body.decision, by);
      return { body: { id, computer_id: row.id, state } };
    }),
    bind(contract.listHostedMeters, async (context) => {
      const { row } = await named(context);
      return { body: { lines: await store.read((tx) => metersOf(tx, row.id)) } };
    }),
    bind(contract.listHostedApprovals, async (context) => {
      const { row } = await named(context);
      const shown = (await approvals.pending(row.id)).map(({ id, member, toolset, risk, words, requestedAt }) => ({
        id,
        member,
        toolset,
        risk,
        words,
        requested_at: iso(requestedAt),
      }));
      return { body: { approvals: shown } };
    }),
    bind(contract.getComputerPool, async ({ request }) => ({ body: await pool.seenBy(asked.of(request).userId) })),
    bind(contract.changeComputerSettings, async ({ request, body }) => {
      const project = asked.of(request);
      const changed = await settings.change(project.id, body);
      return { body: { hosted_driver_enabled: project.hostedDriverEnabled, ...changed } };
    }),
  ];
  return [
    ...behindFlag.map((bound) => after(asked.needed, bound)),
    after(
      asked.looked,
      bind(contract.getComputerSettings, async ({ request }) => {
        const project = asked.found(request);
        const known = await settings.of(project?.id ?? null);
        return { body: { hosted_driver_enabled: project?.hostedDriverEnabled ?? false, ...known } };
      }),
    ),
    bind(adminGetPool, async () => ({ body: await pool.ofEverybody() })),
    bind(adminSetPool, async ({ body: { dryRun, ...change } }) => {
      if (dryRun === true) return { body: { dryRun, plan: { ...(await settings.pool()), ...change } } };
      await settings.setPool(change);
      return { body: await pool.ofEverybody() };
    }),
  ];
}

function after(before: Before, bound: BoundRoute): BoundRoute {
  return { ...bound, before };
}

function isInPerson({ kind, via }: Principal): boolean {
  return kind !== 'key' && via !== 'oidc';
}

/** Null: its id is its name. */
function checkedName(given: string | undefined): string | null {
  const name = given?.trim() ?? '';
  if (name.length > maxNameLength) {
    const fact = `The name has ${name.length} characters.`;
    throw new AppError('usage', fact, `Use at most ${maxNameLength}.`, { wireCode: 'invalid_name' });
  }
  return name === '' ? null : name;
}

function checkedMetadata(given: Record<string, unknown> | undefined): string {
  const text = JSON.stringify(given ?? {});
  const bytes = Buffer.byteLength(text);
  if (bytes <= largestMetadata) return text;
  const fact = `The metadata has ${bytes} bytes as JSON.`;
  throw new AppError('usage', fact, `Use at most ${largestMetadata}.`, { wireCode: 'invalid_metadata' });
}
