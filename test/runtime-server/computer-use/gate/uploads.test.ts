/** Which files a page may be handed: those that `file.read` reads, by where they lie, whatever a rule says of the page's host. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { keepUntilEnd } from '../../../support/at-end.ts';
import { askedOf, key, resultOf, startRig } from './rig.ts';

const stop = keepUntilEnd();
afterAll(stop);

const hostRule = 'rules:\n  - when: {tool: browser, host: site.test}\n    then: allow\n';

async function start(policy?: string) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gantry-uploads-')));
  const elsewhere = realpathSync(mkdtempSync(join(tmpdir(), 'gantry-elsewhere-')));
  for (const path of ['home', 'papers', '.git']) mkdirSync(join(folder, path));
  const write = (path: string) => writeFileSync(join(folder, path), path);
  for (const path of ['home/master.key', 'home/token', 'papers/plan.txt', 'papers/other.txt', '.git/config'])
    write(path);
  writeFileSync(join(elsewhere, 'private.txt'), 'private');
  const rig = await startRig({ folder, ...(policy !== undefined && { policy }) });
  const upload = (paths: readonly string[], grant?: string) =>
    rig.call(
      {
        toolset: 'browser',
        member: 'file_upload',
        input: { target: { type: 'ref', ref: 'ref_1' }, paths },
        enable: ['file_upload'],
        ...(grant !== undefined && { approval_grant: grant }),
      },
      key,
    );
  const handed = () =>
    rig.acts().flatMap((line) => (line.do === 'act' ? [(line.input as { paths: string[] }).paths] : []));
  const end = () => rmSync(elsewhere, { recursive: true, force: true });
  return { rig, folder, elsewhere, upload, handed, in: (path: string) => join(folder, path), end };
}

test('a question names the file that a link leads to, and a yes is good for that file alone', async () => {
  const { rig, upload, handed, in: at, end } = await start();
  symlinkSync('papers/plan.txt', at('holiday.jpg'));
  const asked = askedOf(await upload(['holiday.jpg']));
  expect(asked.words).toContain(JSON.stringify([at('papers/plan.txt')]));
  expect(asked.words).not.toContain('holiday.jpg');
  await rig.questions.answer(asked.id, { state: 'approved', by: 'ada' });
  unlinkSync(at('holiday.jpg'));
  symlinkSync('papers/other.txt', at('holiday.jpg'));
  const anew = askedOf(await upload(['holiday.jpg'], asked.id));
  expect(anew.id).not.toBe(asked.id);
  expect(anew.words).toContain(JSON.stringify([at('papers/other.txt')]));
  expect(handed()).toEqual([]);
  await rig.questions.answer(anew.id, { state: 'approved', by: 'ada' });
  expect(resultOf(await upload(['holiday.jpg'], anew.id)).is_error).toBe(false);
  expect(handed()).toEqual([[at('papers/other.txt')]]);
  end();
});

test('a rule that opens a host hands over files of the workspace, and never those of Gantry or of elsewhere', async () => {
  const { rig, upload, handed, folder, elsewhere, in: at, end } = await start(hostRule);
  symlinkSync('home/master.key', at('key.txt'));
  symlinkSync('home', at('pictures'));
  symlinkSync(join(elsewhere, 'private.txt'), at('notes.txt'));
  execFileSync('mkfifo', [at('pipe')]);
  expect(resultOf(await upload([at('papers/plan.txt'), 'papers/other.txt'])).is_error).toBe(false);
  const whole = [at('papers/plan.txt'), at('papers/other.txt')];
  expect(handed()).toEqual([whole]);
  for (const [path, code] of [
    [at('home/master.key'), 'file_refused'],
    [at('home/token'), 'file_refused'],
    ['home/../home/token', 'file_refused'],
    ['key.txt', 'file_refused'],
    ['pictures/token', 'file_refused'],
    ['notes.txt', 'file_refused'],
    [join(elsewhere, 'private.txt'), 'file_refused'],
    ['../../../../../../etc/passwd', 'file_refused'],
    ['/dev/zero', 'file_refused'],
    ['pipe', 'file_not_found'],
    [folder, 'file_not_found'],
    ['papers', 'file_not_found'],
    ['none.txt', 'file_not_found'],
  ] as const) {
    // Beside one that may go: the whole call is refused.
    const result = resultOf(await upload(['papers/plan.txt', path]));
    expect([path, result.is_error, result.error?.code]).toEqual([path, true, code]);
  }
  expect(handed()).toEqual([whole]);
  const refused = (await rig.audit()).filter((row) => row.code === 'file_refused');
  expect(refused.map((row) => [row.stage, row.outcome])).toEqual(Array(9).fill(['policy', 'denied']));
  end();
});

test('the policy hears of each file by its path, and the strictest word counts', async () => {
  const deny = '  - when: {path: "papers/other.*"}\n    then: deny\n';
  const { upload, handed, end } = await start(hostRule.replace('rules:\n', `rules:\n${deny}`));
  expect((await upload(['papers/plan.txt', 'papers/other.txt'])).kind).toBe('denied');
  expect((await upload(['papers/plan.txt', '.git/config'])).kind).toBe('approval_required');
  expect(handed()).toEqual([]);
  expect((await upload(['papers/plan.txt'])).kind).toBe('done');
  end();
});
