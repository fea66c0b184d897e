/**
 * The project of a request: the one that `x-gantry-project` names, otherwise that of the computer in the path, otherwise the caller's oldest. A
 * project belongs to one person, and so do all its keys. Must not know what is done.
 */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import { projectHeader } from '../../contracts/hosted-computers/computer.ts';
import type { Before, Principal } from '../../kit/http/types.ts';
import { disabled } from './model.ts';
import type { ComputerStore } from './store.ts';

export interface Project {
  readonly id: string;
  readonly userId: string;
  readonly hostedDriverEnabled: boolean;
  /** Null: no cap. */
  readonly spendCapCents: number | null;
}

/** Identity fills it. */
export interface ProjectsOf {
  get(id: string): Promise<Project | null>;
  /** Null: they have none. */
  oldest(userId: string): Promise<Project | null>;
}

export interface AskedProjects {
  /** Throws 404 `hosted_driver_disabled` for a project without the flag. */
  readonly needed: Before;
  /** Lets everybody pass. */
  readonly looked: Before;
  /** What was found before the handler. Null: the caller has none. */
  found(request: IncomingMessage): Project | null;
  /** For a handler behind {@link needed}. */
  of(request: IncomingMessage): Project;
}

export function createAskedProjects(projects: ProjectsOf, computers: Pick<ComputerStore, 'get'>): AskedProjects {
  const asked = new WeakMap<IncomingMessage, Project>();

  async function find(principal: Principal, request: IncomingMessage, id: string | undefined): Promise<Project | null> {
    const named = request.headers[projectHeader];
    const row = id === undefined ? null : await computers.get(id);
    const mine = row?.userId === principal.userId ? row.projectId : null;
    if (named === undefined) return mine === null ? projects.oldest(principal.userId) : projects.get(mine);
    const project = await projects.get(String(named));
    if (project === null || project.userId !== principal.userId) throw unknown(String(named));
    return project;
  }

  const look: Before = async (principal, { request, params }) => {
    const project = await find(principal, request, params.id);
    if (project !== null) asked.set(request, project);
  };

  return {
    looked: look,
    async needed(principal, about) {
      await look(principal, about);
      if (asked.get(about.request)?.hostedDriverEnabled !== true) throw disabled();
    },
    found: (request) => asked.get(request) ?? null,
    of(request) {
      const project = asked.get(request);
      if (project === undefined) throw disabled();
      return project;
    },
  };
}

function unknown(id: string): AppError {
  const fact = `There is no project ${JSON.stringify(id.slice(0, 200))}.`;
  return new AppError('not_found', fact, `Leave out ${projectHeader} for your oldest one.`, {
    wireCode: 'project_not_found',
  });
}
