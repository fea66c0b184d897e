/** A template of the workspace can be removed and brought back, byte for byte, and is trusted as it was before. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Engine, startEngine } from '../engine.ts';

const path = '.gantry/templates/nightly.json';
/** With spaces and an end as no program of ours would write them. */
const text = '{ "name":"Nightly",\r\n\t"steps": [{"id":"a","title":"A","command":"true"}] }\n\n';

const listed = async (engine: Engine) =>
  (await engine.call<{ templates: { id: string; shipped: boolean }[] }>('GET', '/templates')).body.templates;

test('a removed template is gone from list and folder, and comes back byte for byte without a new question of trust', async () => {
  const engine = await startEngine();
  engine.write(path, text);
  await engine.agree();
  expect(await listed(engine)).toContainEqual(expect.objectContaining({ id: 'nightly', shipped: false }));
  const schedule = { cron: '0 3 * * *', title: 'Each night', timezone: 'UTC' };
  await engine.call('POST', '/campaigns', { title: 'Quick', intent: 'x' });
  const campaigns = await engine.call<{ campaigns: { id: string }[] }>('GET', '/campaigns');
  const campaignId = campaigns.body.campaigns[0]?.id;
  expect(
    await engine.call('POST', '/schedules', { ...schedule, run: { template: 'nightly', campaignId } }),
  ).toMatchObject({ status: 201 });

  const plan = { id: 'nightly', files: [path], shipped: false, schedules: ['Each night'] };
  expect(await engine.call('DELETE', '/templates/nightly?dryRun=true')).toMatchObject({ status: 200, body: { plan } });
  expect(readFileSync(join(engine.workspace, path), 'utf8')).toBe(text);

  expect(await engine.call('DELETE', '/templates/nightly')).toMatchObject({ status: 200, body: { removed: plan } });
  expect(existsSync(join(engine.workspace, path))).toBe(false);
  expect(await engine.call('GET', '/templates/nightly')).toMatchObject({ status: 404 });
  expect((await engine.call('GET', '/workspace/trust')).body).toMatchObject({ hash: null });

  await engine.restart();
  const back = (dryRun: boolean) => engine.call('POST', '/templates/nightly/restore', { dryRun });
  expect(await back(true)).toMatchObject({ status: 200, body: { files: [path], applied: false } });
  expect(existsSync(join(engine.workspace, path))).toBe(false);
  expect(await back(false)).toMatchObject({ status: 200, body: { applied: true } });
  expect(readFileSync(join(engine.workspace, path))).toEqual(Buffer.from(text));
  expect(await engine.call('GET', '/templates/nightly')).toMatchObject({ status: 200, body: { name: 'Nightly' } });
  // Once: it was given back.
  expect(await back(false)).toMatchObject({ status: 404 });
});

test('what waited for a yes when it was removed still waits after it came back', async () => {
  const engine = await startEngine();
  engine.write(path, text);
  await engine.agree();
  const changed = text.replace('true', 'rm -rf build');
  writeFileSync(join(engine.workspace, path), changed);
  expect(await engine.call('DELETE', '/templates/nightly')).toMatchObject({ status: 200 });
  expect(await engine.call('POST', '/templates/nightly/restore', {})).toMatchObject({ status: 200 });
  expect(readFileSync(join(engine.workspace, path), 'utf8')).toBe(changed);
  expect(await engine.call('GET', '/templates/nightly')).toMatchObject({
    status: 409,
    body: { error: { code: 'needs_person' } },
  });
});

test('shipped and unknown templates, links and one that is there again are refused with what to do', async () => {
  const engine = await startEngine();
  const remove = (id: string) => engine.call('DELETE', `/templates/${id}`);
  const shipped = (await listed(engine)).find((one) => one.shipped)?.id ?? '';
  expect(await remove(shipped)).toMatchObject({
    status: 409,
    body: { error: { fact: `The template "${shipped}" ships with Gantry, so it cannot be removed.` } },
  });
  expect(await remove('nobody')).toMatchObject({ status: 404 });
  mkdirSync(join(engine.workspace, '.gantry/templates'), { recursive: true });
  writeFileSync(join(engine.workspace, 'other.json'), text);
  symlinkSync(join(engine.workspace, 'other.json'), join(engine.workspace, '.gantry/templates/linked.json'));
  expect(await remove('linked')).toMatchObject({ status: 409, body: { error: { action: 'Remove it by hand.' } } });
  expect(readFileSync(join(engine.workspace, 'other.json'), 'utf8')).toBe(text);

  // One that hides a shipped template: that one is used again.
  engine.write(`.gantry/templates/${shipped}.json`, text);
  await engine.agree();
  expect(await remove(shipped)).toMatchObject({ status: 200, body: { removed: { shipped: true } } });
  expect(await listed(engine)).toContainEqual(expect.objectContaining({ id: shipped, shipped: true }));
  engine.write(`.gantry/templates/${shipped}.json`, text);
  expect(await engine.call('POST', `/templates/${shipped}/restore`, {})).toMatchObject({
    status: 409,
    body: { error: { fact: `The workspace has a template "${shipped}" again.` } },
  });
});
