/** A bot of the registry as its worktree sees it. Pure. */
import type { Member } from '../member.ts';
import type { WorktreeBot } from './index.ts';

/** Anything between two turns may be changed under it, nothing else. */
export function worktreeBot(member: Member | null): WorktreeBot | null {
  if (member === null) return null;
  const { id, address, team, slug, definition } = member;
  const still = ['offline', 'idle', 'done', 'failed', 'blocked'].includes(member.shown.state);
  return { id, address, team, slug, cwd: definition?.worktree === true ? definition.cwd : null, busy: !still };
}
