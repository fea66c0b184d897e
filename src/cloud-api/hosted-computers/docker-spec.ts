/** What the driver docker asks its engine for: one container for each computer. Pure: a computer in, the engine's words out. */
import type { ContainerCreateOptions } from 'dockerode';
import { inside } from '../../programs/computer-init/protocol.ts';
import type { ComputerSpec } from './driver.ts';

/** Of a computer's container. `cloud` names the installation that made it: another one on the same engine leaves it alone. */
export const labels = {
  cloud: 'gantry.cloud',
  computer: 'gantry.computer',
  key: 'gantry.key',
  /** Milliseconds; absent: none. */
  lifetime: 'gantry.lifetime',
  /** Of one that was made before anybody asked for it: its toolset. */
  warm: 'gantry.warm',
  /** By what settings that one was made. */
  made: 'gantry.made',
} as const;

/**
 * System calls that no program in a computer needs, and through which kernels were broken. Not Docker's own list: that forbids the namespaces in which
 * commands and the browser's pages are kept apart from the rest of the computer.
 */
const refusedCalls = {
  ENOSYS: ['io_uring_setup', 'io_uring_enter', 'io_uring_register', 'userfaultfd'],
  EPERM: [
    ...['add_key', 'request_key', 'keyctl', 'bpf', 'perf_event_open', 'open_by_handle_at', 'kexec_load'],
    ...['kexec_file_load', 'init_module', 'finit_module', 'delete_module', 'acct', 'swapon', 'swapoff', 'reboot'],
    ...['settimeofday', 'clock_settime', 'clock_adjtime', 'adjtimex', 'iopl', 'ioperm', 'quotactl', 'lookup_dcookie'],
  ],
} as const;
const errors = { ENOSYS: 38, EPERM: 1 } as const;
const filter = {
  defaultAction: 'SCMP_ACT_ALLOW',
  architectures: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86', 'SCMP_ARCH_AARCH64', 'SCMP_ARCH_ARM'],
  syscalls: Object.entries(refusedCalls).map(([error, names]) => ({
    names,
    action: 'SCMP_ACT_ERRNO',
    errnoRet: errors[error as keyof typeof errors],
  })),
};

/** For the socket's folder, for becoming the computer's user, and for giving up NET_ADMIN. All are gone before anything of the computer runs. */
const rights = ['CHOWN', 'DAC_OVERRIDE', 'SETGID', 'SETPCAP', 'SETUID'];

export function containerOf(
  spec: ComputerSpec,
  {
    name,
    installation,
    image,
    folder,
    runtime,
    most,
    processor,
  }: {
    readonly name: string;
    readonly installation: string;
    readonly image: string;
    /** The computer's own, on the host. */
    readonly folder: string;
    readonly runtime: string | null;
    /** The limits of a computer that asks for none. */
    readonly most: { readonly memory: number; readonly processes: number };
    /** Cores, or null for no limit. */
    readonly processor: number | null;
  },
): ContainerCreateOptions {
  const memory = (spec.limits.memory ?? most.memory) * 1024 * 1024;
  const { lifetime, egress } = spec;
  return {
    name,
    Image: image,
    // Whatever an image on top of ours begins with: nothing may run before the network is restricted.
    Entrypoint: ['/bin/bash', '/app/deploy/images/computer-init.sh'],
    User: '0:0',
    WorkingDir: '/app',
    Hostname: 'computer',
    Env: lifetime === null ? [] : [`GANTRY_LIFETIME=${lifetime / 1000}`],
    Labels: {
      [labels.cloud]: installation,
      [labels.computer]: spec.computer,
      [labels.key]: spec.key,
      ...(lifetime === null ? {} : { [labels.lifetime]: String(lifetime) }),
      // Read back at each start.
      'gantry.toolset': spec.toolset,
      'gantry.egress': egress,
    },
    HostConfig: {
      NetworkMode: egress === 'none' ? 'none' : 'bridge',
      CapDrop: ['ALL'],
      CapAdd: egress === 'none' ? rights : [...rights, 'NET_ADMIN'],
      // A profile of AppArmor would forbid what bubblewrap mounts for a command; the filter and the users stay.
      SecurityOpt: ['no-new-privileges:true', `seccomp=${JSON.stringify(filter)}`, 'apparmor=unconfined'],
      // A namespace of processes inside must get a /proc of its own, which the kernel refuses below one with covered parts.
      MaskedPaths: [],
      ReadonlyPaths: [],
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': 'exec,mode=1777', '/var/tmp': 'exec,mode=1777', '/run': 'mode=0755' },
      Mounts: [
        { Type: 'bind', Source: folder, Target: inside.channel },
        // Of the container alone, and removed with it.
        { Type: 'volume', Source: '', Target: inside.home },
        { Type: 'volume', Source: '', Target: inside.data },
      ],
      Memory: memory,
      MemorySwap: memory,
      PidsLimit: spec.limits.processes ?? most.processes,
      ...(processor === null ? {} : { NanoCpus: Math.round(processor * 1e9) }),
      ShmSize: 512 * 1024 * 1024,
      Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '1' } },
      RestartPolicy: { Name: 'no' },
      ...(runtime === null ? {} : { Runtime: runtime }),
    },
  };
}
