/**
 * The models that can use a computer, and the form of their toolsets: data, and the one function that reads it. A custom address may accept
 * anything, so functions are offered there unless settings say otherwise.
 */
import type { Target } from '../endpoints.ts';
import type { Wire } from '../model.ts';

/** native: the vendor's own toolset; functions: plain functions. */
export const toolsetForms = ['native', 'functions'] as const;
export type ToolsetForm = (typeof toolsetForms)[number];

interface Known {
  readonly wire: Wire;
  /** Only at the vendor itself. */
  readonly host: string;
  readonly models: RegExp;
  /** The default when no model is named and this vendor's key is set. */
  readonly defaultModel: string;
}

/**
 * anthropic: `computer_toolset_20260801`, `browser_toolset_20260801` · openai: `computer` of Responses · google: `computerUse`.
 * Names as the vendors' own SDKs list them in November 2026; older models of theirs are offered functions.
 */
export const known: readonly Known[] = [
  {
    wire: 'anthropic',
    host: 'api.anthropic.com',
    models: /^claude-(opus|sonnet|haiku|fable|mythos)-(4-[6-9]|[5-9])/,
    defaultModel: 'claude-sonnet-5-5',
  },
  { wire: 'openai', host: 'api.openai.com', models: /^gpt-(5\.[4-9]|[6-9])/, defaultModel: 'gpt-5.5' },
  {
    wire: 'google',
    host: 'generativelanguage.googleapis.com',
    models: /^gemini-(2\.5-computer-use|3(\.\d)?-(flash|pro)(?!.*(image|tts|transcribe)))/,
    defaultModel: 'gemini-3.8-flash',
  },
];

/** `computerUse` of settings.json. */
export interface ComputerUseSettings {
  /** Asked where a run names none. */
  readonly model?: string | undefined;
  /** By the model as it is named, or by the name of its vendor or endpoint. */
  readonly toolsets?: Readonly<Record<string, ToolsetForm>> | undefined;
}

/** `name`: as the run or the settings name the model. */
export function toolsetForm(name: string, target: Target, settings: ComputerUseSettings = {}): ToolsetForm {
  const vendor = known.find((one) => one.wire === target.wire);
  const slash = name.indexOf('/');
  const said = settings.toolsets ?? {};
  const keys = [name, target.model, slash < 0 ? (vendor?.wire ?? '') : name.slice(0, slash)];
  const key = keys.find((one) => Object.hasOwn(said, one));
  if (key !== undefined) return said[key] ?? 'functions';
  return vendor?.host === target.where && vendor.models.test(target.model) ? 'native' : 'functions';
}
