/**
 * The filter of system calls that every sandbox runs under: a program for the kernel's classic BPF, as `bwrap --seccomp` reads it. It refuses what
 * ordinary programs do without and kernels were often broken through: io_uring, userfaultfd, the kernel's key service, bpf, and nf_tables, which
 * anybody may configure in a network of their own. Terminals take no typed text from a program. Without the host's network it also refuses the kinds of
 * sockets that belong to no network, such as those between a virtual machine and its host. Pure. Must not know bubblewrap.
 *
 * The layout of an instruction and of what it reads is in `linux/filter.h` and `linux/seccomp.h`, the numbers in each architecture's `unistd.h`.
 */
import type { Sandbox } from './sandbox.ts';

type FilterNetwork = Sandbox['network'];

/** System calls of one instruction set, by number. */
interface Calls {
  /** As the kernel names the instruction set in `seccomp_data.arch`. */
  readonly arch: number;
  /** io_uring_setup, io_uring_enter, io_uring_register, userfaultfd: programs fall back where they do not exist. */
  readonly missing: readonly number[];
  /** add_key, request_key, keyctl, bpf. */
  readonly forbidden: readonly number[];
  readonly ioctl: number;
  readonly socket: number;
  /** Numbers from here on are of another kind, which this table does not have. */
  readonly below?: number;
}

const ioUring = [425, 426, 427];
/** Its arguments lie in memory, where a filter cannot read which socket is wanted; `socket` does the same. */
const socketcall = 102;

const x64: Calls = {
  arch: 0xc000_003e,
  missing: [...ioUring, 323],
  forbidden: [248, 249, 250, 321],
  ioctl: 16,
  socket: 41,
  below: 0x4000_0000,
};
/** Programs of 32 bits on x64. */
const x86: Calls = {
  arch: 0x4000_0003,
  missing: [...ioUring, 374, socketcall],
  forbidden: [286, 287, 288, 357],
  ioctl: 54,
  socket: 359,
};
const arm64: Calls = {
  arch: 0xc000_00b7,
  missing: [...ioUring, 282],
  forbidden: [217, 218, 219, 280],
  ioctl: 29,
  socket: 198,
};
/** Programs of 32 bits on arm64. */
const arm: Calls = {
  arch: 0x4000_0028,
  missing: [...ioUring, 388, socketcall],
  forbidden: [309, 310, 311, 386],
  ioctl: 54,
  socket: 281,
};

const tables: Readonly<Record<string, readonly Calls[]>> = { x64: [x64, x86], arm64: [arm64, arm] };

const errors = { EPERM: 1, ENOSYS: 38, EPROTONOSUPPORT: 93, EAFNOSUPPORT: 97 } as const;
/** They type into a terminal, as if its person had. */
const typing = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c };
const families = { unix: 1, inet: 2, inet6: 10, netlink: 16 };
/** Of netlink: nf_tables and what belongs to it. */
const netfilter = 12;

interface Instruction {
  readonly code: number;
  /** How many instructions are skipped if a comparison holds, and if not. */
  readonly jt: number;
  readonly jf: number;
  readonly k: number;
}

/** Null for an architecture that has no table. */
export function filterFor(architecture: string, network: FilterNetwork): Uint8Array | null {
  const calls = tables[architecture];
  return calls === undefined ? null : encode(filterOf(calls, network));
}

function filterOf(calls: readonly Calls[], network: FilterNetwork): Instruction[] {
  return [
    load(offsets.arch),
    ...calls.flatMap((each) => when(each.arch, bodyOf(each, network))),
    // Another instruction set has other numbers: everything would be read as something else.
    refuse('ENOSYS'),
  ];
}

function bodyOf({ missing, forbidden, ioctl, socket, below }: Calls, network: FilterNetwork): Instruction[] {
  return [
    load(offsets.number),
    ...(below === undefined ? [] : whenAtLeast(below, [refuse('ENOSYS')])),
    ...missing.flatMap((number) => when(number, [refuse('ENOSYS')])),
    ...forbidden.flatMap((number) => when(number, [refuse('EPERM')])),
    ...when(ioctl, [
      load(offsets.argument(1)),
      ...Object.values(typing).flatMap((request) => when(request, [refuse('EPERM')])),
      allow,
    ]),
    ...when(socket, [
      load(offsets.argument(0)),
      ...when(families.netlink, [load(offsets.argument(2)), ...when(netfilter, [refuse('EPROTONOSUPPORT')]), allow]),
      ...(network === 'host'
        ? [allow]
        : [
            ...[families.unix, families.inet, families.inet6].flatMap((family) => when(family, [allow])),
            refuse('EAFNOSUPPORT'),
          ]),
    ]),
    allow,
  ];
}

/** In `seccomp_data`. Of an argument the lower half, which is all that the kernel reads of these. */
const offsets = { number: 0, arch: 4, argument: (index: number) => 16 + 8 * index };

const load = (k: number): Instruction => ({ code: 0x20, jt: 0, jf: 0, k });
const give = (k: number): Instruction => ({ code: 0x06, jt: 0, jf: 0, k });
const allow = give(0x7fff_0000);
const refuse = (error: keyof typeof errors): Instruction => give(0x0005_0000 | errors[error]);
/** `then` must end with a verdict; otherwise the instructions after it would run too. */
const when = (k: number, then: readonly Instruction[]): Instruction[] => jump(0x15, k, then);
const whenAtLeast = (k: number, then: readonly Instruction[]): Instruction[] => jump(0x35, k, then);

function jump(code: number, k: number, then: readonly Instruction[]): Instruction[] {
  if (then.length > 255) throw new Error(`A jump of the filter spans ${then.length} instructions; at most 255 fit.`);
  return [{ code, jt: 0, jf: then.length, k }, ...then];
}

/** Eight bytes an instruction: u16 code, u8 jt, u8 jf, u32 k. Both architectures are little endian. */
function encode(instructions: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(instructions.length * 8));
  for (const [index, { code, jt, jf, k }] of instructions.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, jt);
    bytes.setUint8(index * 8 + 3, jf);
    bytes.setUint32(index * 8 + 4, k >>> 0, true);
  }
  return new Uint8Array(bytes.buffer);
}
