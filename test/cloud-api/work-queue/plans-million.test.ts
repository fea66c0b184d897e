// Runs apart: most of its time is PostgreSQL's, with a million rows, and is not measured.
/**
 * Beside a million tasks of somebody else: every statement of the queue, asked for a person with a few, goes along an index to what it
 * returns, on both engines, however PostgreSQL plans it. Filling both takes most of a minute: `plans.test.ts` has a tenth of them.
 */
import { testPlans } from './every-statement.ts';

testPlans(1_000_000);
