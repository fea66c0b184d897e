/** `system.info` and `system.env`: where a caller works. They never return secrets. Must not know policy. */
import { arch, availableParallelism, freemem, hostname, release, totalmem, uptime } from 'node:os';
import { z } from 'zod';
import { scrub } from '../../kit/log/scrub.ts';
import { plainEnvironment } from '../../kit/process/run-process.ts';
import type { ShellSandbox } from './shell-sandbox.ts';
import { defineTool, type Tool } from './tool.ts';

/** Replaces a value that no caller may read. */
const masked = '•••';
const secretName = /key|token|secret|pass|credential|cookie|auth|private|session|signature|dsn|^pg|database_url/i;

export function createSystemTools({
  env,
  sandbox,
}: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sandbox: Pick<ShellSandbox, 'about'>;
}): Tool[] {
  const info = defineTool({
    name: 'system.info',
    title: 'Describe this computer',
    description: 'Describes this computer: its system, free memory, your working folder, and what confines commands.',
    input: z.strictObject({}),
    output: z.strictObject({
      platform: z.string(),
      release: z.string(),
      arch: z.string(),
      hostname: z.string(),
      cpus: z.number(),
      memory: z.strictObject({ totalBytes: z.number(), freeBytes: z.number() }),
      uptimeSeconds: z.number(),
      root: z.string().meta({ description: 'Your working folder.' }),
      workspace: z.string(),
      sandbox: z.string(),
    }),
    readOnly: true,
    annotations: { openWorldHint: false },
    plan: (_, caller) => ({
      risk: 'low',
      title: 'Describe this computer',
      summary: 'A description of this computer',
      run: async () => ({
        platform: process.platform,
        release: release(),
        arch: arch(),
        hostname: hostname(),
        cpus: availableParallelism(),
        memory: { totalBytes: totalmem(), freeBytes: freemem() },
        uptimeSeconds: Math.floor(uptime()),
        root: caller.root,
        workspace: caller.workspace,
        sandbox: await sandbox.about(),
      }),
    }),
  });

  const variables = defineTool({
    name: 'system.env',
    title: 'Read variables',
    description:
      'Says which environment variables your commands see, with their values. Secrets, and values that look like secrets, are masked here, but commands see them.',
    input: z.strictObject({
      names: z.array(z.string().min(1).max(200)).max(200).optional().meta({ description: 'Only these.' }),
    }),
    output: z.strictObject({ variables: z.record(z.string(), z.string()) }),
    readOnly: true,
    annotations: { openWorldHint: false },
    plan: ({ names }, caller) => ({
      risk: 'low',
      title: 'Read variables',
      summary: names === undefined ? 'Variables that commands see' : names.join(', '),
      run: async () => {
        const seen = { ...plainEnvironment(env as NodeJS.ProcessEnv), ...caller.env };
        const wanted = names === undefined ? null : new Set(names);
        const shown = Object.entries(seen)
          .filter(([name]) => wanted === null || wanted.has(name))
          .map(([name, value]) => [name, isSecret(name, value, caller.secrets) ? masked : value]);
        return { variables: Object.fromEntries(shown) as Record<string, string> };
      },
    }),
    say: (output) =>
      Object.entries(output.variables)
        .map(([name, value]) => `${name}=${value}`)
        .join('\n') || '(none)',
  });

  return [info, variables];
}

function isSecret(name: string, value: string, secrets: ReadonlySet<string> | undefined): boolean {
  return secrets?.has(name) === true || secretName.test(name) || scrub(value).includes('[secret]');
}
