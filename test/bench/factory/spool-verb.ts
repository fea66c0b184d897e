/** What a bot's spool costs each of its verbs. A time, so it has the machine to itself; faults run two at a time. */
import { measured, verb } from '../../faults/factory/spool.ts';
import type { Figure } from '../../support/bench/figure.ts';

export const figures: readonly Figure[] = [{ name: 'factory.spool.verb', run: (options) => measured(options, verb) }];
