/**
 * How much an action can do: it looks, it acts, or what it does cannot be taken back (gaps.md D, "Members are `observe`, `act` or
 * `risky`"). What nobody classified acts. Pure.
 */
import type { PolicyAction } from './policy.ts';

export const actionClasses = ['observe', 'act', 'risky'] as const;
export type ActionClass = (typeof actionClasses)[number];

/** The risk that an approval shows. */
export const riskOf: Readonly<Record<ActionClass, 'low' | 'medium' | 'high'>> = {
  observe: 'low',
  act: 'medium',
  risky: 'high',
};

const classes: Readonly<Record<string, ActionClass>> = {
  'file.read': 'observe',
  'file.list': 'observe',
  'file.exists': 'observe',
  'file.write': 'act',
  'file.remove': 'risky',
  'shell.exec': 'risky',
  'system.info': 'observe',
  'system.env': 'observe',
  'time.now': 'observe',
  'http.get': 'act',
  'http.post': 'risky',
  'computer.screenshot': 'observe',
  'computer.cursor_position': 'observe',
  'computer.zoom': 'observe',
  'browser.screenshot': 'observe',
  'browser.read_page': 'observe',
  'browser.find': 'observe',
};
const families: Readonly<Record<string, ActionClass>> = { shell: 'risky', document: 'observe' };

/** `file.write`, whether the action says it in one word or two. */
export function nameOf({ tool, member }: PolicyAction): string {
  return member === undefined ? tool : `${tool}.${member}`;
}

export function classOf(action: PolicyAction): ActionClass {
  if (action.attached === true) return 'act';
  const name = nameOf(action);
  const kind = classes[name] ?? families[name.split('.')[0]!] ?? 'act';
  // Whatever asks a host tells it something: an address can carry a secret out.
  return kind === 'observe' && action.host !== undefined ? 'act' : kind;
}
