/** The scenes of one harness of `harnesses.ts`, named by the first argument: its program is on PATH. Ends with 1 when one fails. */
import { plays } from './harness-plays.ts';

const play = plays.find(({ harness }) => harness === process.argv[2]);
if (!play) throw new Error(`There are no scenes for "${process.argv[2]}".`);
// Bots whose host was stopped under them still watch their files.
process.exit((await play.play()) ? 0 : 1);
