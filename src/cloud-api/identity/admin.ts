/** HTTP edge of administration: maps the contract to people, keys, projects and prices. Every caller here can see everybody's data. */
import type { DoctorCheck } from '../../contracts/common/doctor-check.ts';
import { AppError } from '../../contracts/common/errors.ts';
import type { Scope } from '../../contracts/common/route.ts';
import * as contract from '../../contracts/identity/admin.ts';
import type { ApiKey } from '../../contracts/identity/keys.ts';
import { iso } from '../../kit/clock/clock.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { KeyRow, Keys } from './keys.ts';
import { changedProject, type Price, type Project, type Projects, takenProject, unknownProject } from './projects.ts';
import type { SignInRow } from './session-store.ts';
import { type User, type Users, unknownUser } from './users.ts';

export function createAdminRoutes({
  users,
  sessions,
  keys,
  projects,
  clock,
  checks,
}: {
  readonly users: Pick<Users, 'get' | 'list' | 'change'>;
  readonly sessions: { list(userId: string): Promise<SignInRow[]> };
  readonly keys: Keys;
  readonly projects: Projects;
  readonly clock: { now(): number };
  readonly checks: () => Promise<readonly DoctorCheck[]>;
}): readonly BoundRoute[] {
  const userOf = async (id: string): Promise<User> => {
    const user = await users.get(id);
    if (user === null) throw unknownUser(id);
    return user;
  };

  return [
    bind(contract.adminDoctor, async () => ({ body: { checks: [...(await checks())] } })),
    bind(contract.adminListUsers, async () => ({ body: { users: (await users.list()).map(toAdminUser) } })),
    bind(contract.adminGetUser, async ({ params: { id } }) => {
      const user = await userOf(id);
      const [signIns, live] = await Promise.all([sessions.list(id), keys.list(id)]);
      return { body: { user: toAdminUser(user), sessions: signIns.length, keys: live.length } };
    }),
    bind(contract.adminChangeUser, async ({ params: { id }, body: { plan, disabled, dryRun } }) => {
      const before = await userOf(id);
      if (dryRun === true) {
        const plans = { id, plan: plan ?? before.plan, disabled: disabled ?? before.disabledAt !== null };
        return { body: { dryRun, plan: plans } };
      }
      return { body: toAdminUser(await users.change(id, change(plan, disabled))) };
    }),
    bind(contract.adminListProjects, async () => ({
      body: { projects: (await projects.list()).map(toAdminProject) },
    })),
    bind(contract.adminCreateProject, async ({ body: { dryRun, ...given } }) => {
      await userOf(given.userId);
      const project: Project = {
        id: given.id,
        userId: given.userId,
        name: given.name ?? given.id,
        hostedDriverEnabled: given.hostedDriverEnabled ?? false,
        spendCapCents: given.spendCapCents ?? null,
        createdAt: clock.now(),
      };
      if (dryRun !== true) return { body: toAdminProject(await projects.create(project)) };
      if ((await projects.get(project.id)) !== null) throw takenProject(project.id);
      return { body: { dryRun, plan: toAdminProject(project) } };
    }),
    bind(contract.adminChangeProject, async ({ params: { id }, body: { dryRun, ...given } }) => {
      if (dryRun !== true) return { body: toAdminProject(await projects.change(id, given)) };
      const before = await projects.get(id);
      if (before === null) throw unknownProject(id);
      return { body: { dryRun, plan: toAdminProject(changedProject(before, given)) } };
    }),
    bind(contract.adminListPrices, async () => ({ body: { prices: (await projects.prices()).map(toAdminPrice) } })),
    bind(contract.adminSetPrice, async ({ params: { name }, body: { cents, dryRun } }) => {
      if (dryRun === true) return { body: { dryRun, plan: { name, cents } } };
      return { body: toAdminPrice(await projects.setPrice({ name, cents, updatedAt: clock.now() })) };
    }),
    bind(contract.adminListKeys, async ({ query: { user } }) => {
      if (user !== undefined) await userOf(user);
      return { body: { keys: (await keys.list(user ?? null, true)).map(toAdminKey) } };
    }),
    bind(contract.adminCreateKey, async ({ body: { userId, dryRun, ...given } }) => {
      await userOf(userId);
      const { row, secret } = await keys.create(userId, given, dryRun === true);
      if (dryRun === true) return { body: { dryRun, plan: { userId, ...given } } };
      return { body: { key: toApiKey(row), secret } };
    }),
    bind(contract.adminRevokeKey, async ({ params: { id }, query: { dryRun } }) => {
      const row = dryRun === true ? await keys.get(id) : await keys.revoke(id);
      if (row === null) {
        const fact = `There is no key ${JSON.stringify(id)}.`;
        throw new AppError('not_found', fact, 'List them with `gantry admin keys ls`.', { wireCode: 'key_not_found' });
      }
      return { body: dryRun === true ? { dryRun, plan: { id, name: row.name } } : toAdminKey(row) };
    }),
  ];
}

function change(plan: User['plan'] | undefined, disabled: boolean | undefined) {
  return { ...(plan === undefined ? {} : { plan }), ...(disabled === undefined ? {} : { disabled }) };
}

export function toApiKey(row: KeyRow): ApiKey {
  const { id, name, prefix } = row;
  return {
    id,
    name,
    prefix,
    scopes: row.scopes.split(' ') as Scope[],
    resource: row.resource,
    tools: row.tools === null ? null : (JSON.parse(row.tools) as ApiKey['tools']),
    createdAt: iso(row.created_at),
    expiresAt: timeOf(row.expires_at),
    lastUsedAt: timeOf(row.last_used_at),
  };
}

function toAdminKey(row: KeyRow): contract.AdminKey {
  return { ...toApiKey(row), userId: row.user_id, revokedAt: timeOf(row.revoked_at) };
}

function toAdminUser({ createdAt, disabledAt, ...user }: User): contract.AdminUser {
  return { ...user, createdAt: iso(createdAt), disabledAt: timeOf(disabledAt) };
}

function toAdminProject({ createdAt, ...project }: Project): contract.AdminProject {
  return { ...project, createdAt: iso(createdAt) };
}

function toAdminPrice({ updatedAt, ...price }: Price): contract.AdminPrice {
  return { ...price, updatedAt: iso(updatedAt) };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}
