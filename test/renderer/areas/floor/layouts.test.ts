/** Layouts of the floor: one of all bots, one a team, and named ones, each kept for itself. */
import { expect, test } from 'vitest';
import { readLayouts } from '../../../../src/renderer/areas/floor/layouts.ts';

function storage() {
  const items = new Map<string, string>();
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  };
}

test('a floor without a choice shows the layout of all bots, under the key it always had', () => {
  expect(readLayouts(storage(), 'engine_1')).toMatchObject({ shown: '', names: [], key: 'gantry.floor.v1.engine_1' });
});

test('the layout that was shown last comes back, and each team has its own', () => {
  const kept = storage();
  const all = readLayouts(kept, 'engine_1');
  const crew = all.show('team:crew');
  expect(crew.key).not.toBe(all.key);
  expect(readLayouts(kept, 'engine_1').shown).toBe('team:crew');
  expect(readLayouts(kept, 'engine_2').shown).toBe('');
});

test('a layout that gets a name is kept as it is; deleting it shows all bots again and forgets it', () => {
  const kept = storage();
  const all = readLayouts(kept, 'engine_1');
  kept.setItem(all.key, '{"panels":1}');
  const named = all.saveAs('Review');
  expect(named).toMatchObject({ shown: 'name:Review', names: ['Review'] });
  expect(kept.getItem(named.key)).toBe('{"panels":1}');
  expect(named.saveAs('Review').names).toEqual(['Review']);
  const gone = named.remove('Review');
  expect([gone.shown, gone.names, kept.getItem(named.key), kept.getItem(all.key)]).toEqual([
    '',
    [],
    null,
    '{"panels":1}',
  ]);
});

test('a damaged memory of layouts counts as none', () => {
  const kept = storage();
  kept.setItem('gantry.floor.v1.engine_1.layouts', '{"shown":5,"names":"x"}');
  expect(readLayouts(kept, 'engine_1')).toMatchObject({ shown: '', names: [] });
});
