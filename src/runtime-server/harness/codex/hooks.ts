/**
 * The hooks of one start of Codex, as config overrides (`-c`): nothing is written into the person's home. Codex runs a hook only after a person has
 * reviewed it, or where its hash is marked as trusted. Ours are marked, each by its own hash: the flag that trusts every hook would also run those
 * of a cloned repository.
 */
import { createHash } from 'node:crypto';

interface Hook {
  readonly event: string;
  readonly command: string;
  readonly timeoutSeconds: number;
  /** Shown in the pane while it runs. */
  readonly status?: string;
}

/** Codex's name for the source of hooks from the command line. */
const source = '/<session-flags>/config.toml';

/** Flags for these hooks, at most one for each event. */
export function hookFlags(hooks: readonly Hook[]): string[] {
  const trusted = hooks.map((hook) => {
    const key = `${source}:${label(hook.event)}:0:0`;
    return `${toml(key)}={trusted_hash=${toml(hookHash(hook))}}`;
  });
  return [
    ...hooks.flatMap(({ event, command, timeoutSeconds, status }) => {
      const message = status === undefined ? '' : `,statusMessage=${toml(status)}`;
      return [
        '-c',
        `hooks.${event}=[{hooks=[{type="command",command=${toml(command)},timeout=${timeoutSeconds}${message}}]}]`,
      ];
    }),
    '-c',
    `hooks.state={${trusted.join(',')}}`,
  ];
}

/** The hash by which Codex recognises a hook: the keys in order, as JSON. */
export function hookHash({ event, command, timeoutSeconds, status }: Hook): string {
  const handler = {
    async: false,
    command,
    ...(status !== undefined && { statusMessage: status }),
    timeout: timeoutSeconds,
    type: 'command',
  };
  const identity = JSON.stringify({ event_name: label(event), hooks: [handler] });
  return `sha256:${createHash('sha256').update(identity).digest('hex')}`;
}

/** A basic string of TOML is written as one of JSON. */
export const toml = (text: string): string => JSON.stringify(text).replaceAll('\x7f', '\\u007f');

/** `PermissionRequest` as `permission_request`. */
function label(event: string): string {
  return event.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}
