/**
 * The vault: secrets by name, sealed at rest, opened only into the environment of a bot that is being started. No route returns a value, no row of
 * the ledger holds one or its hash. Only for the person. Owns `engine_secret`; must not know harnesses or panes.
 */
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { byName } from '../../contracts/common/by-name.ts';
import { AppError } from '../../contracts/common/errors.ts';
import * as table from '../../contracts/factory/work-engine/vault.ts';
import { type SecretDestination, SecretName, secretReference } from '../../contracts/factory/work-engine/vault.ts';
import { iso } from '../../kit/clock/clock.ts';
import { hostNameOf } from '../../kit/egress/host-name.ts';
import { bind } from '../../kit/http/types.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import type { Op, SharedReader } from '../../kit/store/shared-store.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { KeyUse } from '../../programs/sandbox-proxy/protocol.ts';
import type { Base } from '../base/base.ts';
import type { EnginePart } from '../parties/part.ts';
import type { Parties } from '../parties/parties.ts';

type Env = Readonly<Record<string, string>>;

/** The part of the vault that starting a bot needs. */
export interface BotSecrets {
  /**
   * The variables whose value is a reference, with the secret's value: never to be stored or logged. That of an SSH key is empty, because no program
   * gets it. `usage` for an unknown name, `refused` when another master key sealed it.
   */
  open(env: Env): Promise<Record<string, string>>;
  /** Rejects as {@link given} would, before anything is started. */
  check(bot: StartingBot): Promise<void>;
  /**
   * For the start of a bot. In a closed sandbox a secret that is for one destination is a placeholder, the same one at each of its starts; the way out of
   * the sandbox puts the value in ({@link Vault.keysOf}). Rejects with `usage` for an SSH key in any other sandbox.
   */
  given(bot: StartingBot & { readonly agentId: string }): Promise<Record<string, string>>;
  /** The names of the secrets that {@link given} would give as placeholders, sorted. */
  placeholders(bot: StartingBot): Promise<string[]>;
}

interface StartingBot {
  readonly env: Env;
  readonly sandbox?: { readonly mode: string } | null | undefined;
}

/** A secret that its bot has as a placeholder. */
export type PlacedSecret =
  | KeyUse
  | (Pick<KeyUse, 'name' | 'placeholder' | 'value' | 'host' | 'port'> & { readonly form: 'ssh' });

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
  /** Where values go instead of the placeholders that a bot has. */
  keysOf(agentId: string): Promise<readonly PlacedSecret[]>;
  /** Secret bytes of the bot, always the same ones, in hex. */
  seedOf(agentId: string): string;
  /** Its routes. */
  part(around: { readonly parties: Parties; readonly registry: SecretUsers }): EnginePart;
}

interface SecretRow {
  name: string;
  sealed: string;
  updated_at: number;
  destination: string | null;
}
type Read = Pick<Tx, 'get' | 'all'>;

/** Characters of a value that is put in. */
const minPlaced = 12;
/** Servers take no longer headers. */
const maxPlaced = 16_384;
/** Public parts of known forms of keys, longer ones first. */
const prefixes = [
  'sk-ant-api03-',
  'sk-ant-',
  'sk-proj-',
  'sk-',
  'github_pat_',
  'ghp_',
  'gho_',
  'glpat-',
  'npm_',
  'xoxb-',
  'AIza',
];

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
    tx.get<SecretRow>('SELECT name, sealed, updated_at, destination FROM engine_secret WHERE name = ?', name);

  async function open(env: Env): Promise<Record<string, string>> {
    const opened: Record<string, string> = {};
    for (const [variable, value] of Object.entries(env)) {
      const [name] = nameIn(value);
      if (name === undefined) continue;
      const row = await store.read((tx) => find(tx, name));
      if (row === undefined) throw missing(name);
      const secret = sealer.open(place(name), row.sealed);
      opened[variable] = destinationOf(row)?.form === 'ssh' ? '' : secret;
    }
    return opened;
  }

  async function check({ env, sandbox }: StartingBot): Promise<void> {
    await open(env);
    if (sandbox?.mode === 'closed') return;
    for (const name of Object.values(env).flatMap(nameIn)) {
      const row = await store.read((tx) => find(tx, name));
      if (row === undefined || destinationOf(row)?.form !== 'ssh') continue;
      const fact = `${name} is an SSH key, which only a bot in a closed sandbox can use.`;
      throw new AppError('usage', fact, 'Give it `sandbox: closed`, or remove the variable.');
    }
  }

  async function given({ agentId, env, sandbox }: Parameters<BotSecrets['given']>[0]): Promise<Record<string, string>> {
    await check({ env, sandbox });
    const values = await open(env);
    if (sandbox?.mode !== 'closed') return values;
    const names = Object.entries(env).flatMap(([variable, value]) =>
      nameIn(value).map((name) => [variable, name] as const),
    );
    return store.write((tx) => {
      const kept = new Map<string, string>();
      for (const [variable, name] of names) {
        const destination = destinationOf(find(tx, name));
        if (destination === null) continue;
        const known = tx.get<{ placeholder: string }>(
          'SELECT placeholder FROM engine_secret_placeholder WHERE agent_id = ? AND name = ?',
          agentId,
          name,
        );
        const placeholder = kept.get(name) ?? known?.placeholder ?? newPlaceholder(values[variable] ?? '');
        kept.set(name, placeholder);
        if (destination.form !== 'ssh') values[variable] = placeholder;
      }
      tx.run('DELETE FROM engine_secret_placeholder WHERE agent_id = ?', agentId);
      for (const [name, placeholder] of kept) {
        tx.run(
          'INSERT INTO engine_secret_placeholder (agent_id, name, placeholder) VALUES (?, ?, ?)',
          agentId,
          name,
          placeholder,
        );
      }
      return values;
    });
  }

  async function placeholders({ env, sandbox }: StartingBot): Promise<string[]> {
    if (sandbox?.mode !== 'closed') return [];
    const names = [...new Set(Object.values(env).flatMap(nameIn))].sort(byName);
    return store.read((tx) => names.filter((name) => find(tx, name)?.destination != null));
  }

  async function keysOf(agentId: string): Promise<PlacedSecret[]> {
    const rows = await store.read((tx) =>
      tx.all<SecretRow & { placeholder: string }>(
        `SELECT s.name, s.sealed, s.destination, p.placeholder FROM engine_secret_placeholder p JOIN engine_secret s ON s.name = p.name
          WHERE p.agent_id = ? AND s.destination IS NOT NULL`,
        agentId,
      ),
    );
    return rows.flatMap((row) => {
      const destination = destinationOf(row);
      const { name, placeholder } = row;
      return destination === null
        ? []
        : [{ name, placeholder, value: sealer.open(place(name), row.sealed), ...destination }];
    });
  }

  return {
    secrets: { open, check, given, placeholders },
    keysOf,
    seedOf: (agentId) => sealer.derive(`bot ${agentId}`).toString('hex'),
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
          tx
            .all<SecretRow>('SELECT name, updated_at, destination FROM engine_secret')
            .sort((a, b) => byName(a.name, b.name)),
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
              destination: destinationOf(row) ?? undefined,
            })),
            missing: missing.map(([name, usedBy]) => ({ name, usedBy })),
          },
        };
      }),
      bind(table.setSecret, async ({ params: { name }, body, principal }) => {
        const usedBy = users().get(name) ?? [];
        const before = await store.read((tx) => find(tx, name));
        const answer = { name, replaces: before !== undefined, usedBy };
        const wanted = body.destination ?? destinationOf(before);
        const destination = wanted === null ? null : checked(wanted, body.value);
        if (body.dryRun === true) return { body: { dryRun: true as const, ...answer } };
        const sealed = sealer.seal(place(name), body.value);
        const { actor } = parties.caller(principal);
        await store.write((tx) => {
          tx.run(
            `INSERT INTO engine_secret (name, sealed, updated_at, destination) VALUES (?, ?, ?, ?)
             ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at,
               destination = excluded.destination`,
            name,
            sealed,
            clock.now(),
            destination,
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

function destinationOf(row: Pick<SecretRow, 'destination'> | undefined): SecretDestination | null {
  return row?.destination == null ? null : (JSON.parse(row.destination) as SecretDestination);
}

/** With the host's name in the form in which all are kept. */
function checked(destination: SecretDestination, value: string): string {
  const host = hostNameOf(destination.host);
  if (host === null || isIP(host) !== 0) {
    throw new AppError(
      'usage',
      `${JSON.stringify(destination.host)} is not the name of a host.`,
      'Give one such as api.example.org.',
    );
  }
  if (destination.form === 'ssh') checkSshKey(value);
  else checkHeader(value);
  return JSON.stringify({ ...destination, host });
}

/** A short value could appear in an answer by chance, and would be taken out there. */
function checkHeader(value: string): void {
  if (value.length >= minPlaced && value.length <= maxPlaced && /^[\x21-\x7e]+$/.test(value)) return;
  const fact = `The value has fewer than ${minPlaced} or more than ${maxPlaced} characters, or some that no header can carry.`;
  throw new AppError('usage', fact, 'Save it under another name, without a destination.');
}

function checkSshKey(value: string): void {
  const [, kind, body = ''] =
    /^-----BEGIN ([A-Z ]*)PRIVATE KEY-----\r?\n([\s\S]*?)-----END \1PRIVATE KEY-----\s*$/.exec(value) ?? [];
  if (kind === undefined) {
    const fact = 'The value is not a private key of SSH.';
    throw new AppError('usage', fact, 'Give the file without .pub, such as ~/.ssh/id_ed25519.');
  }
  // `openssh-key-v1`, a zero, and the name of what it is encrypted with.
  const cipher = kind === 'OPENSSH ' ? Buffer.from(body, 'base64').subarray(15, 23).toString('latin1') : '';
  const isLocked = kind === 'OPENSSH ' ? cipher !== '\0\0\0\x04none' : /ENCRYPTED/.test(kind + body);
  if (!isLocked) return;
  const fact = 'The private key has a passphrase, which nobody could type.';
  throw new AppError('usage', fact, 'Make a key of its own for bots, without one: ssh-keygen -t ed25519 -f deploy_key');
}

/** As long as a key is, with the beginning that programs look for. */
function newPlaceholder(value: string): string {
  const prefix = prefixes.find((each) => value.startsWith(each)) ?? '';
  return `${prefix}gantry${randomBytes(20).toString('hex')}`;
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
