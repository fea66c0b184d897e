/** The words of `gantry computer-host`. */
import type { Verb } from '../command.ts';

export const computerHost: Verb = {
  name: 'computer-host',
  about: 'Make hosted computers on this machine for a cloud that runs on it; needs root, and Linux',
  more: 'It listens on a socket of its folder that only --user may open. Ctrl-C stops the computers; their files stay. Computers whose\nhelper was killed run on, and the next one takes them over. docs/hosted-computers.md says what holds them apart.',
  options: [
    { flags: '--folder <folder>', about: 'where computers lie (default /var/lib/gantry-computers)' },
    { flags: '--user <name>', about: 'the user that the cloud runs as (default root)' },
    { flags: '--uplink <interface>', about: 'interface to the world (default: that of the default route)' },
    {
      flags: '--subnet <range>',
      about: 'IPv4 range of at least /22 for the computers (default: one that is free here)',
    },
    {
      flags: '--dns <addresses>',
      about: 'name servers for the computers, with commas (default: those of this machine)',
    },
    { flags: '--first-uid <n>', about: 'first of the user ids that computers run as (default 61000)' },
    { flags: '--most <n>', about: 'how many computers are kept here, 1 to 180 (default 20)' },
    { flags: '--memory <MiB>', about: 'memory of each computer (default 2048)' },
    { flags: '--processes <n>', about: 'processes and threads of each computer (default 1024)' },
  ],
  load: () => import('./computer-host.ts').then((m) => m.computerHost),
};
