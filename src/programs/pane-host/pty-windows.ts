/**
 * The same terminal on Windows, over node-pty's ConPTY class. ConPTY ends its output before it reports the exit, so node-pty's own stream loses
 * nothing there.
 */
import { createRequire } from 'node:module';
import type { IPty } from 'node-pty';
import { give, type StartPty } from './pty.ts';

export function loadWindowsPty(): StartPty {
  const require = createRequire(import.meta.url);
  const { spawn } = require('node-pty') as typeof import('node-pty');
  return (options, sink) => {
    const { cols, rows, cwd, env } = options;
    const [file = '', ...args] = options.command;
    const pty: IPty = spawn(file, args, { cols, rows, cwd, env });
    // ConPTY itself writes whole characters, and node-pty gives them as text whatever it is asked for.
    pty.onData((data) => give(sink, Buffer.from(data, 'utf8')));
    pty.onExit(({ exitCode }) => sink.ended(exitCode, null));
    return {
      pid: pty.pid,
      unwritten: 0,
      write: (data) => pty.write(Buffer.from(data)),
      resize: (toCols, toRows) => pty.resize(toCols, toRows),
      pause: () => pty.pause(),
      resume: () => pty.resume(),
    };
  };
}
