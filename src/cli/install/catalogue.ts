/** `gantry install` as data. */
import type { Verb } from '../command.ts';

export const install: Verb = {
  name: 'install',
  about: 'Start Gantry by itself when you sign in, as a service of your own; no administrator is needed',
  more: 'systemd on Linux, launchd on macOS, the Task Scheduler on Windows. Teams that were up come back with it (not with panes.restartBots false in settings.json).\nA service does not see the variables of your shell: keys of models go into service.env in the data folder, a NAME=value a line.',
  options: [
    { flags: '--uninstall', about: 'take the service away again; a Gantry that runs goes on' },
    { flags: '--status', about: 'say whether it is installed' },
  ],
  mutation: true,
  load: () => import('./install.ts').then((m) => m.install),
};
