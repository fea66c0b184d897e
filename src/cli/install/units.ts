/**
 * The text of service definitions with which an operating system starts Gantry. Pure: nothing is written or run here. Bots must outlive the service
 * (`KillMode=process`, `AbandonProcessGroup`), and the system must not retry what a person has to decide: after a damaged database was moved aside,
 * the next start would begin with an empty one.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { exitCode } from '../../contracts/common/errors.ts';

export interface Program {
  /** Node, the script, and its arguments. */
  readonly command: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  readonly logs: string;
  readonly docs: string;
}

export interface Unit {
  readonly name: string;
  readonly file: string;
  readonly text: string;
}

/** One a data folder: the usual one has the plain name. */
export function serviceName(home: string, defaultHome: string): string {
  return home === defaultHome ? 'gantry' : `gantry-${createHash('sha256').update(home).digest('hex').slice(0, 8)}`;
}

const forPeople = [exitCode.refused, exitCode.not_found, exitCode.needs_person, exitCode.usage];

export function systemdUnit(name: string, folder: string, { command, variables, docs }: Program): Unit {
  const text = `[Unit]
Description=Gantry: teams of bots on this computer
Documentation=${quotedForSystemd(`file://${docs}`, '')}
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=exec
ExecStart=${startable(command)
    .map((word) => quotedForSystemd(word, '$'))
    .join(' ')}
${Object.entries(variables)
  .map(([key, value]) => `Environment=${quotedForSystemd(`${key}=${value}`, '')}\n`)
  .join('')}WorkingDirectory=%h
# Bots and their terminals keep running when the service stops or restarts.
KillMode=process
OOMPolicy=continue
TimeoutStopSec=20
Restart=on-failure
RestartSec=5
# Gantry tells of each 7 seconds in which its loop went round, and asks for more time while it starts and stops.
WatchdogSec=20
NotifyAccess=all
# A person has to decide: another Gantry runs, or a damaged database was moved aside.
RestartPreventExitStatus=${forPeople.join(' ')}

[Install]
WantedBy=default.target
`;
  return { name: `${name}.service`, file: join(folder, `${name}.service`), text };
}

/** systemd takes no quotes, blanks or signs in the path of a program itself. */
function startable(command: readonly string[]): readonly string[] {
  return /^[\w@+=:,./-]+$/.test(command[0] ?? '') ? command : ['/usr/bin/env', ...command];
}

/** `%` begins a specifier, and in a command `$` a variable. */
function quotedForSystemd(word: string, variable: '' | '$'): string {
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%');
  const whole = variable === '' ? escaped : escaped.replaceAll('$', '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(whole) ? whole : `"${whole}"`;
}

export function launchdPlist(name: string, folder: string, { command, variables, logs }: Program): Unit {
  const label = `app.${name.replace('-', '.')}`;
  const words = command.map((word) => `    <string>${xml(word)}</string>`).join('\n');
  const pairs = Object.entries(variables)
    .map(([key, value]) => `    <key>${xml(key)}</key><string>${xml(value)}</string>`)
    .join('\n');
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${xml(label)}</string>
  <key>ProgramArguments</key>
  <array>
${words}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${pairs}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key>
  <dict>
    <key>Crashed</key><true/>
  </dict>
  <key>AbandonProcessGroup</key><true/>
  <key>ProcessType</key><string>Interactive</string>
  <key>StandardOutPath</key><string>${xml(join(logs, 'service.log'))}</string>
  <key>StandardErrorPath</key><string>${xml(join(logs, 'service.log'))}</string>
</dict>
</plist>
`;
  return { name: label, file: join(folder, `${label}.plist`), text };
}

/** A task at sign-in. Tasks have no variables of their own, so the data folder is an argument of the program. */
export function windowsTask(name: string, folder: string, { command }: Program, user: string): Unit {
  const [program = '', ...rest] = command;
  const words = ['--headless', program, ...rest].map((word) => (/[\s"]/.test(word) ? `"${word}"` : word)).join(' ');
  const text = `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.4" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>Gantry: teams of bots on this computer</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled><UserId>${xml(user)}</UserId></LogonTrigger></Triggers>
  <Principals>
    <Principal id="Author"><UserId>${xml(user)}</UserId><LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel></Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
  </Settings>
  <Actions Context="Author">
    <Exec><Command>%SystemRoot%\\System32\\conhost.exe</Command><Arguments>${xml(words)}</Arguments></Exec>
  </Actions>
</Task>
`;
  return { name, file: join(folder, `${name}.task.xml`), text };
}

function xml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
