/** A runtime in a process of its own, for tests that kill it: follows a pane and prints what it got, one line a piece. */
import { programCommand } from '../../../src/kit/process/programs.ts';
import { createPaneEngine } from '../../../src/runtime-server/panes/create-pane-engine.ts';

const [home = '', pane = '', from = '0'] = process.argv.slice(2);
const say = (word: string, more = ''): void => void process.stdout.write(`${word} ${more}\n`);
const engine = createPaneEngine({
  home,
  command: programCommand('pane-host'),
  onError: (error) => say('error', String(error)),
});
await engine.ready();
say('ready', String(engine.engine().running));
if (pane !== '') {
  engine.attach(pane, Number(from), {
    onBytes: (offset, bytes) => say('bytes', `${offset} ${Buffer.from(bytes).toString('hex')}`),
    onSnapshot: (offset) => say('snapshot', String(offset)),
    onEnd: (reason) => say('end', String(reason)),
  });
}
