/** What mends something is a command that can be copied, or a sentence. */
import { expect, test } from 'vitest';
import { isCommand } from '../../../src/contracts/factory/fix.ts';
import { programs } from '../../../src/runtime-server/harness/programs.ts';

test.each(Object.values(programs).flatMap(({ install, signIn }) => [install ?? [], signIn?.command ?? []].flat()))(
  '%s is a command and nothing else, or a sentence that is not copied',
  (fix) => {
    expect(fix).toMatch(
      isCommand(fix) ? /^(npm|claude|codex|copilot|gemini|opencode|qwen)( [\w@/.-]+)*$/ : /^[A-Z]\w+ \w+/,
    );
  },
);

test.each([
  'Install git with your package manager.',
  'Free some space',
  'Pair this computer again: gantry pair <address>',
])('%s is a step to take', (fix) => expect(isCommand(fix)).toBe(false));
