/** Who may name which images, by the beginnings of their names. Pure. */
import { beginsImage } from '../../contracts/work-queue/task.ts';

/** The images that this person may name; without `userId` everybody may. */
export interface ImageRule {
  readonly userId: string | null;
  readonly beginning: string;
}

/** Null: everybody may name any image. */
export function mayName(rules: readonly ImageRule[] | null, userId: string, image: string): boolean {
  if (rules === null) return true;
  return rules.some((rule) => (rule.userId === null || rule.userId === userId) && beginsImage(rule.beginning, image));
}
