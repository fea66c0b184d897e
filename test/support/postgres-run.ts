/** Global set-up: one folder a run, in which the first test that needs a PostgreSQL starts it; removed with the run. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    postgres: { readonly folder: string; readonly parent: number };
  }
}

export function setup(project: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-pg-'));
  project.provide('postgres', { folder, parent: process.pid });
  return async () => {
    // Without its folder the server's keeper stops it.
    for (let tries = 0; tries < 20; tries += 1) {
      try {
        rmSync(folder, { recursive: true, force: true });
        return;
      } catch {
        await pause(100);
      }
    }
  };
}
