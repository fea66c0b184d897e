/**
 * Keys and servers of models that a person gave in the app: sealed in the database, opened in memory, never returned. Values from the environment or
 * settings.json take precedence and are not changed here. Must not know who asks models.
 */

import { AppError } from '../../contracts/common/errors.ts';
import {
  forgetModelPlace,
  keepModelPlace,
  listModelPlaces,
  type ModelPlace,
} from '../../contracts/factory/model-routes.ts';
import { surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bind, type Principal } from '../../kit/http/types.ts';
import type { Ledger } from '../../kit/ledger/ledger.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import type { Base } from '../base/base.ts';
import { askPlace } from './ask-place.ts';
import { type Endpoint, listEndpoints, vendors } from './endpoints.ts';
import type { Wire } from './model.ts';

type Variables = Readonly<Record<string, string | undefined>>;

interface StoredModels {
  /** The environment with the kept keys behind it: always as it is now. */
  readonly env: Variables;
  /** The servers of settings.json and the kept ones. */
  readonly endpoints: Readonly<Record<string, Endpoint>>;
  readonly routes: readonly BoundRoute[];
}

interface Row {
  name: string;
  wire: Wire;
  base_url: string | null;
  key_sealed: string | null;
}

/** As a variable that no environment can have. */
const variableOf = (name: string) => `the saved key of ${name}`;
const sealPlace = (name: string) => `model_place|key_sealed|${name}`;

export async function createStoredModels(
  deps: Pick<Base, 'store' | 'clock'> & {
    readonly ledger: Pick<Ledger, 'append'>;
    readonly sealer: Sealer;
    readonly env: Variables;
    readonly endpoints?: Readonly<Record<string, Endpoint>> | undefined;
    readonly log: { error(message: string, facts: Record<string, unknown>): void };
  },
): Promise<StoredModels> {
  const { store, sealer } = deps;
  const given = deps.endpoints ?? {};
  const env: Record<string, string | undefined> = { ...deps.env };
  const endpoints: Record<string, Endpoint> = { ...given };
  const kept = new Set<string>();

  const vendorOf = (name: string) => vendors.find((vendor) => vendor.name === name);
  const isSet = (variable: string) => (deps.env[variable]?.trim() ?? '') !== '';

  function take(name: string, place: { wire: Wire; baseUrl: string | null; key: string | null } | null): void {
    const vendor = vendorOf(name);
    if (place === null) kept.delete(name);
    else kept.add(name);
    if (vendor !== undefined) {
      const variable = vendor.keys[0] as string;
      const first = [...vendor.keys, ...vendor.bearers].some(isSet);
      env[variable] = first || place === null ? deps.env[variable] : (place.key ?? undefined);
      return;
    }
    if (Object.hasOwn(given, name)) return;
    env[variableOf(name)] = place?.key ?? undefined;
    if (place === null) delete endpoints[name];
    else {
      const baseUrl = place.baseUrl ?? undefined;
      endpoints[name] = { wire: place.wire, baseUrl, keyEnv: place.key === null ? undefined : variableOf(name) };
    }
  }

  for (const row of await store.read((tx) => tx.all<Row>('SELECT * FROM model_place'))) {
    try {
      const key = row.key_sealed === null ? null : sealer.open(sealPlace(row.name), row.key_sealed);
      take(row.name, { wire: row.wire, baseUrl: row.base_url, key });
    } catch (fault) {
      deps.log.error('The saved key of a model provider cannot be opened.', { place: row.name, fault });
    }
  }

  function list(): ModelPlace[] {
    return listEndpoints(env, endpoints).map(({ name, where, variables, set }) => {
      const own = vendorOf(name) === undefined && Object.hasOwn(given, name);
      const inEnvironment = variables.some(isSet);
      return {
        name,
        where,
        key:
          variables.length === 0 ? 'not_needed' : inEnvironment ? 'environment' : set.length > 0 ? 'kept' : 'missing',
        from: vendorOf(name) !== undefined ? 'vendor' : own ? 'settings.json' : 'kept',
      };
    });
  }

  async function write(name: string, sql: string, values: (string | number | null)[], by: Principal, type: string) {
    await store.write((tx) => {
      tx.run(sql, ...values);
      const subject = `model:${name}`;
      deps.ledger.append(tx, { type, actor: by.userId, surface: surfaceOf(by), subject, body: { v: 1, name } });
    });
  }

  const routes = [
    bind(listModelPlaces, async () => ({ body: { places: list() } })),
    bind(keepModelPlace, async ({ params: { name }, body, principal }) => {
      const place = placeOf(name, body);
      if (Object.hasOwn(given, name)) {
        throw new AppError(
          'refused',
          `"${name}" is set in settings.json.`,
          'Change it there, or choose another name here.',
          { status: 409 },
        );
      }
      const { baseUrl } = place;
      const heard = body.check === true && baseUrl !== null ? await askPlace({ ...place, baseUrl }) : null;
      const applied = body.dryRun !== true && heard?.ok !== false;
      if (applied) {
        const sealed = place.key === null ? null : sealer.seal(sealPlace(name), place.key);
        await write(
          name,
          `INSERT INTO model_place (name, wire, base_url, key_sealed, at) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT (name) DO UPDATE SET wire = excluded.wire, base_url = excluded.base_url,
               key_sealed = excluded.key_sealed, at = excluded.at`,
          [name, place.wire, place.baseUrl, sealed, deps.clock.now()],
          principal,
          'model.kept',
        );
        take(name, place);
      }
      const from = vendorOf(name) === undefined ? ('kept' as const) : ('vendor' as const);
      const shown = list().find((one) => one.name === name) ?? {
        name,
        where: place.baseUrl ?? name,
        key: place.key === null ? ('not_needed' as const) : ('kept' as const),
        from,
      };
      return { body: { place: shown, applied, heard } };
    }),
    bind(forgetModelPlace, async ({ params: { name }, principal }) => {
      if (!kept.has(name)) {
        throw new AppError('not_found', `Nothing is saved as "${name}".`, 'List the places: GET /api/factory/models.');
      }
      await write(name, 'DELETE FROM model_place WHERE name = ?', [name], principal, 'model.forgotten');
      take(name, null);
      return { body: { forgotten: true as const } };
    }),
  ];

  /** A vendor is asked only at its usual address: another one would get its key. */
  function placeOf(name: string, { key, baseUrl, wire }: { key?: string; baseUrl?: string; wire?: Wire }) {
    const vendor = vendorOf(name);
    if (vendor !== undefined) {
      if (baseUrl !== undefined || wire !== undefined) {
        throw new AppError(
          'usage',
          `${name} is always at ${vendor.host}.`,
          'Leave out the address, or give the server another name.',
        );
      }
      if (key === undefined) throw new AppError('usage', `The key of ${name} is missing.`, 'Send it as `key`.');
      return { wire: vendor.wire, baseUrl: null, key };
    }
    if (baseUrl === undefined) {
      throw new AppError('usage', `The address of "${name}" is missing.`, 'Send its address as `baseUrl`.');
    }
    return { wire: wire ?? ('openai' as const), baseUrl, key: key ?? null };
  }

  return { env, endpoints, routes };
}
