/** The examples in the doc comments of ports and of declarations: each compiles, as a file beside the one that shows it. */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../support/scratch.ts';
import { root } from './blocks.ts';

/** A doc comment of its own lines, and the name of what it describes. */
const described = /^\/\*\*\n((?: \*.*\n)*?) \*\/\nexport (?:interface|function) (\w+)/gm;
const shown = /^ \* @example\n \* ```ts\n([\s\S]*?)^ \* ```$/m;

const examples = globSync('src/**/*.ts', { cwd: root }).flatMap((file) => {
  const text = readFileSync(join(root, file), 'utf8');
  if (!text.includes('@example')) return [];
  return [...text.matchAll(described)].flatMap(([, comment = '', of = '']) => {
    const lines = shown.exec(comment)?.[1];
    return lines === undefined ? [] : [{ of, file, code: lines.replace(/^ \* ?/gm, '') }];
  });
});

test('every port that others implement, and every declaration that they make, shows an example', () => {
  const wanted = ['Adapter', 'Carrier', 'HostedDriver', 'ModelPort', 'Placement', 'defineRoute', 'defineTool'];
  expect(examples.map(({ of }) => of)).toEqual(expect.arrayContaining(wanted));
});

test('every example compiles', { timeout: 120_000 }, () => {
  const folder = scratchFolder();
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const { of, file, code } of examples) {
    const beside = code.replace(/(?<=from ')\.[^']+/g, (path) => join(root, dirname(file), path));
    writeFileSync(join(folder, `${of}.ts`), beside);
  }
  const compilerOptions = { lib: ['ES2024', 'ESNext.Disposable'], types: ['node'] };
  const config = { extends: join(root, 'tsconfig.base.json'), compilerOptions, include: ['*.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout, status } = spawnSync(process.execPath, [tsc, '--checkers', '1', '-p', folder], { encoding: 'utf8' });
  expect(stdout).toBe('');
  expect(status).toBe(0);
});
