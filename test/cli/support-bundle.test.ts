/** `gantry support bundle`: everything private is planted wherever Gantry keeps anything, and none of it is in the file. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Combined, startCombined } from '../../src/host/combined.ts';
import { placesIn } from '../../src/host/places.ts';
import { readSettings } from '../../src/host/settings.ts';
import { anonymous } from '../../src/host/support-anonymous.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { createLog } from '../../src/kit/log/log.ts';
import { readTokenFile } from '../../src/kit/secrets/token-file.ts';
import { scratchHome } from '../host/support.ts';
import { run } from './support.ts';

const canaries = {
  prompt: 'Sail the purple canoe to the lighthouse',
  vault: 'hunter2-of-the-vault',
  vaultLine: 'second-line-of-a-key',
  key: 'sk-canary0123456789abcdefghijkl',
  variable: 'plainvalueofavariable',
  phone: '+19705550177',
  spacedPhone: '(970) 555-0188',
  mail: 'ada.canary@lovelace.example',
};

async function call(gantry: Combined, home: string, method: string, path: string, body: object): Promise<number> {
  const headers = {
    authorization: `Bearer ${readTokenFile(placesIn(home).token)}`,
    'content-type': 'application/json',
  };
  return (await fetch(`${gantry.origin}${path}`, { method, headers, body: JSON.stringify(body) })).status;
}

test('the bundle has versions, checks, counts and logs, and nothing of what is private; it is made while Gantry runs and after', async () => {
  const home = scratchHome();
  const places = placesIn(home);
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    GANTRY_HOME: home,
    GANTRY_PORT: '0',
    GANTRY_ENGINE_PORT: '0',
    OF_A_MODEL_API_KEY: canaries.variable,
  };
  const folder = join(home, 'out');
  mkdirSync(folder);
  const file = (name: string) => join(folder, name);
  const gantry = await startCombined({ env, settings: readSettings(env), gantry: 'npx gantry', answers: 'throw' });
  try {
    expect(
      await call(gantry, home, 'PUT', '/api/factory/vault/CANARY', {
        value: `${canaries.vault}\n${canaries.vaultLine}\n`,
      }),
    ).toBe(200);
    const task = { payload: { command: Object.values(canaries).join(' ') } };
    expect(await call(gantry, home, 'POST', '/beta/work', task)).toBe(201);
    const send = { to: 'nobody@nowhere', text: canaries.prompt };
    await call(gantry, home, 'POST', '/api/factory/send', send);
    const thread = { title: canaries.prompt };
    await call(gantry, home, 'POST', '/api/factory/threads', thread);
    // Logs quote what Gantry was given, as its errors do; a secret may stand anywhere.
    const log = createLog({ folder: places.logs, name: 'canary', clock: systemClock });
    const { prompt, ...bare } = canaries;
    log.warn(`The text ${JSON.stringify(prompt)} was refused.`, { fault: new Error(`no bot 'x' takes “${prompt}”`) });
    for (const canary of [...Object.values(bare), readTokenFile(places.token), readTokenFile(places.masterKey)]) {
      log.error(`Something about ${canary} failed (${canary})`, { fact: `x=${canary};` });
    }
    log.error('A plain line of dag_01J8Z3KQ4V6W7X8Y9ZABCDEFGH stays.', { seconds: 12 });
    log.close();
    const spool = join(places.run, 'bots', 'agent_canary', 'spool');
    mkdirSync(spool, { recursive: true });
    writeFileSync(join(spool, '000000000001-rep_1.json'), JSON.stringify(canaries));
    const ran = await run(env, ['support', 'bundle', '--out', file('live.txt')]);
    expect([ran.code, ran.err, ran.out]).toEqual([
      0,
      '',
      expect.stringMatching(/^Wrote .*live\.txt .*sent it nowhere/),
    ]);
  } finally {
    await gantry.close({ stopBots: true });
  }
  expect((await run(env, ['support', 'bundle', '--out', file('stopped.txt')])).code).toBe(0);
  expect((await run(env, ['support', 'bundle', '--out', file('stopped.txt')])).code).toBe(1);
  expect(readdirSync(folder).sort()).toEqual(['live.txt', 'stopped.txt']);
  const secrets = [...Object.values(canaries), readTokenFile(places.token), readTokenFile(places.masterKey), home];
  for (const name of ['live.txt', 'stopped.txt']) {
    const text = readFileSync(file(name), 'utf8');
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
    expect(statSync(file(name)).mode & 0o777).toBe(0o600);
    expect(text).toMatch(/^gantry \d/m);
    expect(text).toMatch(/^ok \| program \| Node\.js \| v\d/m);
    expect(text).toMatch(/^port: 0 \(environment\)$/m);
    expect(text).toMatch(/^work_task: 1; status: queued 1$/m);
    expect(text).toMatch(/^engine_secret: 1$/m);
    expect(text).toMatch(/^bot #[0-9a-f]{8}: 1 files, \d+ bytes$/m);
    expect(text).toMatch(/error A plain line of dag_#[0-9a-f]{8} stays\. seconds=12$/m);
    expect(text).toMatch(/The text "…" was refused\./);
    expect(text).toMatch(/^schema: .*work-queue \d/m);
  }
  const printed = await run(env, ['support', 'bundle', '--out', '-', '--json']);
  expect(String(printed.json().text)).toContain('== Log canary.log ==');
});

test('a data folder that is damaged or was never used still gives a bundle, and says which part could not be read', async () => {
  const home = scratchHome();
  const env = { PATH: process.env.PATH ?? '', HOME: home, GANTRY_HOME: home };
  expect((await run(env, ['support', 'bundle', '--out', '-'])).out).toContain('== Spools ==\nnone\n');
  writeFileSync(join(home, 'runtime.db'), 'no database '.repeat(1000));
  writeFileSync(join(home, 'settings.json'), '{"port": "x"}');
  const { code, out } = await run(env, ['support', 'bundle', '--out', '-']);
  expect(code).toBe(0);
  expect(out).toMatch(/== States in runtime\.db ==\ncould not be read: /);
  expect(out).toMatch(/== Settings ==\ncould not be read: /);
});

test('quoted texts, addresses, numbers, ids and secrets go; times, counts and the words around them stay', () => {
  const clean = (text: string) => anonymous(text, { secrets: ['s3cr3t-value'], home: '/home/ada' });
  expect(clean('2026-01-02T03:04:05.000Z error Bot "coder" isn\'t there: 1234567 bytes')).toBe(
    '2026-01-02T03:04:05.000Z error Bot "…" isn\'t there: 1234567 bytes',
  );
  expect(clean('/home/ada/shop s3cr3t-values ada@x.example +44 20 7946 0958, 970-555-0199, 19705550150')).toBe(
    '~/shop [secret]s [e-mail] [number], [number], [number]',
  );
  expect(clean('cannot reach postgres://ada:pass-of-ada@db:5432/gantry')).toBe(
    'cannot reach postgres://[secret]@db:5432/gantry',
  );
  expect(clean('task_01J8Z3KQ4V6W7X8Y9ZABCDEFGH coder@shop 127.0.0.1:3010')).toMatch(
    /^task_#[0-9a-f]{8} coder@shop 127\.0\.0\.1:3010$/,
  );
});
