/** Routes of the workspace, its demo and the doctor. */
import { z } from 'zod';
import { DoctorCheck } from '../common/doctor-check.ts';
import { defineRoute } from '../common/route.ts';
import { area, base, errors, people, readers } from './route-parts.ts';

export const doctor = defineRoute({
  op: 'doctor',
  area,
  errors,
  summary: 'Checks what is installed and what is missing, with the command that fixes it',
  method: 'GET',
  path: `${base}/doctor`,
  auth: people,
  scope: 'agents:read',
  owner: { none: 'facts of the computer, for its owner' },
  answers: {
    200: z.strictObject({
      checks: z.array(DoctorCheck),
    }),
  },
});

export const Workspace = z.strictObject({
  path: z.string(),
  computerId: z.string(),
  engineId: z.string(),
  demo: z.boolean().meta({ description: 'True if this workspace is the sample that ships with Gantry.' }),
  writable: z.boolean(),
});

export const getWorkspace = defineRoute({
  op: 'getWorkspace',
  area,
  errors,
  summary: 'Reads which workspace this engine works in',
  method: 'GET',
  path: `${base}/workspace`,
  auth: readers,
  scope: 'agents:read',
  owner: { none: 'one workspace an engine' },
  answers: { 200: Workspace },
});

export const addDemo = defineRoute({
  op: 'addDemo',
  area,
  errors,
  summary: 'Copies the sample project and its demo team into the workspace',
  method: 'POST',
  path: `${base}/workspace/demo`,
  auth: people,
  scope: 'bots:act',
  owner: { none: 'one workspace an engine' },
  body: z.strictObject({ dryRun: z.boolean().optional() }),
  answers: { 200: z.strictObject({ team: z.string(), written: z.array(z.string()), applied: z.boolean() }) },
});
