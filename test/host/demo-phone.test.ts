/** The demo phone as `gantry start --demo-phone` runs it: a child that comes back, ends with us, and is nobody's but the owner's. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Combined, startCombined } from '../../src/host/combined.ts';
import { type RunningDemoPhone, startDemoPhone } from '../../src/host/demo-phone.ts';
import { placesIn } from '../../src/host/places.ts';
import { readSettings } from '../../src/host/settings.ts';
import { systemTimers } from '../../src/kit/clock/timers.ts';
import { type Call, caller, onEnd } from '../kit/http/support.ts';
import { scratchHome } from './support.ts';

const demo = '/api/v1/phone/demo';
const ada = '+12025550101';
const log = { warn: () => {} };

async function start(home: string, options: { demoPhone?: boolean; env?: Record<string, string> } = {}) {
  const env = { ...process.env, GANTRY_HOME: home, GANTRY_PORT: '0', GANTRY_ENGINE_PORT: '0', ...options.env };
  const combined: Combined = await startCombined({
    env,
    settings: readSettings(env),
    gantry: 'npx gantry',
    answers: 'throw',
    demoPhone: options.demoPhone ?? false,
  });
  onEnd(() => combined.close({ stopBots: true }));
  const port = Number(new URL(combined.origin).port);
  const call: Call = caller(port, readFileSync(placesIn(home).token, 'utf8').trim());
  return { combined, call, stranger: caller(port, null) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('with the demo phone a number is bought, a handset’s text comes in, and the session says that nothing is real', async () => {
  const home = scratchHome();
  const { call, stranger } = await start(home, { demoPhone: true });
  const session = (await call('GET', '/api/v1/session')).json as never as {
    demoPhone?: boolean;
    computer: { id: string };
  };
  expect(session.demoPhone).toBe(true);
  expect((await stranger('GET', demo)).status).toBe(401);
  const search = await call('GET', '/api/v1/phone/numbers/search?areaCode=970&limit=1');
  expect(search.json).toMatchObject({ carrier: 'simulator', numbers: [{ locality: 'Fort Collins' }] });
  expect((await call('POST', `${demo}/speed`, { body: { speed: 'instant' } })).json).toMatchObject({
    speed: 'instant',
  });
  const bought = await call('POST', '/api/v1/phone/numbers', {
    body: { e164: '+19705550150', runtimeId: session.computer.id, botId: 'root' },
  });
  expect(bought.status).toBe(201);
  const text = () => call('POST', `${demo}/handsets/${ada}/text`, { body: { to: '+19705550150', text: 'hello' } });
  await expect.poll(async () => (await text()).status).toBe(200);
  const read = (await call('GET', demo)).json as never as { handsets: { e164: string; texts: unknown[] }[] };
  expect(read.handsets.find(({ e164 }) => e164 === ada)?.texts[0]).toMatchObject({ direction: 'out', text: 'hello' });

  expect((await call('POST', `${demo}/handsets/${ada}/text`, { body: { to: '+19705550199', text: 'x' } })).status).toBe(
    400,
  );
  expect(
    (await call('POST', `${demo}/handsets/+12025550199/text`, { body: { to: '+19705550150', text: 'x' } })).status,
  ).toBe(404);
  expect((await call('POST', `${demo}/handsets/${ada}/calls/nobody`, { body: { action: 'answer' } })).status).toBe(404);
  expect((await call('POST', `${demo}/ports/nobody`, { body: { answer: 'next' } })).status).toBe(404);
  const added = await call('POST', `${demo}/handsets`, { body: { name: 'Dora' } });
  expect(added).toMatchObject({ status: 201, json: { handset: { name: 'Dora', texts: [], calls: [] } } });
});

test('without it no carrier is there, no file is written, and the session says nothing of it', async () => {
  const home = scratchHome();
  const { call } = await start(home);
  expect((await call('GET', demo)).status).toBe(503);
  expect(((await call('GET', '/api/v1/session')).json as never as { demoPhone?: boolean }).demoPhone).toBeUndefined();
  expect(existsSync(placesIn(home).demoPhone)).toBe(false);
});

test('beside a real carrier the demo phone is refused by name, and its pages are not there', async () => {
  const real = {
    GANTRY_TELNYX_API_KEY: 'KEYreal',
    GANTRY_TELNYX_PUBLIC_KEY: Buffer.alloc(32, 7).toString('base64'),
    GANTRY_TELNYX_CONNECTION_ID: '1',
    GANTRY_TELNYX_URL: 'http://127.0.0.1:9/v2',
  };
  await expect(start(scratchHome(), { demoPhone: true, env: real })).rejects.toThrow('GANTRY_TELNYX');
  const { call } = await start(scratchHome(), { env: real });
  expect((await call('GET', demo)).status).toBe(404);
});

async function running(file: string): Promise<RunningDemoPhone> {
  const phone = await startDemoPhone({ file, origin: 'http://127.0.0.1:9', timers: systemTimers, log });
  onEnd(() => phone.close());
  return phone;
}

const read = async ({ settings }: RunningDemoPhone): Promise<number> => {
  const response = await fetch(`${settings.url}/phone_numbers`, {
    headers: { authorization: `Bearer ${settings.apiKey}` },
  }).catch(() => null);
  return response?.status ?? 0;
};

test('limits of the environment hold for the demo phone, too', async () => {
  const { call } = await start(scratchHome(), { demoPhone: true, env: { GANTRY_TEXTS_PER_DAY: '1' } });
  const session = (await call('GET', '/api/v1/session')).json as never as { computer: { id: string } };
  await call('POST', `${demo}/speed`, { body: { speed: 'instant' } });
  const e164 = (
    (await call('GET', '/api/v1/phone/numbers/search?country=CA&limit=1')).json as never as {
      numbers: { e164: string }[];
    }
  ).numbers[0]?.e164;
  const bought = await call('POST', '/api/v1/phone/numbers', {
    body: { e164, runtimeId: session.computer.id, botId: 'root' },
  });
  expect(bought.status).toBe(201);
  const { id } = (bought.json as never as { number: { id: string } }).number;
  const hello = () => call('POST', `${demo}/handsets/${ada}/text`, { body: { to: e164, text: 'hello' } });
  await expect.poll(async () => (await hello()).status).toBe(200);
  const send = async () =>
    (await call('POST', '/api/v1/channels/sms/send', { body: { numberId: id, to: ada, text: 'hi' } })).status;
  await expect.poll(send).toBe(200);
  expect(await send()).toBe(429);
});

test('a demo phone that was killed comes back at its address with its key, and is gone once it is closed', async () => {
  const phone = await running(placesIn(scratchHome()).demoPhone);
  const first = phone.pid() ?? 0;
  process.kill(first, 'SIGKILL');
  await expect.poll(() => phone.pid() !== null && phone.pid() !== first).toBe(true);
  const second = phone.pid() ?? 0;
  expect(await read(phone)).toBe(200);
  await phone.close();
  expect(isAlive(second)).toBe(false);
  expect(await read(phone)).toBe(0);
});

test('a damaged state is named before anything is started, and left as it is', async () => {
  const file = placesIn(scratchHome()).demoPhone;
  writeFileSync(file, 'no state');
  await expect(running(file)).rejects.toMatchObject({ fact: expect.stringContaining(file) });
  expect(readFileSync(file, 'utf8')).toBe('no state');
});
