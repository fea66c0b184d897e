/**
 * The risk of an action: it observes, it acts, or its effect cannot be undone. An action that nobody classified counts as acting.
 * Pure.
 */
import { type AnyToolset, anyToolsets, memberClasses, membersOf } from '../../contracts/computer-use/members.ts';
import type { PolicyAction } from './policy.ts';

const actionClasses = memberClasses;
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
  // It only asks: the tool itself sees to it that a person always answers.
  request_approval: 'observe',
  'http.get': 'act',
  // Of a program in a sandbox: what it sends is not seen.
  'network.connect': 'act',
  'http.post': 'risky',
};
/** The `shell` toolset of a hosted computer, in which nothing of a person's is. */
export const hostedShell = 'hosted_shell';
/** The browser has already loaded the page: looking at it tells its host nothing. */
const hands: ReadonlyMap<string, ActionClass> = new Map(
  anyToolsets.flatMap((toolset: AnyToolset) => {
    const tool = toolset === 'shell' ? hostedShell : toolset;
    return Object.entries(membersOf[toolset]).map(([name, member]) => [`${tool}.${name}`, member.class] as const);
  }),
);
const families: Readonly<Record<string, ActionClass>> = { shell: 'risky', document: 'observe' };

/** `file.write`, whether the action has it in one field or two. */
export function nameOf({ tool, member }: PolicyAction): string {
  return member === undefined ? tool : `${tool}.${member}`;
}

export function classOf(action: PolicyAction): ActionClass {
  if (action.attached === true) return 'act';
  if (action.credential === true) return 'risky';
  const name = nameOf(action);
  const member = hands.get(name);
  if (member !== undefined) return member;
  const kind = classes[name] ?? families[name.split('.')[0]!] ?? 'act';
  // Every request to a host reveals something: an address can carry a secret out.
  return kind === 'observe' && action.host !== undefined ? 'act' : kind;
}
