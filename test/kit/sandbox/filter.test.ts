/** The filter of system calls, read by an interpreter of its own instructions: what it answers for each call, on each instruction set. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { filterFor } from '../../../src/kit/sandbox/filter.ts';

interface Call {
  readonly arch: number;
  readonly number: number;
  readonly args?: readonly bigint[];
}

const allowed = 0x7fff_0000;
const refused = (errno: number) => 0x0005_0000 | errno;
const [EPERM, ENOSYS, EPROTONOSUPPORT, EAFNOSUPPORT] = [1, 38, 93, 97] as const;

/** From the kernel's own headers. */
const sets = {
  x64: {
    architecture: 'x64',
    arch: 0xc000_003e,
    missing: { io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427, userfaultfd: 323 },
    forbidden: { add_key: 248, request_key: 249, keyctl: 250, bpf: 321 },
    ioctl: 16,
    socket: 41,
  },
  'x86 on x64': {
    architecture: 'x64',
    arch: 0x4000_0003,
    missing: { io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427, userfaultfd: 374, socketcall: 102 },
    forbidden: { add_key: 286, request_key: 287, keyctl: 288, bpf: 357 },
    ioctl: 54,
    socket: 359,
  },
  arm64: {
    architecture: 'arm64',
    arch: 0xc000_00b7,
    missing: { io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427, userfaultfd: 282 },
    forbidden: { add_key: 217, request_key: 218, keyctl: 219, bpf: 280 },
    ioctl: 29,
    socket: 198,
  },
  'arm on arm64': {
    architecture: 'arm64',
    arch: 0x4000_0028,
    missing: { io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427, userfaultfd: 388, socketcall: 102 },
    forbidden: { add_key: 309, request_key: 310, keyctl: 311, bpf: 386 },
    ioctl: 54,
    socket: 281,
  },
};

/** Runs the program as the kernel does; throws where the kernel would not load it. */
function answer(program: Uint8Array, { arch, number, args = [] }: Call): number {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, arch, true);
  for (const [index, value] of args.entries()) data.setBigUint64(16 + 8 * index, value, true);
  const view = new DataView(program.buffer);
  let accumulator = 0;
  for (let at = 0; ; at += 1) {
    const code = view.getUint16(at * 8, true);
    const k = view.getUint32(at * 8 + 4, true);
    const jump = (holds: boolean) => view.getUint8(at * 8 + (holds ? 2 : 3));
    if (code === 0x20) accumulator = data.getUint32(k, true);
    else if (code === 0x15) at += jump(accumulator === k);
    else if (code === 0x35) at += jump(accumulator >= k);
    else if (code === 0x06) return k;
    else throw new Error(`Instruction ${at} has the code ${code}.`);
  }
}

describe.each(Object.entries(sets))('%s', (_, { architecture, arch, missing, forbidden, ioctl, socket }) => {
  const program = filterFor(architecture, 'host')!;
  const closed = filterFor(architecture, 'none')!;
  const both = (call: Omit<Call, 'arch'>) => [answer(program, { arch, ...call }), answer(closed, { arch, ...call })];

  test('io_uring and userfaultfd do not exist, and keys and bpf are forbidden', () => {
    for (const number of Object.values(missing)) expect(both({ number })).toEqual([refused(ENOSYS), refused(ENOSYS)]);
    for (const number of Object.values(forbidden)) expect(both({ number })).toEqual([refused(EPERM), refused(EPERM)]);
  });

  test('no terminal is typed into, whatever stands in the half of the argument that the kernel does not read', () => {
    for (const high of [0n, 1n, 0xffff_ffffn]) {
      for (const request of [0x5412n, 0x541cn]) {
        expect(both({ number: ioctl, args: [0n, (high << 32n) | request] })).toEqual([refused(EPERM), refused(EPERM)]);
      }
      // The size of a window is an ordinary question.
      expect(both({ number: ioctl, args: [0n, (high << 32n) | 0x5413n] })).toEqual([allowed, allowed]);
    }
  });

  test('nf_tables cannot be reached, while addresses and routes can be read', () => {
    expect(both({ number: socket, args: [16n, 3n, 12n] })).toEqual([
      refused(EPROTONOSUPPORT),
      refused(EPROTONOSUPPORT),
    ]);
    expect(both({ number: socket, args: [16n, 3n, 0n] })).toEqual([allowed, allowed]);
  });

  test('without a network only sockets that belong to one can be made', () => {
    for (const family of [1n, 2n, 10n])
      expect(both({ number: socket, args: [family, 1n, 0n] })).toEqual([allowed, allowed]);
    // Between a virtual machine and its host, of the kernel's cryptography, of Bluetooth, of packets.
    for (const family of [40n, 38n, 31n, 17n]) {
      expect(both({ number: socket, args: [family, 1n, 0n] })).toEqual([allowed, refused(EAFNOSUPPORT)]);
    }
  });

  test('what has only names for a network gets the filter of what has none', () => {
    expect(filterFor(architecture, 'names')).toEqual(closed);
  });

  test('every other call is allowed, with every argument', () => {
    const named = new Set([...Object.values(missing), ...Object.values(forbidden), ioctl, socket]);
    const call = fc.record({
      number: fc.nat({ max: 1000 }).filter((number) => !named.has(number)),
      args: fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { minLength: 6, maxLength: 6 }),
    });
    fc.assert(fc.property(call, (one) => both(one).every((given) => given === allowed)));
  });
});

test('calls of an unknown instruction set do not exist, so none is read as another', () => {
  for (const architecture of ['x64', 'arm64']) {
    const program = filterFor(architecture, 'host')!;
    for (const arch of [0, 0xc000_0015, 0xffff_ffff]) {
      for (const number of [0, 41, 425]) expect(answer(program, { arch, number })).toBe(refused(ENOSYS));
    }
  }
});

test('the second kind of calls of x64, whose numbers are offset, does not exist', () => {
  const program = filterFor('x64', 'host')!;
  for (const number of [0x4000_0000, 0x4000_0000 + 425, 0xffff_ffff]) {
    expect(answer(program, { arch: sets.x64.arch, number })).toBe(refused(ENOSYS));
  }
});

test('an architecture without a table has no filter', () => {
  expect(filterFor('riscv64', 'host')).toBe(null);
});
