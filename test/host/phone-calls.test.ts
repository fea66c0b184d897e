/** A call through the whole of Gantry with its demo phone: refused, agreed to, made, handed over; each event signed and posted. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startCombined } from '../../src/host/combined.ts';
import { placesIn } from '../../src/host/places.ts';
import { readSettings } from '../../src/host/settings.ts';
import { caller, onEnd } from '../kit/http/support.ts';
import { scratchHome } from './support.ts';

const demo = '/api/v1/phone/demo';
const ada = '+12025550101';
const ben = '+12025550102';
const ours = '+19705550150';
const eventually = <T>(read: () => T) => expect.poll(read, { interval: 100 });

async function start() {
  const home = scratchHome();
  const env = { ...process.env, GANTRY_HOME: home, GANTRY_PORT: '0', GANTRY_ENGINE_PORT: '0' };
  const settings = readSettings(env);
  const combined = await startCombined({ env, settings, gantry: 'npx gantry', answers: 'throw', demoPhone: true });
  onEnd(() => combined.close({ stopBots: true }));
  const call = caller(Number(new URL(combined.origin).port), readFileSync(placesIn(home).token, 'utf8').trim());
  // biome-ignore lint/suspicious/noExplicitAny: answers of many routes, read by a test that says what it expects.
  const ask = async (method: string, path: string, body?: unknown): Promise<{ status: number; json: any }> => {
    const { status, json } = await call(method, path, body === undefined ? {} : { body });
    return { status, json };
  };
  return ask;
}

test('nobody is called unasked; who agreed is, hears who calls, and is handed over to who takes it', async () => {
  const ask = await start();
  await ask('POST', `${demo}/speed`, { speed: 'instant' });
  const { computer } = (await ask('GET', '/api/v1/session')).json;
  const to = { e164: ours, runtimeId: computer.id, botId: 'root', botName: 'Robin' };
  const { number } = (await ask('POST', '/api/v1/phone/numbers', to)).json;
  const numberPath = `/api/v1/phone/numbers/${number.id}`;
  await eventually(async () => (await ask('GET', '/api/v1/phone/numbers')).json.numbers[0].voiceState).toBe('active');

  const asked = { numberId: number.id, to: ada, botId: 'root', purpose: 'the bread' };
  expect(await ask('POST', '/api/v1/phone/calls/outbound', asked)).toMatchObject({
    status: 403,
    json: { error: 'no_consent' },
  });
  await ask('POST', `${numberPath}/consent`, { e164: ada, source: 'desk', evidence: 'asked in the shop' });
  const { consentRef } = (await ask('POST', '/api/v1/phone/calls/outbound', asked)).json;
  const made = await ask('POST', '/api/v1/voice/calls', { consentRef });
  expect(made.status).toBe(201);

  const handset = async (e164: string) => {
    const { handsets } = (await ask('GET', demo)).json;
    return handsets.find((one: { e164: string }) => one.e164 === e164).calls.at(-1);
  };
  const does = async (e164: string, action: string, digits?: string) => {
    const { id } = await handset(e164);
    const body = digits === undefined ? { action } : { action, digits };
    expect((await ask('POST', `${demo}/handsets/${e164}/calls/${id}`, body)).status).toBe(200);
  };
  const last = async () => (await ask('GET', `${numberPath}/calls`)).json.calls[0];
  await does(ada, 'answer');
  await eventually(async () => (await handset(ada)).heard[0]).toMatch(/Robin, an automated assistant.*the bread/);

  await ask('PUT', '/api/v1/voice/bot-config/root', { transferTargets: [{ e164: ben, label: 'Ben' }] });
  const control = `/api/v1/voice/calls/${made.json.callId}/control`;
  expect((await ask('POST', control, { action: 'transfer', to: ben, mode: 'warm' })).status).toBe(202);
  await eventually(async () => (await handset(ben))?.state).toBe('ringing');
  expect((await handset(ada)).state).toBe('held');
  await does(ben, 'answer');
  await eventually(async () => (await handset(ben)).heard[0]).toMatch(/Press 1/);
  await does(ben, 'press', '1');
  await eventually(last).toMatchObject({ status: 'active', transfer: { state: 'accepted' } });
  await does(ada, 'hangup');
  await eventually(last).toMatchObject({ status: 'ended', basis: 'explicit', missed: false });
  expect((await handset(ben)).state).toBe('ended');

  // STOP is the end of it, whatever was agreed.
  expect((await ask('POST', `${demo}/handsets/${ada}/text`, { to: ours, text: 'Stop.' })).status).toBe(200);
  await eventually(async () => (await ask('POST', '/api/v1/phone/calls/outbound', asked)).json.error).toBe(
    'no_consent',
  );
});
