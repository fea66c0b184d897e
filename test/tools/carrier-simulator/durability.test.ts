/** What the simulated carrier has answered survives it: a kill at any moment, a file that is damaged, a state carried elsewhere. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { programCommand } from '../../../src/kit/process/programs.ts';
import type { SimulatorSaid } from '../../../tools/carrier-simulator/protocol.ts';
import { createSimulator } from '../../../tools/carrier-simulator/simulator.ts';
import { boughtNumber, startEar, startSimulator } from '../../support/phone/simulator.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { startVictim } from '../../support/victim.ts';

const apiKey = 'KEYtest';

async function startProgram(file: string, webhookUrl: string) {
  const victim = startVictim({ command: programCommand('carrier-simulator') });
  victim.child.stdin?.write(`${JSON.stringify({ file, port: 0, apiKey, webhookUrl })}\n`);
  const said = JSON.parse(await victim.until(() => true)) as SimulatorSaid;
  const ask = async (method: string, at: string, body?: object) => {
    const response = await fetch(`${at.startsWith('/sim') ? said.origin : said.url}${at}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await response.json()) as { data: { id: string; status: string }[] & { id: string } };
  };
  return { victim, said, ask };
}

test('every order that was answered is there after kill -9, is completed then, and is told with the same key', async () => {
  await using ear = await startEar();
  const file = join(scratchFolder(), 'demo-phone.json');
  const keys = new Set<string>();
  const made: string[] = [];
  for (let round = 0; round < 4; round += 1) {
    const { victim, said, ask } = await startProgram(file, ear.url);
    keys.add(said.publicKey);
    const known = await ask('GET', '/number_orders');
    expect(known.data.map(({ id }) => id)).toEqual(expect.arrayContaining(made));
    const asking = (async () => {
      for (let one = 0; one < 40; one += 1) {
        const e164 = `+1${970 + round}5550${150 + one}`;
        const { data } = await ask('POST', '/number_orders', { phone_numbers: [{ phone_number: e164 }] });
        made.push(data.id);
      }
    })().catch(() => {});
    // In the middle of it, at a moment of nobody's choosing.
    await new Promise((resolve) => setTimeout(resolve, 20 + round * 15));
    await victim.kill('SIGKILL');
    await asking;
  }
  expect(keys.size).toBe(1);
  expect(made.length).toBeGreaterThan(0);
  const { victim, ask } = await startProgram(file, ear.url);
  await ask('POST', '/sim/speed', { speed: 'instant' });
  await expect
    .poll(async () =>
      (await ask('GET', '/number_orders?page[size]=250')).data.every(({ status }) => status === 'success'),
    )
    .toBe(true);
  await expect
    .poll(() => new Set(ear.of('number_order.complete').map(({ id }) => id)).size)
    .toBe((await ask('GET', '/number_orders?page[size]=250')).data.length);
  victim.child.stdin?.end();
  expect(await victim.ended).toEqual({ code: 0, signal: null });
});

test('a damaged file is named, and left as it is', async () => {
  const file = join(scratchFolder(), 'demo-phone.json');
  writeFileSync(file, '{"v":1,');
  await expect(createSimulator({ file })).rejects.toThrow(file);
  expect(readFileSync(file, 'utf8')).toBe('{"v":1,');
});

test('a state that was exported is there after its import, and the signing key stays where it is', async () => {
  await using ear = await startEar();
  await using first = await startSimulator();
  const { e164 } = await boughtNumber(first, ear.url);
  const exported = await first.ask('GET', '/sim/state');
  expect(JSON.stringify(exported.body)).not.toContain('PRIVATE KEY');
  await using second = await startSimulator();
  const key = second.sim.publicKey;
  for (const bad of [{ v: 2 }, { v: 1, texts: {} }, { v: 1, numbers: null }])
    expect((await second.ask('PUT', '/sim/state', bad)).status).toBe(400);
  await second.ask('PUT', '/sim/state', exported.body);
  second.sim.text({ from: '+12025550101', to: e164, text: 'hello' });
  await second.sim.settled();
  expect(ear.of('message.received')).toHaveLength(1);
  expect(second.sim.publicKey).toBe(key);
});

test('what was to be told an address of Gantry is told its next one, when it starts at another', async () => {
  await using before = await startEar();
  await using now = await startEar();
  const file = join(scratchFolder(), 'demo-phone.json');
  const first = await startSimulator({ file, webhookUrl: `${before.url}/account` });
  const { e164 } = await boughtNumber(first, `${before.url}/relay`);
  await first.sim.close();
  await using second = await startSimulator({ file, webhookUrl: `${now.url}/account` });
  second.sim.text({ from: '+12025550101', to: e164, text: 'hello' });
  await second.sim.settled();
  expect(now.heard.map(({ path }) => path)).toEqual(['/relay']);
  expect(before.of('message.received')).toEqual([]);
});
