/**
 * Copilot's transcript: a file of events for each conversation, one a line. A prompt is a `user.message`; a question whose dialog is shown is a
 * `permission.requested`, and a `permission.completed` once it was answered, wherever. Pure but for the path; must not know the screen.
 */
import { join } from 'node:path';
import type { ChannelQuestion } from '../channel-questions.ts';
import { record, text } from '../values.ts';

type Entry = Readonly<Record<string, unknown>>;

/** `home` is `~/.copilot` unless a person moved it. */
export const transcriptFile = (home: string, sessionId: string): string =>
  join(home, 'session-state', sessionId, 'events.jsonl');

/** The prompt in an event, as it was typed: what Copilot adds to it for its model is not in this field. */
export function copilotPrompt(entry: Entry): string | null {
  const { content } = record(entry.data);
  return entry.type === 'user.message' && typeof content === 'string' ? content : null;
}

/** A question, and words of it that its dialog shows; none where the dialog shows other words. */
export interface Asked extends ChannelQuestion {
  readonly shows: string;
}

type QuestionEvent =
  | { readonly kind: 'asked'; readonly question: Asked }
  | { readonly kind: 'over'; readonly id: string };

export function questionEvent({ type, data }: Entry): QuestionEvent | null {
  const about = record(data);
  const id = text(about.requestId);
  if (id === '') return null;
  if (type === 'permission.completed') return { kind: 'over', id };
  // What a hook decides is never shown.
  if (type !== 'permission.requested' || about.resolvedByHook === true) return null;
  return { kind: 'asked', question: { id, ...wordsOf(record(about.permissionRequest), record(about.promptRequest)) } };
}

function wordsOf(request: Entry, prompt: Entry): Omit<Asked, 'id'> {
  const elsewhere = pathsOf(prompt);
  switch (request.kind) {
    case 'shell': {
      // Complete, in whatever form it comes.
      const command = text(request.fullCommandText) || JSON.stringify(request);
      const asked = { tool: 'Bash', input: { command } };
      if (elsewhere.length === 0) return { ...asked, words: `asks to run: ${command}`, shows: command };
      const paths = elsewhere.join(', ');
      // Two dialogs of one command: this one is about the files, and another about the command may follow.
      const summary = `${command}\n\n(it reaches outside its folder: ${paths})`;
      return { ...asked, summary, words: `asks to reach ${paths} with: ${command}`, shows: String(elsewhere[0]) };
    }
    case 'write': {
      const file = text(request.fileName);
      const summary = text(request.diff).trim();
      const input = { file_path: file, content: text(request.newFileContents) };
      return {
        tool: 'Write',
        input,
        ...(summary !== '' && { summary }),
        words: `asks to change ${file}`,
        shows: file,
      };
    }
    case 'read': {
      const path = text(request.path);
      return { tool: 'Read', input: { file_path: path }, words: `asks to read ${path}`, shows: path };
    }
    case 'url': {
      const url = text(request.url);
      return { tool: 'WebFetch', input: { url }, words: `asks to fetch ${url}`, shows: url };
    }
    case 'mcp': {
      const name = `${text(request.serverName)}__${text(request.toolName)}`;
      return { tool: `mcp__${name}`, input: record(request.args), words: `asks to use ${name}`, shows: '' };
    }
    default: {
      const name = text(request.toolName) || text(request.kind) || 'a tool';
      return { tool: name, input: request, words: `asks to use ${name}`, shows: '' };
    }
  }
}

/** Paths outside its folder that a dialog asks about. */
function pathsOf({ kind, paths }: Entry): readonly string[] {
  return kind === 'path' && Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : [];
}
