/** Writes docs/agent-programs.md: what each agent program's adapter promises, from the adapters' own data (`promises` in each `program.ts`). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type HarnessName, harnesses, titleOf } from '../src/contracts/factory/agent.ts';
import type { Surroundings } from '../src/runtime-server/harness/adapter.ts';
import type { Promises } from '../src/runtime-server/harness/program.ts';
import { programs } from '../src/runtime-server/harness/programs.ts';

export const agentProgramsFile = join(import.meta.dirname, '..', 'docs', 'agent-programs.md');

/** An adapter reads nothing before it is asked to start something. */
const nowhere: Surroundings = {
  env: {},
  home: '/',
  processes: { run: () => Promise.reject(new Error('Nothing is run here.')) },
};

const vias = {
  paste: 'pasted into its composer, then Enter',
  file: 'as a line in a file that it reads; no key is pressed',
  server: 'by its own server; no key is pressed',
  protocol: 'as a prompt of the protocol',
} satisfies Record<Promises['via'], string>;

const learns = {
  hook: 'its hook',
  file: 'its file of events',
  server: "its server's events",
  screen: 'its screen',
  transcript: 'its stored conversation',
  protocol: 'its permission request',
} satisfies Record<Promises['asks']['by'], string>;

const answers = {
  approval: 'an approval or its pane, whichever is first',
  pane: 'its pane',
  inbox: 'an approval',
} satisfies Record<Promises['asks']['answered'], string>;

const witnesses: Readonly<Record<string, string>> = {
  hook: 'a report of its own',
  transcript: 'its stored conversation',
  composer: 'its composer',
  acp: 'its first report, or the end of its turn',
};

/** The version that the rules were recorded with. */
export const versionOf = (harness: HarnessName): string =>
  programs[harness].adapter(nowhere).ruleset.version.split('/')[1] ?? '';

export function agentProgramsText(): string {
  const rows = harnesses.flatMap((name) => {
    const { promises } = programs[name];
    return promises === undefined ? [] : [row(name, promises)];
  });
  const exempt = harnesses.flatMap((name) =>
    Object.entries(programs[name].promises?.exempt ?? {}).map(
      ([promise, why]) => `- ${titleOf(name)}, ${promise}: ${why}.`,
    ),
  );
  return `<!-- Made by scripts/agent-programs.ts from the adapters. Do not edit: npm run references -->
# Agent programs

What Gantry promises of each agent program that it drives, and the version that it was played with, against a local model server and without an account. [Harnesses](factory.md#harnesses) says how each is started and what its state is judged by.

| program | version played | a message gets in | it is verified by, the first that saw it | its questions | are learned from | and answered in | tokens from | continues with |
|---|---|---|---|---|---|---|---|---|
${rows.join('\n')}

Every adapter keeps these promises. A conformance kit plays each of them with a stand-in of the program in \`npm test\`, and with the program itself in
\`npm run test:harnesses\`; hosted bots are played too, and agents over ACP play [their scenes](acp.md#played). \`npm run faults -- factory.harness-kit\` counts the rows that fail.

| row | what is promised |
|---|---|
| states | a turn is working, then idle |
| witness | a message is verified by the first witness above, and was taken |
| ten while busy | ten messages to a busy bot arrive after its turn, in order, each once |
| dialog holds | a question of the program holds messages until it is answered; after a yes the command runs, once |
| interrupt | an interrupt ends the turn, the end is seen, and the next message arrives |
| resume | after \`kill -9\` the program continues its conversation |
| usage | the tokens of an answer are counted |
| unicode | thirty kinds of characters arrive as they were sent |
| 20 kB | a message of 20 kB arrives whole |
| multi-line | the lines of a message stay lines |
| command signs | a message that begins with \`!\`, \`/\`, \`#\` or \`@\` is text |
| draft | what a person has half typed is neither sent nor lost |

${exempt.length === 0 ? 'Every row applies to every program above.' : `Rows that do not apply:\n\n${exempt.join('\n')}\n`}
A hosted bot has no composer, so nobody can leave a draft there; for it, \`kill -9\` is of Gantry.

Copilot was played with a model provider of a person's own. Its sign-in, GitHub's models and their limits were not: they need a GitHub account with Copilot.

A program of another version may behave differently; \`gantry doctor\` names an installed version that the rules do not cover. To see what its newest version breaks:

<!-- not run: it installs every program from npm -->
\`\`\`
npm run test:newest               # all of them, or: npm run test:newest -- codex
\`\`\`

It installs the newest version of each into a scratch folder, plays the rows, and says which of them fail. It changes nothing.
`;
}

/** An agent over ACP is any that speaks the protocol. */
const versionWords = (name: HarnessName): string =>
  programs[name].command === null ? `[these agents](acp.md#played)` : versionOf(name);

function row(name: HarnessName, { via, witness, asks, usage, resume }: Promises): string {
  const cells = [
    titleOf(name),
    versionWords(name),
    vias[via],
    witness.map((one) => witnesses[one] ?? one).join(', '),
    asks.about,
    learns[asks.by],
    answers[asks.answered],
    usage === null ? 'nowhere' : `its ${usage}`,
    `\`${resume}\``,
  ];
  return `| ${cells.join(' | ')} |`;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  writeFileSync(agentProgramsFile, agentProgramsText());
}
