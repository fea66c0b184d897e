/** Images for a bot over HTTP: kept as files that its program can read, what they are decided by their content, within bounds. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { ownerToken, sharedEngine, through } from '../engine.ts';
import { startShells } from '../shells.ts';

const engine = sharedEngine();
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const heads = {
  'image/png': png,
  'image/jpeg': Buffer.from('ffd8ffe000104a464946', 'hex'),
  'image/gif': Buffer.from('GIF89a\u0001\u0000'),
  'image/webp': Buffer.from('RIFF\u0004\u0000\u0000\u0000WEBPVP8 '),
} as const;

interface Kept {
  readonly path: string;
  readonly type: string;
  readonly bytes: number;
}
const add = (
  bot: string,
  bytes: Buffer | string,
  as: Parameters<typeof engine.current.call>[3] = { token: ownerToken },
) =>
  engine.current.call<Kept>(
    'POST',
    `/agents/${bot}/images`,
    { data: typeof bytes === 'string' ? bytes : bytes.toString('base64') },
    as,
  );
const newBot = async () => `worker@${await startShells(engine.current, 'worker')}`;

test('an image is a private file in the folder of the bot, named by its content and typed by its first bytes', async () => {
  const address = await newBot();
  const { id } = await engine.current.agent(address);
  for (const [type, bytes] of Object.entries(heads)) {
    const { status, body } = await add(address, bytes, through('browser'));
    expect([status, body.type, body.bytes]).toEqual([201, type, bytes.length]);
    expect(body.path.startsWith(join(engine.current.home, 'run', 'bots', id, 'images'))).toBe(true);
    expect(readFileSync(body.path)).toEqual(bytes);
    expect(statSync(body.path).mode & 0o777).toBe(0o600);
  }
  const again = await add(address, png);
  expect(readdirSync(dirname(again.body.path))).toHaveLength(4);
});

test('what is no image, is too large, or is for nobody is refused, and a bot may not add any', async () => {
  const address = await newBot();
  expect((await add(address, Buffer.from('<svg onload="x()"/>'))).status).toBe(400);
  expect((await add(address, 'no base64!')).status).toBe(400);
  expect([400, 403, 413]).toContain((await add(address, Buffer.concat([png, Buffer.alloc(10 * 1024 * 1024)]))).status);
  expect((await add('nobody@nowhere', png)).status).toBe(404);
  const token = await engine.current.botToken(address);
  expect([401, 403]).toContain((await add(address, png, { token })).status);
});

test('of one bot the newest fifty are kept', async () => {
  const address = await newBot();
  let folder = '';
  for (let n = 0; n < 53; n += 1) {
    folder = dirname((await add(address, Buffer.concat([png, Buffer.from([n])]))).body.path);
  }
  expect(readdirSync(folder)).toHaveLength(50);
});
