/**
 * What acts in a hosted computer without a screen: runs commands and moves files, each in a sandbox inside the computer that shows the home folder and
 * `/tmp`, and nothing of Gantry. So a command can neither end nor answer for the program that runs it. Must not know policy.
 */
import type { z } from 'zod';
import { defaultCommandMs, defaultFileRead, type shellMembers } from '../../contracts/computer-use/members.ts';
import { type RunResult, runProcess } from '../../kit/process/run-process.ts';
import type { Bubblewrap, Environment } from '../../kit/sandbox/bubblewrap.ts';
import { readIfThere, type Sandbox, systemMounts } from '../../kit/sandbox/sandbox.ts';
import type { Act, Acted, Fault } from '../../programs/executor/protocol.ts';
import { noScreen } from './answers.ts';
import { type ExecutorAnswer, ExecutorFault, type ExecutorProgram } from './executor-program.ts';

type InputOf<Name extends keyof typeof shellMembers> = z.output<(typeof shellMembers)[Name]['input']>;
type Shell = NonNullable<Acted['shell']>;

/** Bytes of each stream of a command. */
const outputCap = 256 * 1024;
/** Of a file, which comes as base64. */
const fileCap = 2 * 1024 * 1024;
/** Characters of the output of a command that was ended, for its error. */
const lastShown = 1000;

/** The room of commands in a computer: `home` is the only folder of theirs that lasts. */
export function shellSandbox(home: string): Sandbox {
  return {
    mounts: [
      ...systemMounts(),
      ...readIfThere(
        ['passwd', 'group', 'hosts', 'hostname', 'resolv.conf', 'nsswitch.conf'].map((name) => `/etc/${name}`),
      ),
      { at: '/tmp', shows: 'write' },
      { at: home, shows: 'write' },
    ],
    // The computer's own, behind its firewall.
    network: 'host',
    users: 'own',
    terminal: 'none',
    ends: 'with-parent',
    cwd: home,
  };
}

export function createShellProgram({
  bubblewrap,
  home,
  env,
}: {
  /** It was tried with {@link shellSandbox}. */
  readonly bubblewrap: Bubblewrap;
  readonly home: string;
  readonly env: Environment;
}): ExecutorProgram {
  const sandbox = shellSandbox(home);
  const underWay = new Set<AbortController>();

  async function run(
    script: string,
    words: readonly string[],
    more: { env?: Environment; input?: string | Uint8Array; deadlineMs: number; outputCap: number },
  ): Promise<RunResult> {
    const stop = new AbortController();
    underWay.add(stop);
    try {
      const command = ['/bin/sh', '-c', script, 'sh', ...words];
      const { env: own = {}, ...limits } = more;
      const wrapped = bubblewrap.wrap({ sandbox, command, env: { ...env, HOME: home, ...own } });
      const result = await runProcess({ ...wrapped, ...limits, signal: stop.signal });
      if (result.ended === 'aborted') throw pageFault('cancelled', 'It was stopped.');
      if (result.ended === 'deadline') {
        const last = `${result.last.stdout}${result.last.stderr}`.trim().slice(-lastShown);
        const seconds = limits.deadlineMs / 1000;
        throw pageFault(
          'action_timeout',
          `It did not end within ${seconds} s and was ended. Last output: ${last || 'none'}`,
        );
      }
      return result;
    } finally {
      underWay.delete(stop);
    }
  }

  async function exec(input: InputOf<'exec'>): Promise<Shell> {
    const { command, args = [], cwd = home, stdin = '', timeout_ms = defaultCommandMs } = input;
    const words = input.shell === true ? ['/bin/sh', '-c', command, 'sh', ...args] : [command, ...args];
    const { exitCode, stdout, stderr, truncated } = await run(
      'cd -- "$1" || exit 126; shift; exec "$@"',
      [cwd, ...words],
      { env: input.env ?? {}, input: stdin, deadlineMs: timeout_ms, outputCap },
    );
    return { texts: [stdout, stderr], exec: { exit_code: exitCode, truncated } };
  }

  async function readFile(input: InputOf<'read_file'>, deadlineMs: number): Promise<Shell> {
    const { path, offset = 0, limit = defaultFileRead, encoding = 'utf8' } = input;
    const script = `[ -f "$1" ] || { echo "There is no file $1 in the computer." >&2; exit 1; }
      size=$(stat -Lc %s -- "$1") && echo "$size" && tail -c "+$2" -- "$1" | head -c "$3" | base64 -w0`;
    const words = [path, String(offset + 1), String(limit)];
    const { exitCode, stdout, stderr } = await run(script, words, { deadlineMs, outputCap: fileCap });
    const [size = '', base64 = ''] = stdout.split('\n');
    if (exitCode !== 0 || stderr !== '') throw pageFault('file_not_found', said(stderr, `${path} cannot be read.`));
    const bytes = Buffer.from(base64, 'base64');
    const text = encoding === 'base64' ? base64 : textIn(bytes, path);
    const end = offset + (encoding === 'base64' ? bytes.length : Buffer.byteLength(text));
    const file = { size: Number(size), next_offset: end < Number(size) && bytes.length > 0 ? end : null };
    return { texts: [text], file };
  }

  async function writeFile(input: InputOf<'write_file'>, deadlineMs: number): Promise<Shell> {
    const { path, content, encoding = 'utf8', append = false } = input;
    if (encoding === 'base64' && !/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(content)) {
      const message = 'input.content: it is not base64.';
      throw new ExecutorFault({ sort: 'invalid', code: 'file_not_written', message });
    }
    const script = `mkdir -p -- "$(dirname -- "$1")" && cat ${append ? '>>' : '>'} "$1" && stat -Lc %s -- "$1"`;
    const bytes = Buffer.from(content, encoding);
    const { exitCode, stdout, stderr } = await run(script, [path], { input: bytes, deadlineMs, outputCap });
    if (exitCode !== 0) throw pageFault('file_not_written', said(stderr, `${path} cannot be written.`));
    const size = Number(stdout);
    return { texts: [`Wrote ${bytes.length} bytes to ${path}.`], file: { size, next_offset: null } };
  }

  function act({ member, input, timeoutMs }: Act): Promise<Shell> {
    switch (member as keyof typeof shellMembers) {
      case 'exec':
        return exec(input as InputOf<'exec'>);
      case 'read_file':
        return readFile(input as InputOf<'read_file'>, timeoutMs);
      case 'write_file':
        return writeFile(input as InputOf<'write_file'>, timeoutMs);
    }
  }

  return {
    async request(request): Promise<ExecutorAnswer> {
      const nothing = { looked: null, acted: null, file: null, bytes: new Uint8Array() };
      switch (request.do) {
        case 'look':
          return {
            ...nothing,
            looked: { screen: noScreen, url: null, credential: false, region: null, element: null },
          };
        case 'act': {
          const shell = await act(request);
          return { ...nothing, acted: { text: null, image: null, browser_state: null, screen: noScreen, shell } };
        }
        default: {
          const message = 'This computer has no screen and no browser.';
          throw new ExecutorFault({ sort: 'device', code: 'display_unavailable', message });
        }
      }
    },
    tell({ do: what }) {
      if (what === 'stop') for (const stop of underWay) stop.abort();
      return what === 'stop';
    },
    generation: 1,
    running: true,
    get underWay() {
      return underWay.size;
    },
    async close() {
      for (const stop of underWay) stop.abort();
    },
  };
}

function pageFault(code: Fault['code'], message: string): ExecutorFault {
  return new ExecutorFault({ sort: 'page', code, message });
}

/** Whole characters only: one that the part cuts at its end belongs to the next part. */
function textIn(bytes: Buffer, path: string): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
    if (text !== '' || bytes.length === 0) return text;
  } catch {
    // Said below.
  }
  throw pageFault('not_text', `${path} is not UTF-8 text here. Read it with "encoding": "base64".`);
}

/** What the shell said, without its own name and line. */
function said(stderr: string, otherwise: string): string {
  return (
    stderr
      .trim()
      .replace(/^sh: \d+: /, '')
      .slice(0, lastShown) || otherwise
  );
}
