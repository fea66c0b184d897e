/** The gate of a computer's executor, and its composition. */

export { createApprovalQuestions } from './approval-questions.ts';
export { createHands } from './create-hands.ts';
export type { Hands, HandsDeps } from './hands.ts';
export { handsMigrations } from './migrations.ts';
export { createOwnQuestions, type OwnQuestions } from './own-questions.ts';
