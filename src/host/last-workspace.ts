/** Chooses the workspace of a start: the requested one, else the last one, and remembers the choice. */
import { readFileSync } from 'node:fs';
import { writePrivateFile } from '../kit/secrets/token-file.ts';
import type { PreparedWorkspace } from '../runtime-server/agents/workspace/prepare-workspace.ts';
import { prepareWorkspace } from '../runtime-server/agents/workspace/prepare-workspace.ts';
import type { Places } from './places.ts';

export function lastWorkspace(places: Places, asked: string | undefined): () => Promise<PreparedWorkspace> {
  return async () => {
    const workspace = await prepareWorkspace({
      asked: asked ?? null,
      last: readLast(places.lastWorkspace),
      home: places.home,
      from: places.home,
    });
    writePrivateFile(places.lastWorkspace, `${workspace.path}\n`);
    return workspace;
  };
}

function readLast(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null;
  } catch {
    return null;
  }
}
