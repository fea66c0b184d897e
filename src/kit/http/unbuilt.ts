/** Routes that a later part brings: they say so, after the same authentication as every other (gaps.md C, "CLI parts"). */
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { principalKinds, type Route } from '../../contracts/common/route.ts';
import type { UnbuiltRoute } from '../../contracts/unbuilt.ts';
import { paramNames } from './mount.ts';
import { type BoundRoute, bindPassThrough } from './types.ts';

const anybodyKnown = principalKinds.filter((kind) => kind !== 'public');

export function bindUnbuilt(entry: UnbuiltRoute): BoundRoute {
  const route: Route = {
    op: opOf(entry),
    area: entry.area,
    summary: `${entry.name} is not built yet`,
    method: entry.method,
    path: entry.path,
    auth: entry.public ? ['public'] : anybodyKnown,
    scope: null,
    owner: { none: 'it is not built yet: nothing is looked up' },
    params: z.strictObject(Object.fromEntries(paramNames(entry.path).map((name) => [name, z.string()]))),
    answers: { 501: z.unknown() },
    errors: entry.errors,
  };
  return bindPassThrough(route, () => {
    throw new AppError('not_found', `${entry.name} is not built yet.`, 'It comes with a later version of Gantry.', {
      wireCode: 'not_built',
    });
  });
}

/** `GET /runs/:id/events` → `unbuiltGetRunsIdEvents`. */
function opOf({ method, path }: UnbuiltRoute): string {
  const words = [method.toLowerCase(), ...path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')];
  return `unbuilt${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}`;
}
