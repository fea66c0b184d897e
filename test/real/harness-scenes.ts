/**
 * The scenes of one harness of `harnesses.ts`, named by the first argument: its program is on PATH. With `--kit` only the rows of the conformance kit.
 * Ends with 1 when one fails.
 */
import { plays } from './harness-plays.ts';

const [name, ...options] = process.argv.slice(2);
const play = plays.find(({ harness }) => harness === name);
if (!play) throw new Error(`There are no scenes for "${name}".`);
// Bots whose host was stopped under them still watch their files.
process.exit((await play.play({ kitOnly: options.includes('--kit') })) ? 0 : 1);
