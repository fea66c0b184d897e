/**
 * Writes `docs/team.schema.json`, the JSON Schema of `team.yaml`, from the schema that the reader checks.
 * Editors take it by a first line `# yaml-language-server: $schema=…`. Run again when the schema changes; a test says so.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { TeamFile } from '../src/contracts/factory/team-file.ts';

export function teamSchemaText(): string {
  const schema = z.toJSONSchema(TeamFile, { io: 'input', target: 'draft-2020-12' });
  return `${JSON.stringify(schema, null, 2)}\n`;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  writeFileSync(join(import.meta.dirname, '..', 'docs', 'team.schema.json'), teamSchemaText());
}
