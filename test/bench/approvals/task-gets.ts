/** `tasks/get` with all tasks kept that the fault figure makes. A time, so it has the machine to itself; faults run two at a time. */
import { measured } from '../../faults/approvals/tasks.ts';
import type { Figure } from '../../support/bench/figure.ts';

export const figures: readonly Figure[] = [
  { name: 'approvals.tasks.get-p99', run: (options) => measured(options, 'gets') },
];
