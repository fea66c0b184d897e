/** The private folder of each bot (0700) and the connection files in it. Knows files only; never the person's home. */
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writePrivateFile } from '../../kit/secrets/token-file.ts';
import type { BotPaths } from '../harness/harness.ts';

/** Tokens of bots: weaker than their owner's, one an agent, void after `revoke`. */
export interface BotTokens {
  mint(agentId: string): Promise<string> | string;
  revoke(agentId: string): Promise<void> | void;
}

export interface BotHomes {
  readonly urlFile: string;
  readonly workspace: string;
  readonly gantry: readonly string[];
  /** Makes the agent's folder if needed. */
  open(agentId: string): Promise<BotPaths>;
  writeToken(agentId: string, token: string): Promise<void>;
}

export function createBotHomes(options: {
  /** `GANTRY_HOME`. */
  readonly home: string;
  readonly urlFile: string;
  readonly workspace: string;
  readonly gantry: readonly string[];
}): BotHomes {
  const { urlFile, workspace, gantry } = options;
  const open = async (agentId: string): Promise<BotPaths> => {
    const folder = join(options.home, 'run', 'bots', agentId);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // `mode` holds only for a new folder.
    await chmod(folder, 0o700);
    return { ...pathsFor({ urlFile, workspace, gantry }, folder) };
  };
  return {
    urlFile,
    workspace,
    gantry,
    open,
    async writeToken(agentId, token) {
      writePrivateFile((await open(agentId)).tokenFile, token);
    },
  };
}

export function pathsFor(given: Pick<BotHomes, 'urlFile' | 'workspace' | 'gantry'>, folder: string): BotPaths {
  return {
    urlFile: given.urlFile,
    tokenFile: join(folder, 'token'),
    workspace: given.workspace,
    gantry: given.gantry,
    folder,
  };
}
