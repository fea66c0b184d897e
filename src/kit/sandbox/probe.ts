/**
 * A small program that tells what can be done from where it runs: `gantry sandbox try` starts it in a bot's sandbox. It opens no file, changes nothing and
 * sends nothing: it asks the system what would be allowed, and connects and hangs up. Must not import anything of Gantry: it runs as the bot's program.
 */
import { accessSync, constants, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface ProbeQuestions {
  readonly paths: readonly string[];
  /** Whose names are listed. */
  readonly folder: string;
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  /** A process outside, with its start as the kernel counts it. */
  readonly outside: { readonly pid: number; readonly start: string };
}

type ProbeAccess = 'change' | 'read' | 'see' | 'nothing';

export interface ProbeAnswer {
  readonly paths: Readonly<Record<string, ProbeAccess>>;
  /** Of what is in the folder; at most {@link maxNames}. */
  readonly names: readonly string[];
  /** By `host:port`: null where it was reached, else the system's word for why not. */
  readonly hosts: Readonly<Record<string, string | null>>;
  readonly seesOutside: boolean;
  /** Names of its variables that look like secrets; never their values. */
  readonly secrets: readonly string[];
}

const connectMs = 4000;
const maxNames = 10_000;
const secretNames = /(?:_|^)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|AUTH)(?:_|$)/i;

function accessOf(path: string): ProbeAccess {
  const may = (mode: number) => {
    try {
      accessSync(path, mode);
      return true;
    } catch {
      return false;
    }
  };
  if (may(constants.W_OK)) return 'change';
  if (may(constants.R_OK)) return 'read';
  try {
    lstatSync(path);
    return 'see';
  } catch {
    return 'nothing';
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).slice(0, maxNames);
  } catch {
    return [];
  }
}

/** Port 443 is reached when a certificate came: something between may accept any connection. */
function reach({ host, port }: ProbeQuestions['hosts'][number]): Promise<string | null> {
  return new Promise((resolve) => {
    const secure = port === 443;
    const socket = secure
      ? connectTls({ host, port, servername: host, rejectUnauthorized: false })
      : connect({ host, port });
    const end = (why: string | null) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(why);
    };
    const timer = setTimeout(() => end('no answer'), connectMs);
    socket.on(secure ? 'secureConnect' : 'connect', () => end(null));
    socket.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
    socket.on('close', () => end('closed'));
  });
}

/** The number may be another process's in a sandbox with numbers of its own. */
function startOf(pid: number): string {
  try {
    return (
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')[19] ?? ''
    );
  } catch {
    return '';
  }
}

const questions = JSON.parse(process.argv[2] ?? '{}') as ProbeQuestions;
const reached = await Promise.all(
  questions.hosts.map(async (one) => [`${one.host}:${one.port}`, await reach(one)] as const),
);
const answer: ProbeAnswer = {
  paths: Object.fromEntries(questions.paths.map((path) => [path, accessOf(path)])),
  names: namesIn(questions.folder),
  hosts: Object.fromEntries(reached),
  seesOutside: startOf(questions.outside.pid) === questions.outside.start,
  secrets: Object.keys(process.env)
    .filter((name) => secretNames.test(name) && !name.startsWith('GANTRY_'))
    .sort(),
};
process.stdout.write(`${JSON.stringify(answer)}\n`);
