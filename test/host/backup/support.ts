/** A data folder with something in every part, and archives as somebody else might make them. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Header } from 'tar';
import { cloudMigrations } from '../../../src/host/cloud-migrations.ts';
import { type Places, placesIn } from '../../../src/host/places.ts';
import { runtimeMigrations } from '../../../src/host/runtime-migrations.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import type { Ledger } from '../../../src/kit/ledger/ledger.ts';
import { createTokenFile } from '../../../src/kit/secrets/token-file.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import type { OpenedStore } from '../../../src/kit/store/store.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

export const clock = createTestClock();
export const machine = 'machine of the test';

export interface Filled {
  readonly places: Places;
  readonly workspace: string;
  readonly store: OpenedStore;
  readonly ledger: Ledger;
  append(n: number): Promise<void>;
  close(): Promise<void>;
}

/** Its databases are open, as those of a Gantry that runs; the lock is free. */
export async function filledHome(): Promise<Filled> {
  const folder = scratchFolder();
  const places = placesIn(join(folder, 'home'));
  const workspace = join(folder, 'project');
  for (const path of [places.home, places.run, join(workspace, '.gantry', 'teams', 'crew')]) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }
  writeFileSync(join(workspace, 'code.ts'), 'the person’s own');
  writeFileSync(join(workspace, '.gantry', 'teams', 'crew', 'team.yaml'), 'name: crew\n');
  writeFileSync(join(workspace, '.gantry', 'teams', 'crew', 'check.sh'), '#!/bin/sh\n', { mode: 0o755 });
  const store = await openStore({ file: places.runtimeDb, migrations: runtimeMigrations, clock });
  const cloud = await openStore({ file: places.cloudDb, migrations: cloudMigrations, clock });
  const ledger = await createLedger({ store, clock, ids: createIds(clock) });
  const recordings = join(places.home, 'computer-use', 'artifacts', 'ab');
  mkdirSync(recordings, { recursive: true });
  writeFileSync(join(recordings, 'ab'.repeat(32)), 'a recording');
  createTokenFile(places.token);
  createTokenFile(places.masterKey);
  createTokenFile(places.internalToken);
  writeFileSync(places.computer, JSON.stringify({ id: 'computer_1', createdAt: 'then' }));
  writeFileSync(places.pairing, '{"the": "pairing"}', { mode: 0o600 });
  writeFileSync(places.settings, '{"port": 4010}');
  writeFileSync(places.lastWorkspace, `${workspace}\n`);
  return {
    places,
    workspace,
    store,
    ledger,
    async append(n) {
      for (let index = 0; index < n; index += 1) {
        await store.write((tx) =>
          ledger.append(tx, {
            type: 'test.row',
            actor: 'engine',
            surface: 'engine',
            subject: 'test',
            body: { v: 1, text: 'x'.repeat(500) },
          }),
        );
      }
    },
    async close() {
      await store.close();
      await cloud.close();
    },
  };
}

/** Every file below, by what it holds: two calls that answer the same mean that nothing was touched. */
export function everything(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(below, entry.name);
      if (entry.isDirectory()) return entry.name === 'run' ? [] : everything(folder, path);
      const sum = createHash('sha256')
        .update(readFileSync(join(folder, path)))
        .digest('hex');
      return [`${path} ${sum.slice(0, 12)}`];
    });
}

export interface Entry {
  readonly path: string;
  readonly data?: string;
  readonly type?: 'File' | 'SymbolicLink' | 'Link' | 'Directory' | 'CharacterDevice';
  readonly linkpath?: string;
}

export function tarOf(entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ path, data = '', type = 'File', linkpath }) => {
    const bytes = Buffer.from(data);
    const header = new Header({ path, size: type === 'File' ? bytes.length : 0, type, mode: 0o644, linkpath });
    header.encode();
    const padded = Buffer.alloc(Math.ceil(bytes.length / 512) * 512);
    bytes.copy(padded);
    return type === 'File' ? [header.block as Buffer, padded] : [header.block as Buffer];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

export const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

export function manifestOf(
  files: readonly { path: string; data: string }[],
  change: Record<string, unknown> = {},
): Entry {
  const manifest = {
    gantry: 'backup',
    v: 1,
    version: '0.1.0',
    at: '2026-01-02T03:04:05.000Z',
    home: '/home/somebody/.gantry',
    computer: { id: 'computer_2', name: 'elsewhere' },
    installation: sha256('another'),
    secrets: true,
    workspaces: [],
    files: files.map(({ path, data }) => ({ path, size: Buffer.byteLength(data), sha256: sha256(data) })),
    ...change,
  };
  return { path: './manifest.json', data: JSON.stringify(manifest) };
}
