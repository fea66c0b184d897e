/** The words of `gantry computer-host`. */
import type { Verb } from '../command.ts';

export const computerHost: Verb = {
  name: 'computer-host',
  stays: true,
  about: 'Run hosted computers on this machine for its cloud; needs root and Linux',
  more: 'It listens on a socket in its folder that only --user may open. Ctrl-C stops the computers; their files stay. If the computer host is\nkilled, its computers keep running and the next one takes them over. docs/hosted-computers.md says how they are isolated.',
  options: [
    { flags: '--folder <folder>', about: 'folder of the computers (default /var/lib/gantry-computers)' },
    { flags: '--user <name>', about: 'the user that the cloud runs as (default root)' },
    { flags: '--uplink <interface>', about: 'outgoing network interface (default: that of the default route)' },
    {
      flags: '--subnet <range>',
      about: 'IPv4 range of at least /22 for the computers (default: one that is free here)',
    },
    {
      flags: '--dns <addresses>',
      about: 'name servers for the computers, comma-separated (default: those of this machine)',
    },
    { flags: '--first-uid <n>', about: 'first user id that computers run as (default 61000)' },
    { flags: '--most <n>', about: 'most computers kept here, 1 to 180 (default 20)' },
    { flags: '--warm-desktop <n>', about: 'computers with a screen kept running for the next creates (default 0)' },
    { flags: '--warm-shell <n>', about: 'computers without a screen kept running for the next creates (default 0)' },
    { flags: '--memory <MiB>', about: 'memory of each computer (default 2048)' },
    { flags: '--processes <n>', about: 'processes and threads of each computer (default 1024)' },
    { flags: '--processor <cores>', about: 'cores of each computer, such as 1.5 (default: not limited)' },
    { flags: '--join <cloud>', about: 'make computers for a cloud on another machine, which this one dials' },
    { flags: '--join-token-file <file>', about: 'file with the token that gantry admin hosts add printed' },
    { flags: '--metrics <port>', about: 'answer figures for Prometheus at this port of 127.0.0.1' },
  ],
  load: () => import('./computer-host.ts').then((m) => m.computerHost),
};
