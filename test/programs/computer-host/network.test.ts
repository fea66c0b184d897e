// Runs apart: it makes namespaces, networks and processes of the whole computer.
import { expect, test } from 'vitest';
import { createNetwork } from '../../../src/programs/computer-host/network.ts';
import { namesFor } from '../../../src/programs/computer-host/settings.ts';

const networkWith = (subnet6: string) =>
  createNetwork({
    tool: () => Promise.resolve(''),
    names: namesFor('/somewhere'),
    ranges: { subnet4: '10.231.252.0/22', subnet6 },
    uplink: null,
  });

test('computers have addresses of their own, written as the kernel writes them', () => {
  const { addresses } = networkWith('fd0a:00b3:0c04::/48');
  expect(addresses(0)).toEqual({
    gateway4: '10.231.252.1',
    computer4: '10.231.252.2',
    gateway6: 'fd0a:b3:c04:1::1',
    computer6: 'fd0a:b3:c04:1::2',
  });
  expect(addresses(179)).toEqual({
    gateway4: '10.231.254.205',
    computer4: '10.231.254.206',
    gateway6: 'fd0a:b3:c04:b4::1',
    computer6: 'fd0a:b3:c04:b4::2',
  });
  expect(networkWith('fd00:0000:0001::/48').addresses(1).computer6).toBe('fd00:0:1:2::2');
});

test('interfaces of computers have names that the kernel takes, and no two helpers the same', () => {
  expect(namesFor('/var/lib/gantry-computers').interfaceOf(179).length).toBeLessThanOrEqual(15);
  expect(namesFor('/a').interfaces).not.toBe(namesFor('/b').interfaces);
});
