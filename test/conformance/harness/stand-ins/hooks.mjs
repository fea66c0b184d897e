/** Calls a hook as a program does that was started with it, without a process of its own for each: what `gantry hook` does has tests of its own. */
import { readFileSync } from 'node:fs';

const read = (name) => readFileSync(process.env[name], 'utf8').trim();

/** `known`: events that the start asked for. Any other is nobody's, and answers nothing, as does an engine that is away. */
export async function callHook(known, event, payload) {
  if (!known.has(event)) return {};
  try {
    const answer = await fetch(`${read('GANTRY_URL_FILE')}/api/factory/hooks/${event}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${read('GANTRY_TOKEN_FILE')}` },
      body: JSON.stringify(payload),
    });
    return answer.ok ? await answer.json() : {};
  } catch {
    return {};
  }
}

/** Whether its answer decides; a promise that never settles where it does not: then the pane does. */
export async function decided(answer) {
  const decision = (await answer).hookSpecificOutput?.decision;
  return decision === undefined ? new Promise(() => {}) : decision.behavior === 'allow';
}

/** The tool call that every stand-in asks about. */
export const shellCall = { tool_name: 'Bash', tool_input: { command: 'touch made && ls' } };
