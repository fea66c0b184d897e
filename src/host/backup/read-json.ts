import { readFileSync } from 'node:fs';

/** What a small file holds; undefined when it is not there or no JSON. */
export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as unknown;
  } catch {
    return undefined;
  }
}
