/** A command that says anew what may run gains nothing where Gantry is killed before the command's end. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { placesIn } from '../../src/host/places.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { createShellSandbox } from '../../src/runtime-server/tool-server/shell-sandbox.ts';
import { processes } from '../support/bench/processes.ts';
import { scratchHome, startProduct } from '../support/bench/product.ts';

const sandbox = { env: process.env, hidden: [], wanted: true, clock: systemClock, freshName: () => 'n' };
const missing = await createShellSandbox(sandbox).missing();

async function until(done: () => boolean): Promise<void> {
  while (!done()) await delay(20);
}

test.skipIf(missing !== null)(
  'what a command was about to say may run is set aside at the next start when Gantry was killed in its midst',
  async () => {
    const place = scratchHome();
    onTestFinished(() => place.remove());
    const at = (path: string) => join(place.workspace, path);
    const put = (path: string, text: string) => {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), text);
    };
    put('.gantry/policy.yaml', 'rules:\n  - { when: { tool: shell }, then: allow }\n');
    put('packages/web/.npmrc', 'mine');
    put('packages/web/index.js', 'code');
    const first = await startProduct(place);
    await first.engine.call('POST', '/api/v1/tools/shell.exec/call', { arguments: { command: 'true' } });
    // A command that has ended leaves no note.
    expect(readdirSync(placesIn(place.home).commandNotes)).toEqual([]);
    const mark = 'sleep 86399';
    const line = `mkdir -p .husky a; echo evil > .husky/pre-commit; echo evil > a/.npmrc; mv packages gone; mkdir -p packages/web; echo evil > packages/web/.npmrc; echo > begun; ${mark}`;
    const call = first.engine
      .call('POST', '/api/v1/tools/shell.exec/call', { arguments: { command: line, shell: true } })
      .catch(() => null);
    await until(() => existsSync(at('begun')));
    await first.kill();
    await call;
    expect(existsSync(at('.husky/pre-commit'))).toBe(true);
    await until(() => !processes().some(({ command }) => command.endsWith(mark)));

    const second = await startProduct(place, { unasked: true });
    onTestFinished(() => second.stop());
    expect([at('.husky'), at('a/.npmrc')].filter(existsSync)).toEqual([]);
    expect(readFileSync(at('packages/web/.npmrc'), 'utf8')).toBe('mine');
    expect(readFileSync(at('packages/web/index.js'), 'utf8')).toBe('code');
    // What it wrote is there, under names that nothing reads.
    expect(readdirSync(place.workspace).filter((name) => /^(?:\.husky|packages)\.set-aside-/.test(name))).toHaveLength(
      2,
    );
    const { checks } = await second.engine.call<{ checks: { name: string; detail: string }[] }>(
      'GET',
      '/api/factory/doctor',
    );
    const detail = checks.find(({ name }) => name === 'Commands cut short')?.detail ?? '';
    for (const path of ['.husky', 'a/.npmrc', 'packages/web/.npmrc']) expect(detail).toContain(path);
    // It is looked after once.
    expect(readdirSync(placesIn(place.home).commandNotes)).toEqual([]);
  },
);
