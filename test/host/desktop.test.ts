/** The Gantry of the desktop program: its own, or the one that runs already for the same data folder. Real servers. */
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { type DesktopGantry, openDesktop, withOtherPorts } from '../../src/host/desktop.ts';
import { placesIn } from '../../src/host/places.ts';
import { startRuntimeAlone } from '../../src/host/runtime-alone.ts';
import { readSettings } from '../../src/host/settings.ts';
import { onEnd } from '../kit/http/support.ts';
import { scratchHome } from './support.ts';

const env = (home: string, port = '0') => ({
  ...process.env,
  GANTRY_HOME: home,
  GANTRY_PORT: port,
  GANTRY_ENGINE_PORT: '0',
  GANTRY_PEER_PORT: '0',
});

async function open(home: string): Promise<DesktopGantry> {
  const gantry = await openDesktop({ env: env(home), waits: { ms: 20, times: 5 } });
  onEnd(() => gantry.close());
  return gantry;
}

async function enters(gantry: DesktopGantry): Promise<boolean> {
  const answer = await fetch(await gantry.openUrl(), { redirect: 'manual' });
  return answer.status === 303 && answer.headers.getSetCookie().some((line) => /httponly/i.test(line));
}

test('the first program runs the servers; the next attaches, is let in as well, and ends nothing', async () => {
  const home = scratchHome();
  const own = await open(home);
  expect(own.kind).toBe('own');
  expect(await enters(own)).toBe(true);
  const attached = await open(home);
  expect([attached.kind, attached.origin]).toEqual(['attached', own.origin]);
  expect(await enters(attached)).toBe(true);
  own.rest(true);
  own.rest(false);
  await attached.close();
  expect((await fetch(`${own.origin}/api/factory/health`)).status).toBe(200);
  await own.close();
  await expect(attached.openUrl()).rejects.toThrow();
  expect((await open(home)).kind).toBe('own');
});

test.skipIf(process.platform === 'win32')(
  'its own servers are watched while they serve, and not while the computer sleeps or they close',
  async () => {
    const home = scratchHome();
    const { beat } = placesIn(home);
    const gantry = await openDesktop({ env: env(home), again: ['true'] });
    onEnd(() => gantry.close());
    expect(existsSync(beat)).toBe(true);
    gantry.rest(true);
    expect(existsSync(beat)).toBe(false);
    gantry.rest(false);
    expect(existsSync(beat)).toBe(true);
    await gantry.close();
    expect(existsSync(beat)).toBe(false);
  },
);

test('a runtime that has no pages cannot be shown, and it is said what can', async () => {
  const home = scratchHome();
  const alone = await startRuntimeAlone({ env: env(home), settings: readSettings(env(home)), gantry: 'gantry' });
  onEnd(() => alone.close());
  await expect(open(home)).rejects.toMatchObject({
    code: 'refused',
    fact: expect.stringContaining('A runtime without pages'),
  });
});

test('a port that nobody chose may be any other where it is taken; a chosen one is not given up', () => {
  const home = scratchHome();
  const other = withOtherPorts(readSettings({ GANTRY_HOME: home }));
  expect([other?.port.value, other?.enginePort.value]).toEqual([0, 0]);
  const half = withOtherPorts(readSettings({ GANTRY_HOME: home, GANTRY_PORT: '4000' }));
  expect([half?.port.value, half?.enginePort.value]).toEqual([4000, 0]);
  expect(
    withOtherPorts(readSettings({ GANTRY_HOME: home, GANTRY_PORT: '4000', GANTRY_ENGINE_PORT: '4001' })),
  ).toBeNull();
});

test('a taken port is said as it is everywhere, and leaves nothing behind', async () => {
  const home = scratchHome();
  const stranger = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => stranger.once('listening', resolve));
  const { port } = stranger.address() as { port: number };
  await expect(openDesktop({ env: env(home, String(port)) })).rejects.toMatchObject({
    code: 'transport',
    fact: expect.stringContaining(String(port)),
  });
  await new Promise((resolve) => stranger.close(resolve));
  expect((await open(home)).kind).toBe('own');
});
