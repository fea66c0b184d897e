/** A harness is its folder and two lines: its row in the contract, and its line in the list of folders. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { harnesses } from '../../src/contracts/factory/agent.ts';

const root = new URL('../..', import.meta.url).pathname;
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
  /\.tsx?$/.test(path),
);

/** Other lists of other things: programs that take Gantry as a tool server, and programs that speak ACP. */
const others = ['cli/tools/mcp-clients.ts', 'runtime-server/harness/acp/known-agents.ts'];
/** Too common a word, a harness that others are built on, or a protocol with a room of its own. */
const named = harnesses.filter((name) => !['shell', 'custom', 'acp'].includes(name));

test.each(named)(
  '%s is named in its own folder, in the contract and in the list of folders, and nowhere else',
  (name) => {
    const folder = `runtime-server/harness/${name}/`;
    const naming = sources.filter((path) => {
      if (path.startsWith(folder) || others.includes(path)) return false;
      const code = readFileSync(join(root, 'src', path), 'utf8').replace(/^\s*(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm, '');
      return new RegExp(`['"\`]${name}['"\`]|^\\s*${name}: \\{|/${name}/adapter`, 'm').test(code);
    });
    expect(naming).toEqual(['contracts/factory/agent.ts', 'runtime-server/harness/folders.ts']);
    expect(sources).toContain(`${folder}program.ts`);
  },
);
