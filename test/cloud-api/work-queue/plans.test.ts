/**
 * Beside very many tasks of somebody else: every statement of the queue, asked for a person with a few, goes along an index to what it
 * returns, on both engines, however PostgreSQL plans it. `plans-million.test.ts` is the same beside a million.
 */
import { testPlans } from './every-statement.ts';

// Enough for each planner to take the table for theirs.
testPlans(100_000);
