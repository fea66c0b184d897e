/** The list of packages in a build is one that programs for CycloneDX can read, and names what the notices name. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { billOf } from '../../scripts/bill-of-materials.ts';
import { freshBuild } from '../support/fresh-build.ts';
import { scratchFolder } from '../support/scratch.ts';

interface Bill {
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly {
    readonly group?: string;
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly licenses?: readonly { readonly license: { readonly id?: string; readonly name?: string } }[];
  }[];
}

const schemas = join(
  dirname(createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json')),
  'res/schema',
);
const schema = (name: string) => JSON.parse(readFileSync(join(schemas, `${name}.SNAPSHOT.schema.json`), 'utf8'));

/** What the format's own schema has against it. */
function problemsOf(bill: unknown): unknown {
  // It names its parts by their files. Formats are not looked at: a bill of ours has none of what they are for.
  const parts = ['spdx', 'jsf-0.82', 'cryptography-defs'].map((name) => [
    `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`,
    schema(name),
  ]);
  const ajv = new Ajv({ strict: false, validateFormats: false, schemas: Object.fromEntries(parts) });
  const check = ajv.compile(schema('bom-1.6'));
  return check(bill) ? [] : check.errors;
}

const self = { name: 'gantry', version: '1.2.3' };

function packages(...all: readonly object[]): string[] {
  const folder = scratchFolder();
  return all.map((one, index) => {
    const place = join(folder, String(index));
    mkdirSync(place);
    writeFileSync(join(place, 'package.json'), JSON.stringify(one));
    return place;
  });
}

test('each package has its name, version, address and licence, whatever form the licence has', () => {
  const folders = packages(
    { name: '@scope/one', version: '1.0.0+build', license: 'MIT' },
    { name: 'two', version: '2.0.0', license: '(MIT OR GPL-3.0)' },
    { name: 'three', version: '3.0.0', license: { type: 'MIT' } },
    { name: 'two', version: '1.0.0', license: 'BSD-3-Clause' },
  );
  const bill = JSON.parse(billOf(folders, self)) as Bill;
  expect(problemsOf(bill)).toEqual([]);
  expect(bill.metadata.component).toMatchObject(self);
  expect(bill.components).toMatchObject([
    {
      group: '@scope',
      name: 'one',
      purl: 'pkg:npm/%40scope/one@1.0.0%2Bbuild',
      licenses: [{ license: { id: 'MIT' } }],
    },
    { name: 'three', version: '3.0.0' },
    { name: 'two', version: '1.0.0', licenses: [{ license: { id: 'BSD-3-Clause' } }] },
    { name: 'two', version: '2.0.0', licenses: [{ license: { name: '(MIT OR GPL-3.0)' } }] },
  ]);
  expect(bill.components[1]?.licenses).toBeUndefined();
});

test('the same packages give the same bytes, in whatever order they come', () => {
  const [a, b] = [
    { name: 'a', version: '1.0.0' },
    { name: 'b', version: '1.0.0' },
  ];
  const folders = packages(a, b, a);
  expect(billOf(folders.toReversed(), self)).toBe(billOf(folders, self));
  expect((JSON.parse(billOf(folders, self)) as Bill).components).toHaveLength(2);
});

const built = freshBuild();
test.skipIf(built === null)('the list of this build names each package of the notices (needs a build)', () => {
  const bill = JSON.parse(readFileSync(join(built!, 'gantry.cdx.json'), 'utf8')) as Bill;
  expect(problemsOf(bill)).toEqual([]);
  const named = bill.components.map(
    ({ group, name, version }) => `${group === undefined ? '' : `${group}/`}${name} ${version}`,
  );
  const notices = readFileSync(join(built!, 'THIRD-PARTY-NOTICES.txt'), 'utf8');
  const noticed = [...notices.matchAll(/^(\S+ \d\S*)\nLicence: \S/gm)].map(([, one]) => one);
  expect(noticed.length).toBeGreaterThan(50);
  expect(named.toSorted()).toEqual([...new Set(noticed)].toSorted());
});
