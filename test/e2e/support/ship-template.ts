/** A template that shows everything a board can: commands, a bot with a picture and a diff as proof, a loop, a gate. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const shipTemplate = {
  name: 'Ship it',
  description: 'Builds a version, has it looked at, and publishes it.',
  params: [
    { name: 'version', description: 'What is shipped', required: true },
    { name: 'channel', description: 'Where it goes', default: 'beta' },
  ],
  steps: [
    { id: 'style', title: 'Check the style', command: 'echo style is fine' },
    { id: 'tests', title: 'Run the tests', command: 'cd wordcount && node --test 2>&1' },
    {
      id: 'build',
      title: 'Build {{ params.version }}',
      blocked_by: ['style'],
      command: 'until [ -e go ]; do sleep 0.1; done; echo built {{ params.version }}',
    },
    {
      id: 'review',
      title: 'Look at the page',
      description:
        'See whether the report still reads well in {{ params.channel }}.\n\n- numbers line up\n- no word is cut',
      executor: 'bot:scribe@demo',
      blocked_by: ['build'],
      proof: [{ line: 'How it looks' }, { line: 'What changed' }],
    },
    {
      id: 'publish',
      title: 'Publish',
      blocked_by: ['review', 'tests'],
      wait_gate: { kind: 'manual', description: 'Publish to the registry?' },
      command: 'echo published {{ params.version }} to {{ params.channel }}',
      on_fail: 'build',
    },
    { id: 'tell', title: 'Tell the others', blocked_by: ['publish'], command: 'echo told' },
  ],
};

const diff = `diff --git a/src/top.js b/src/top.js
--- a/src/top.js
+++ b/src/top.js
@@ -1,4 +1,4 @@
 export function top(counts, size) {
-  return counts.slice(0, size);
+  return counts.toSorted((a, b) => b.count - a.count).slice(0, size);
 }
`;

/** Writes the template, and the two files that prove its review. */
export function writeShipTemplate(workspace: string, picture: Buffer): { picture: string; diff: string } {
  mkdirSync(join(workspace, '.gantry', 'templates'), { recursive: true });
  writeFileSync(join(workspace, '.gantry', 'templates', 'ship.json'), JSON.stringify(shipTemplate, null, 2));
  const files = { picture: join(workspace, 'report.png'), diff: join(workspace, 'top.diff') };
  writeFileSync(files.picture, picture);
  writeFileSync(files.diff, diff);
  return files;
}
