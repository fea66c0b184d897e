/**
 * Routes of `gantry admin`: people and their plans; projects with hosted computers, their flags and caps; prices, keys, the state of the database.
 * For the internal service token, the owner of a computer, and keys with the scope `admin`: never for a signed-in person.
 */
import { z } from 'zod';
import { DoctorCheck } from '../common/doctor-check.ts';
import { defineRoute, type Route } from '../common/route.ts';
import { Id, QueryFlag, Time } from '../common/values.ts';
import { ApiKey, keyFields, NewApiKey } from './keys.ts';
import { Plan } from './plan.ts';

const shared = { area: 'identity', errors: 'plain', auth: ['internal', 'owner', 'key'], scope: 'admin' } as const;
const everything = { none: 'an administrator sees everybody’s' } as const;
const params = z.strictObject({ id: Id });
const dryRun = z.boolean().optional();
/** Of a dry run: the state afterwards. */
const orPlan = <Shape extends z.ZodType>(done: Shape) =>
  z.union([done, z.strictObject({ dryRun: z.literal(true), plan: z.record(z.string(), z.unknown()) })]);

export const AdminUser = z
  .strictObject({
    id: z.string(),
    issuer: z.string(),
    subject: z.string(),
    email: z.string().nullable(),
    name: z.string(),
    plan: Plan,
    createdAt: Time,
    disabledAt: Time.nullable(),
  })
  .meta({ id: 'AdminUser' });
export type AdminUser = z.infer<typeof AdminUser>;

export const AdminProject = z
  .strictObject({
    id: z.string(),
    userId: z.string(),
    name: z.string(),
    hostedDriverEnabled: z.boolean(),
    spendCapCents: z.number().int().nullable().meta({ description: 'null: no cap.' }),
    createdAt: Time,
  })
  .meta({ id: 'AdminProject' });
export type AdminProject = z.infer<typeof AdminProject>;

export const AdminPrice = z
  .strictObject({
    name: z.string(),
    cents: z.number().meta({ description: 'Price of one unit, to a millionth of a cent.' }),
    updatedAt: Time,
  })
  .meta({ id: 'AdminPrice' });
export type AdminPrice = z.infer<typeof AdminPrice>;

export const AdminKey = z
  .strictObject({ ...ApiKey.shape, userId: z.string(), revokedAt: Time.nullable() })
  .meta({ id: 'AdminKey' });
export type AdminKey = z.infer<typeof AdminKey>;

export const adminListUsers = defineRoute({
  ...shared,
  op: 'adminListUsers',
  summary: 'Lists everybody who has signed in, newest first',
  method: 'GET',
  path: '/api/v1/admin/users',
  owner: everything,
  answers: { 200: z.strictObject({ users: z.array(AdminUser) }) },
});

export const adminGetUser = defineRoute({
  ...shared,
  op: 'adminGetUser',
  summary: 'Reads one person and their sessions',
  method: 'GET',
  path: '/api/v1/admin/users/:id',
  owner: everything,
  params,
  answers: {
    200: z.strictObject({ user: AdminUser, sessions: z.number().int(), keys: z.number().int() }),
  },
});

export const adminChangeUser = defineRoute({
  ...shared,
  op: 'adminChangeUser',
  summary: 'Sets the plan, or shuts a person out and lets them in again',
  method: 'PATCH',
  path: '/api/v1/admin/users/:id',
  owner: everything,
  params,
  body: z.strictObject({ plan: Plan.optional(), disabled: z.boolean().optional(), dryRun }),
  answers: { 200: orPlan(AdminUser) },
});

export const adminListProjects = defineRoute({
  ...shared,
  op: 'adminListProjects',
  summary: 'Lists projects with their flags and caps',
  method: 'GET',
  path: '/api/v1/admin/projects',
  owner: everything,
  answers: { 200: z.strictObject({ projects: z.array(AdminProject) }) },
});

const ProjectId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'at most 64 letters, digits, _ and -');
const projectFields = {
  hostedDriverEnabled: z.boolean().optional(),
  spendCapCents: z.number().int().min(0).max(1e12).nullable().optional(),
};

export const adminCreateProject = defineRoute({
  ...shared,
  op: 'adminCreateProject',
  summary: 'Creates a project for a person',
  method: 'POST',
  path: '/api/v1/admin/projects',
  owner: everything,
  body: z.strictObject({
    id: ProjectId,
    userId: Id,
    name: z.string().min(1).max(200).optional(),
    ...projectFields,
    dryRun,
  }),
  answers: { 201: orPlan(AdminProject) },
});

export const adminChangeProject = defineRoute({
  ...shared,
  op: 'adminChangeProject',
  summary: 'Changes the name, flags and caps of a project',
  method: 'PATCH',
  path: '/api/v1/admin/projects/:id',
  owner: everything,
  params,
  body: z.strictObject({ name: z.string().min(1).max(200).optional(), ...projectFields, dryRun }),
  answers: { 200: orPlan(AdminProject) },
});

export const adminListPrices = defineRoute({
  ...shared,
  op: 'adminListPrices',
  summary: 'Lists the prices that were set',
  method: 'GET',
  path: '/api/v1/admin/prices',
  owner: everything,
  answers: { 200: z.strictObject({ prices: z.array(AdminPrice) }) },
});

export const adminSetPrice = defineRoute({
  ...shared,
  op: 'adminSetPrice',
  summary: 'Sets the price of one unit of a meter',
  method: 'PUT',
  path: '/api/v1/admin/prices/:name',
  owner: everything,
  params: z.strictObject({ name: z.string().regex(/^[a-z][a-z0-9_.]{0,63}$/, 'a name such as computer_minute') }),
  body: z.strictObject({ cents: z.number().min(0).max(1e9), dryRun }),
  answers: { 200: orPlan(AdminPrice) },
});

export const adminListKeys = defineRoute({
  ...shared,
  op: 'adminListKeys',
  summary: 'Lists the API keys of everybody or of one person, including revoked ones',
  method: 'GET',
  path: '/api/v1/admin/keys',
  owner: everything,
  query: z.strictObject({ user: Id.optional() }),
  answers: { 200: z.strictObject({ keys: z.array(AdminKey) }) },
});

/** Creates the first key with the scope `admin`: nobody can give it to themselves. */
export const adminCreateKey = defineRoute({
  ...shared,
  op: 'adminCreateKey',
  summary: 'Creates an API key for a person; its text is shown only this once',
  method: 'POST',
  path: '/api/v1/admin/keys',
  owner: everything,
  body: z.strictObject({ userId: Id, ...keyFields, dryRun }),
  answers: { 201: orPlan(NewApiKey) },
});

export const adminRevokeKey = defineRoute({
  ...shared,
  op: 'adminRevokeKey',
  summary: 'Revokes an API key at once',
  method: 'DELETE',
  path: '/api/v1/admin/keys/:id',
  owner: everything,
  params,
  query: z.strictObject({ dryRun: QueryFlag }),
  answers: { 200: orPlan(AdminKey) },
});

export const adminDoctor = defineRoute({
  ...shared,
  op: 'adminDoctor',
  summary: 'Checks whether the database can be written and has lost nothing, with how to fix it',
  method: 'GET',
  path: '/api/v1/admin/doctor',
  owner: everything,
  answers: { 200: z.strictObject({ checks: z.array(DoctorCheck) }) },
});

export const adminRoutes = [
  adminListUsers,
  adminGetUser,
  adminChangeUser,
  adminListProjects,
  adminCreateProject,
  adminChangeProject,
  adminListPrices,
  adminSetPrice,
  adminListKeys,
  adminCreateKey,
  adminRevokeKey,
  adminDoctor,
] as const satisfies readonly Route[];
