/**
 * Projects of hosted computers with their flags and caps, and prices: rows that only `gantry admin` writes and that
 * other areas read. Must not know routes.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Op, SharedReader, SharedStore } from '../../kit/store/shared-store.ts';

export interface Project {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly hostedDriverEnabled: boolean;
  /** null: no cap. */
  readonly spendCapCents: number | null;
  readonly createdAt: number;
}

export interface Price {
  readonly name: string;
  /** The price of one unit. */
  readonly cents: number;
  readonly updatedAt: number;
}

interface ProjectChange {
  readonly name?: string | undefined;
  readonly hostedDriverEnabled?: boolean | undefined;
  readonly spendCapCents?: number | null | undefined;
}

export interface Projects {
  get(id: string): Promise<Project | null>;
  list(): Promise<Project[]>;
  /** The project of a call that names none. Null: this person has no project. */
  oldest(userId: string): Promise<Project | null>;
  /** 409 if the id is taken. */
  create(project: Project): Promise<Project>;
  change(id: string, change: ProjectChange): Promise<Project>;
  prices(): Promise<Price[]>;
  setPrice(price: Price): Promise<Price>;
}

interface Row {
  id: string;
  user_id: string;
  name: string;
  hosted_driver_enabled: number;
  spend_cap_cents: number | null;
  created_at: number;
}

interface PriceRow {
  name: string;
  millionths_of_cent: number;
  updated_at: number;
}

const millionths = 1_000_000;
const select = 'SELECT id, user_id, name, hosted_driver_enabled, spend_cap_cents, created_at FROM project';

export function createProjects(store: SharedStore): Projects {
  function* read(tx: SharedReader, id: string): Op<Project | null> {
    const row = yield* tx.get<Row>(`${select} WHERE id = ?`, id);
    return row === undefined ? null : toProject(row);
  }
  return {
    get: (id) => store.read((tx) => read(tx, id)),
    list: async () => (await store.all<Row>(`${select} ORDER BY id`)).map(toProject),
    async oldest(userId) {
      const row = await store.get<Row>(`${select} WHERE user_id = ? ORDER BY created_at, id LIMIT 1`, userId);
      return row === undefined ? null : toProject(row);
    },
    create: (project) =>
      store.write(function* (tx) {
        if ((yield* read(tx, project.id)) !== null) throw takenProject(project.id);
        const { id, userId, name, hostedDriverEnabled, spendCapCents, createdAt } = project;
        yield* tx.run(
          `INSERT INTO project (id, user_id, name, hosted_driver_enabled, spend_cap_cents, created_at)
            VALUES (?, ?, ?, ?, ?, ?)`,
          ...[id, userId, name, hostedDriverEnabled ? 1 : 0, spendCapCents, createdAt],
        );
        return project;
      }),
    change: (id, change) =>
      store.write(function* (tx) {
        const before = yield* read(tx, id);
        if (before === null) throw unknownProject(id);
        const after = changedProject(before, change);
        yield* tx.run(
          'UPDATE project SET name = ?, hosted_driver_enabled = ?, spend_cap_cents = ? WHERE id = ?',
          ...[after.name, after.hostedDriverEnabled ? 1 : 0, after.spendCapCents, id],
        );
        return after;
      }),
    prices: async () => {
      const rows = await store.all<PriceRow>('SELECT name, millionths_of_cent, updated_at FROM price ORDER BY name');
      return rows.map((row) => ({
        name: row.name,
        cents: row.millionths_of_cent / millionths,
        updatedAt: row.updated_at,
      }));
    },
    setPrice: ({ name, cents, updatedAt }) =>
      store.write(function* (tx) {
        const whole = Math.round(cents * millionths);
        yield* tx.run(
          `INSERT INTO price (name, millionths_of_cent, updated_at) VALUES (?, ?, ?) ON CONFLICT (name)
            DO UPDATE SET millionths_of_cent = excluded.millionths_of_cent, updated_at = excluded.updated_at`,
          ...[name, whole, updatedAt],
        );
        return { name, cents: whole / millionths, updatedAt };
      }),
  };
}

export function changedProject(before: Project, change: ProjectChange): Project {
  return {
    ...before,
    name: change.name ?? before.name,
    hostedDriverEnabled: change.hostedDriverEnabled ?? before.hostedDriverEnabled,
    spendCapCents: change.spendCapCents === undefined ? before.spendCapCents : change.spendCapCents,
  };
}

export function unknownProject(id: string): AppError {
  const fact = `There is no project ${JSON.stringify(id.slice(0, 200))}.`;
  return new AppError('not_found', fact, 'List them with `gantry admin projects ls`.', {
    wireCode: 'project_not_found',
  });
}

export function takenProject(id: string): AppError {
  const fact = `The project ${JSON.stringify(id)} already exists.`;
  return new AppError('refused', fact, 'Change it, or choose another id.', { status: 409, wireCode: 'project_exists' });
}

function toProject(row: Row): Project {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    hostedDriverEnabled: row.hosted_driver_enabled === 1,
    spendCapCents: row.spend_cap_cents,
    createdAt: row.created_at,
  };
}
