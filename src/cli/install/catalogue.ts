/** `gantry install` as data. */
import type { Verb } from '../command.ts';

export const install: Verb = {
  name: 'install',
  about: 'Start Gantry automatically when you sign in, as your own service; no administrator needed',
  more: 'systemd on Linux, launchd on macOS, the Task Scheduler on Windows. Teams that were up start again with it (unless panes.restartBots is false in settings.json).\nA service does not see the variables of your shell: put model keys into service.env in the data folder, one NAME=value a line.',
  options: [
    { flags: '--uninstall', about: 'remove the service; a running Gantry keeps running' },
    { flags: '--status', about: 'say whether it is installed' },
  ],
  mutation: true,
  load: () => import('./install.ts').then((m) => m.install),
};
