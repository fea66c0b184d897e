/** Writes docs/cli.md: every command with its options, made from the catalogue that the parser is made from. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { commands, parts } from '../src/cli/catalogue.ts';
import type { Verb } from '../src/cli/command.ts';
import { examples } from '../src/cli/examples.ts';

export const cliReferenceFile = join(import.meta.dirname, '..', 'docs', 'cli.md');

export function cliReferenceText(): string {
  const index = [
    ...commands.map((verb) => `[\`${verb.name}\`](#gantry-${verb.name})`),
    ...parts.map((part) => `[\`${part.name}\`](#gantry-${part.name})`),
  ];
  return `<!-- Made by scripts/cli-reference.ts from the catalogue. Do not edit: npm run references -->
# The command line

In the folder of a clone \`npx gantry …\`; installed, or after \`npm link\` in the clone, \`gantry …\`. ${index.join(' · ')}

Every command takes \`--json\`: one JSON document on stdout and nothing else, even when it fails (\`{error: {code, fact, action}}\`). A command that makes
a change and ends also takes \`--dry-run\`. \`GANTRY_HOME\` names the data folder (default \`~/.gantry\`). The API behind it: [api.md](api.md).
On a terminal, what is longer than the window opens in \`$PAGER\` (\`PAGER=cat\`: never), and \`NO_COLOR=1\` takes the colours away.

| exit code | means |
|---|---|
| 0 | done |
| 1 | refused |
| 2 | not found |
| 3 | Gantry is not running, or the connection to it failed |
| 4 | timed out |
| 5 | needs a person |
| 6 | it ended in another state than the one waited for (\`gantry wait\`) |
| 64 | wrong usage |
| 70 | a fault in Gantry |

${commands.map((verb) => section(verb, verb.name, '##')).join('\n')}
${parts.map((part) => `## gantry ${part.name}\n\n${sentence(part.about)}\n\n${part.verbs.map((verb) => section(verb, `${part.name} ${verb.name}`, '###')).join('\n')}`).join('\n')}`;
}

function section(verb: Verb, words: string, level: string): string {
  const usage = `gantry ${words}${verb.args === undefined ? '' : ` ${verb.args}`}`;
  const options = [
    ...(verb.options ?? []).map(({ flags, about }) => [flags, about]),
    ...(verb.mutation === true ? [['--dry-run', 'only say what would change']] : []),
  ];
  const lines = [`${level} gantry ${words}`, '', sentence(verb.about)];
  if (verb.args !== undefined) lines.push('', `    ${usage}`);
  if (options.length > 0) {
    lines.push(
      '',
      '| option | |',
      '|---|---|',
      ...options.map(([flags = '', about = '']) => `| \`${flags.replaceAll('|', '\\|')}\` | ${cell(about)} |`),
    );
  }
  if (verb.more !== undefined) lines.push('', ...verb.more.split('\n').map((line) => `    ${line}`));
  const example = examples[words];
  if (example !== undefined) lines.push('', `Example: \`${example}\``);
  return `${lines.join('\n')}\n`;
}

/** In a table a bar ends the cell, and what stands in angles would be read as HTML. */
const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
const sentence = (text: string) => (/[.?!]$/.test(text) ? text : `${text}.`);

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  writeFileSync(cliReferenceFile, cliReferenceText());
}
