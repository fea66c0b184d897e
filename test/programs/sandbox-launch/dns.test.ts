/** What programs in a sandbox hear when they look a name up: an address of the sandbox's own, whoever they ask about, and nothing is asked outside. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answer } from '../../../src/programs/sandbox-launch/dns.ts';
import { createNames } from '../../../src/programs/sandbox-launch/names.ts';

const types = { A: 1, PTR: 12, MX: 15, TXT: 16, AAAA: 28, HTTPS: 65, ANY: 255 };

function question(name: string, type = types.A, more: Partial<{ flags: number; count: number }> = {}): Buffer {
  const { flags = 0x0100, count = 1 } = more;
  const header = Buffer.alloc(12);
  header.writeUInt16BE(0x1234, 0);
  header.writeUInt16BE(flags, 2);
  header.writeUInt16BE(count, 4);
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  const tail = Buffer.from([0, 0, type, 0, 1]);
  return Buffer.concat([header, ...labels, tail]);
}

/** As a resolver reads it. */
function heard(reply: Buffer | null) {
  if (reply === null) return null;
  const answers = reply.readUInt16BE(6);
  return {
    id: reply.readUInt16BE(0),
    isAnswer: (reply[2]! & 0x80) !== 0,
    code: reply[3]! & 0x0f,
    address: answers === 0 ? null : [...reply.subarray(-4)].join('.'),
  };
}

const ask = (name: string, type?: number) => heard(answer(question(name, type), createNames().addressOf));

test('a name has an IPv4 address of the sandbox’s own, and nothing else', () => {
  expect(ask('registry.npmjs.org')).toEqual({ id: 0x1234, isAnswer: true, code: 0, address: '198.18.0.1' });
  for (const type of [types.AAAA, types.HTTPS, types.TXT, types.MX]) {
    expect(ask('registry.npmjs.org', type)).toMatchObject({ code: 0, address: null });
  }
});

test('a name is the same however it is written, and each has an address of its own', () => {
  const { addressOf, nameAt } = createNames();
  const at = (name: string) => heard(answer(question(name), addressOf))?.address ?? '';
  expect(at('One.Example')).toBe(at('one.example'));
  expect(at('two.example')).not.toBe(at('one.example'));
  expect([nameAt(at('ONE.example')), nameAt(at('two.example'))]).toEqual(['one.example', 'two.example']);
});

test('names of neighbours, numbers and addresses that are asked backwards do not exist, and localhost is itself', () => {
  const names = [
    'printer',
    'printer.local',
    '10.0.0.1',
    'a.0x7f',
    '1.0.18.198.in-addr.arpa',
    'sp ace.example',
    '-a.example',
  ];
  for (const name of names) expect([name, ask(name)]).toMatchObject([name, { code: 3, address: null }]);
  expect(ask('localhost')).toMatchObject({ address: '127.0.0.1' });
  expect(ask('localhost', types.AAAA)).toMatchObject({ code: 0, address: null });
});

test('what is no question gets an error or no answer, and never an address', () => {
  const { addressOf } = createNames();
  const answered = (message: Buffer) => heard(answer(message, addressOf));
  expect(answered(question('one.example', types.A, { flags: 0x8100 }))).toBeNull();
  expect(answered(question('one.example', types.A, { flags: 0x2100 }))).toMatchObject({ code: 4, address: null });
  expect(answered(question('one.example', types.A, { count: 2 }))).toMatchObject({ code: 1, address: null });
  expect(answered(question('one.example').subarray(0, 20))).toMatchObject({ code: 1, address: null });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const said = answered(Buffer.from(bytes));
      expect(said === null || said.address === null || said.code === 0).toBe(true);
    }),
  );
});

test('with too many names the one asked for longest ago loses its address, which no other gets soon', () => {
  const { addressOf, nameAt } = createNames(3);
  const given = ['a.x', 'b.x', 'c.x'].map(addressOf);
  addressOf('a.x');
  const more = ['d.x', 'e.x'].map(addressOf);
  expect(given.map(nameAt)).toEqual(['a.x', undefined, undefined]);
  expect(new Set([...given, ...more]).size).toBe(5);
  for (let index = 0; index < 140_000; index++) addressOf(`${index}.y`);
  // It comes round, and passes over addresses in use.
  expect(nameAt(addressOf('last.y'))).toBe('last.y');
});
