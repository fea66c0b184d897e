// node tools/watch.js <script> <folder>…: runs the npm script now and whenever a file of the folders changes.
import { spawn } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [script, ...folders] = process.argv.slice(2);
const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
const command = scripts[script];
if (command === undefined) {
  console.error(`package.json has no script "${script}"`);
  process.exit(64);
}

/** Changes when a file was written, added or removed. */
async function look() {
  const marks = [];
  for (const folder of folders) {
    const names = await readdir(join(root, folder)).catch(() => []);
    for (const name of names.sort()) {
      const facts = await stat(join(root, folder, name)).catch(() => null);
      marks.push(`${folder}/${name} ${facts?.size} ${facts?.mtimeMs}`);
    }
  }
  return marks.join('\n');
}

/** Runs the script; shows all of a failure, but only one line of a success. */
function run() {
  return new Promise((resolve) => {
    const child = spawn(command, { cwd: root, shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.on('close', (code) => {
      const time = new Date().toTimeString().slice(0, 8);
      const passed = /^# pass (\d+)$/m.exec(output)?.[1] ?? /pass (\d+)/.exec(output)?.[1];
      const line = passed === undefined ? output.trim().split('\n').at(-1) : `${passed} tests passed`;
      // This runs behind a prompt: a line of its own never looks like something typed there.
      console.log(code === 0 ? `\n${time} ${script}: ${line}` : `\n${time} ${script} FAILED\n${output.trim()}`);
      resolve();
    });
  });
}

let seen;
for (;;) {
  const now = await look();
  if (now !== seen) {
    seen = now;
    await run();
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
}
