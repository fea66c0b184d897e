/** Floors of figures: they do the work that they represent, contain nothing of Gantry, and excuse no cost of Gantry. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { startVictim } from '../victim.ts';
import { load, type Target } from './converse.ts';
import { type FloorKind, floorThere, machineBy } from './floor.ts';

const script = fileURLToPath(new URL('../victims/floor.ts', import.meta.url));
const kinds = Object.keys(floorThere) as FloorKind[];

test.each(kinds)('what costs twice as much is told as twice as much, on any machine (%s)', (kind) => {
  const told = (raw: number, floors: number[]) => raw / machineBy(kind, floors).factor;
  const there = floorThere[kind];
  expect(told(300, [there])).toBe(300);
  for (const slower of [0.5, 1, 1.64, 3]) {
    const floors = [there * slower, there * slower, there * slower * 1.2];
    expect(told(300 * slower, floors)).toBeCloseTo(300);
    expect(told(2 * 300 * slower, floors)).toBeCloseTo(600);
  }
});

test('a floor that costs nothing like what it does on a machine that Gantry is built on is not believed', () => {
  for (const times of [10, 0.1, Number.NaN]) {
    expect(() => machineBy('row', [floorThere.row * times])).toThrow('The floor "row" costs');
  }
  expect(() => machineBy('row', [])).toThrow('The floor "row" costs');
});

test('a floor holds nothing of Gantry', () => {
  const text = readFileSync(script, 'utf8');
  const named = [...text.matchAll(/^import [^;]* from '([^']+)';$/gm)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => !name.startsWith('node:') && name !== 'better-sqlite3')).toEqual([]);
  expect(text).not.toMatch(/import\(|require\(/);
});

test.each(['row', 'ed25519', 'hmac', 'pass'] as const)('a floor answers after it did its work (%s)', async (kind) => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-floor-'));
  const victim = startVictim({ command: [process.execPath, script, kind, folder] });
  try {
    const target = JSON.parse(await victim.until((line) => line.startsWith('{'))) as Target;
    await load(target, 40, 4);
    const forged = load({ ...target, text: target.text.replace('Is it ready?', 'Is it steady') }, 1, 1);
    if (kind === 'ed25519' || kind === 'hmac') await expect(forged).rejects.toThrow('401');
    else await forged;
    if (kind === 'pass') return;
    const database = new Database(join(folder, 'floor.db'), { readonly: true });
    expect(database.prepare('SELECT count(*) FROM posted').pluck().get()).toBe(kind === 'row' ? 41 : 40);
    database.close();
  } finally {
    await victim.kill();
    rmSync(folder, { recursive: true, force: true });
  }
});
