/**
 * The vault: secrets by name, sealed at rest, opened only into the environment of a bot that is being started. No route returns a value, no row of
 * the ledger holds one or its hash. Only for the person. Owns `engine_secret`; must not know harnesses or panes.
 */
import { byName } from '../../contracts/common/by-name.ts';
import { AppError } from '../../contracts/common/errors.ts';
import * as table from '../../contracts/factory/work-engine/vault.ts';
import { SecretName, secretReference } from '../../contracts/factory/work-engine/vault.ts';
import { iso } from '../../kit/clock/clock.ts';
import { bind } from '../../kit/http/types.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import type { Op, SharedReader } from '../../kit/store/shared-store.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Base } from '../base/base.ts';
import type { EnginePart } from '../parties/part.ts';
import type { Parties } from '../parties/parties.ts';

type Env = Readonly<Record<string, string>>;

/** The part of the vault that starting a bot needs. */
export interface BotSecrets {
  /**
   * The variables whose value is a reference, with the secret's value: never to be stored or logged. `usage` for an unknown name, `refused` when
   * another master key sealed it.
   */
  open(env: Env): Promise<Record<string, string>>;
}

interface VaultDeps extends Pick<Base, 'store' | 'ledger' | 'clock'> {
  readonly sealer: Sealer;
  readonly ownerId: string;
}

/** The possible users of a secret: bots with the variables of their team file. */
interface SecretUsers {
  members(): readonly {
    readonly address: string;
    readonly definition: { readonly env: Readonly<Record<string, string>> } | null;
  }[];
}

interface Vault {
  /** For whatever starts a bot. */
  readonly secrets: BotSecrets;
  /** Its routes. */
  part(around: { readonly parties: Parties; readonly registry: SecretUsers }): EnginePart;
}

interface SecretRow {
  name: string;
  sealed: string;
  updated_at: number;
}
type Read = Pick<Tx, 'get' | 'all'>;

const placeOf = (name: string, ownerId: string) => `engine_secret|sealed|${name}|${ownerId}`;

/** Every value, so that they can be removed from a text; those that another master key sealed are left out. */
export function* vaultValues(tx: SharedReader, sealer: Sealer, ownerId: string): Op<string[]> {
  const rows = yield* tx.all<Pick<SecretRow, 'name' | 'sealed'>>('SELECT name, sealed FROM engine_secret');
  return rows.flatMap(({ name, sealed }) => {
    try {
      return [sealer.open(placeOf(name, ownerId), sealed)];
    } catch {
      return [];
    }
  });
}

export function createVault(deps: VaultDeps): Vault {
  const { store, sealer } = deps;
  const place = (name: string) => placeOf(name, deps.ownerId);
  const find = (tx: Read, name: string) =>
    tx.get<SecretRow>('SELECT name, sealed, updated_at FROM engine_secret WHERE name = ?', name);

  async function open(env: Env): Promise<Record<string, string>> {
    const opened: Record<string, string> = {};
    for (const [variable, value] of Object.entries(env)) {
      const [name] = nameIn(value);
      if (name === undefined) continue;
      const row = await store.read((tx) => find(tx, name));
      if (row === undefined) throw missing(name);
      opened[variable] = sealer.open(place(name), row.sealed);
    }
    return opened;
  }

  return {
    secrets: { open },
    part: ({ parties, registry }) => createVaultPart({ ...deps, parties, registry, place, find }),
  };
}

function createVaultPart({
  store,
  ledger,
  clock,
  sealer,
  parties,
  registry,
  place,
  find,
}: VaultDeps & {
  readonly parties: Parties;
  readonly registry: SecretUsers;
  place(name: string): string;
  find(tx: Read, name: string): SecretRow | undefined;
}): EnginePart {
  /** Addresses by the name that their team file asks for. */
  function users(): Map<string, string[]> {
    const found = new Map<string, string[]>();
    for (const { address, definition } of registry.members()) {
      for (const name of new Set(Object.values(definition?.env ?? {}).flatMap(nameIn))) {
        found.set(name, [...(found.get(name) ?? []), address]);
      }
    }
    return found;
  }

  return {
    owners: { secret: (_, name) => store.read((tx) => find(tx, name) !== undefined) },
    routes: [
      bind(table.listSecrets, async () => {
        const rows = await store.read((tx) =>
          tx.all<SecretRow>('SELECT name, updated_at FROM engine_secret').sort((a, b) => byName(a.name, b.name)),
        );
        const used = users();
        const known = new Set(rows.map((row) => row.name));
        const missing = [...used].filter(([name]) => !known.has(name));
        return {
          body: {
            secrets: rows.map((row) => ({
              name: row.name,
              updatedAt: iso(row.updated_at),
              usedBy: used.get(row.name) ?? [],
            })),
            missing: missing.map(([name, usedBy]) => ({ name, usedBy })),
          },
        };
      }),
      bind(table.setSecret, async ({ params: { name }, body, principal }) => {
        const usedBy = users().get(name) ?? [];
        const before = await store.read((tx) => find(tx, name));
        const answer = { name, replaces: before !== undefined, usedBy };
        if (body.dryRun === true) return { body: { dryRun: true as const, ...answer } };
        const sealed = sealer.seal(place(name), body.value);
        const { actor } = parties.caller(principal);
        await store.write((tx) => {
          tx.run(
            `INSERT INTO engine_secret (name, sealed, updated_at) VALUES (?, ?, ?)
             ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at`,
            name,
            sealed,
            clock.now(),
          );
          ledger.append(tx, { type: 'vault.set', ...actor, subject: `secret:${name}`, body: { v: 1, name } });
        });
        return { body: answer };
      }),
      bind(table.removeSecret, async ({ params: { name }, query, principal }) => {
        const answer = { name, usedBy: users().get(name) ?? [] };
        if (query.dryRun === true) return { body: { dryRun: true as const, ...answer } };
        const { actor } = parties.caller(principal);
        await store.write((tx) => {
          tx.run('DELETE FROM engine_secret WHERE name = ?', name);
          ledger.append(tx, { type: 'vault.removed', ...actor, subject: `secret:${name}`, body: { v: 1, name } });
        });
        return { body: answer };
      }),
    ],
  };
}

/** The name that a value of team.yaml refers to. An invalid reference is kept as its text, and is then missing. */
function nameIn(value: string): string[] {
  const name = secretReference.exec(value)?.[1];
  return name === undefined ? [] : [name];
}

function missing(name: string): AppError {
  const shown = JSON.stringify(name.slice(0, 80));
  const action = SecretName.safeParse(name).success
    ? `Set it: gantry vault set ${name}`
    : 'Write vault:<NAME>, letters, digits and "_".';
  return new AppError('usage', `The vault has no secret ${shown}.`, action);
}
