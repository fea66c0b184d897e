/**
 * The device routes of hosted computers for the person who owns the project: live view, control, and that person's own calls, which count like any
 * other (the port of computer use). Must not know what a picture shows.
 */
import type { ServerResponse } from 'node:http';
import type { Route } from '../../contracts/common/route.ts';
import { callToolset } from '../../contracts/computer-use/device-routes.ts';
import { ToolsetCall } from '../../contracts/computer-use/toolset.ts';
import type { HostedEvent } from '../../contracts/hosted-computers/computer.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { readBody } from '../../kit/http/request-parts.ts';
import type { Context, Principal } from '../../kit/http/types.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { askUpstream, type Upstream } from '../link/ask.ts';
import { deliver } from '../link/deliver.ts';
import { type Calls, devicePath } from './calls.ts';
import { type ComputerRow, disabled, notRunning, unknownComputer } from './model.ts';
import type { Project, ProjectsOf } from './projects.ts';
import type { HostedSettings } from './settings.ts';
import { type ComputerStore, topicOf } from './store.ts';
import { patienceMs, type Ways } from './ways.ts';

/** As src/cloud-api/computer-use declares it. */
export interface Devices {
  pass(computerId: string, path: string, context: Context<Route>): Promise<void>;
  approvalMode(principal: Principal): Promise<'owner' | 'api_key'>;
}

/** Limit in bytes; the body holds only the person's reason. */
const controlLimit = 16 * 1024;
const told = new Map<string, HostedEvent['type']>([
  [`${devicePath}/control/take`, 'control.taken'],
  [`${devicePath}/control/release`, 'control.released'],
]);

export function createDevices(deps: {
  readonly store: SharedStore;
  readonly timers: Timers;
  readonly computers: ComputerStore;
  readonly projects: ProjectsOf;
  readonly settings: Pick<HostedSettings, 'of'>;
  readonly calls: Calls;
  readonly ways: Pick<Ways, 'upstream'>;
}): Devices {
  const { store, timers, computers, calls, ways } = deps;

  async function ownedBy(principal: Principal, id: string): Promise<{ row: ComputerRow; project: Project }> {
    const row = await computers.get(id);
    const inPerson = (principal.kind === 'owner' || principal.kind === 'user') && principal.via !== 'oidc';
    if (row === null || row.phase === 'deleted' || row.userId !== principal.userId || !inPerson) {
      throw unknownComputer(id);
    }
    const project = await deps.projects.get(row.projectId);
    if (project?.hostedDriverEnabled !== true) throw disabled();
    return { row, project };
  }

  const relay = async (upstream: Upstream, context: Context<Route>, bodyLimit = controlLimit) => {
    const answer = await askUpstream({ context, upstream: () => upstream, bodyLimit });
    await deliver(answer, context);
    return answer.statusCode;
  };

  /** A frozen computer sends nothing: the end of the stream shows viewers that it sleeps. */
  function endWithIt(id: string, response: ServerResponse): () => void {
    const look = () =>
      void computers.get(id).then((row) => {
        if (row?.phase !== 'running') response.destroy();
      });
    const stop = store.wake.on(topicOf(id), look);
    // It may have fallen asleep since the caller was let in.
    look();
    return stop;
  }

  return {
    async pass(id, path, context) {
      const { principal, request, response } = context;
      const { row, project } = await ownedBy(principal, id);
      const at = path.split('?', 1)[0]!;
      if (at === `${devicePath}/toolset`) {
        const call = ToolsetCall.parse(await readBody(callToolset, request));
        const body = JSON.stringify(await calls.toolset({ project, computerId: id, principal, call }));
        response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });
        response.end(body);
        return;
      }
      if (at === `${devicePath}/view`) {
        // A view neither wakes a computer nor keeps it awake: otherwise an open page would cost minutes.
        if (row.phase !== 'running') throw notRunning(id, row.phase);
        const stop = endWithIt(id, response);
        response.once('close', stop);
        await relay(await ways.upstream(row, path, principal), context);
        return;
      }
      await calls.during({ project, computerId: id, principal }, async (up) => {
        const way = await ways.upstream(up, path, principal);
        const late = timers.after(patienceMs, () => response.destroy());
        const status = await relay(way, context).finally(late);
        const event = told.get(at);
        if (event === undefined || status !== 200) return;
        await store.write((tx) => computers.append(tx, id, event, { by: principal.userId }));
      });
    },
    async approvalMode(principal) {
      const project = await deps.projects.oldest(principal.userId);
      return (await deps.settings.of(project?.id ?? null)).approval_mode;
    },
  };
}
