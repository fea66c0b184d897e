/** How a start reports that the workspace wants to run something that nobody agreed to yet. */
import type { Computer } from '../../host/open-computer.ts';
import { oneLine } from '../words.ts';

/** What the workspace says about what may run, and nobody agreed to yet. */
export function waitingLine({ files }: ReturnType<Computer['waiting']>, gantry: string): string[] {
  if (files.length === 0) return [];
  const named = files.slice(0, 3).map((path) => oneLine(path, 80));
  const more = files.length > named.length ? [`and ${files.length - named.length} more`] : [];
  return [`  Waiting    for your yes: ${[...named, ...more].join(', ')}. Review: ${gantry} trust`];
}
