/**
 * "Always allow this": a person at a signed-in page turns a question of a bot into a rule of the workspace's policy, and can take it back. What is
 * shown first is written letter for letter. Must not know how questions are kept.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { addPolicyRule, proposePolicyRules, removeAddedRule } from '../../contracts/factory/policy-routes.ts';
import { readTextWithin, writeWithin } from '../../kit/files/within.ts';
import { surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bind, type Principal } from '../../kit/http/types.ts';
import { largestPolicyFile, policyFile } from './file.ts';
import { type Asked, addRule, proposeRules, type Reach, removeLastRule } from './new-rule.ts';
import type { PolicyAction } from './policy.ts';

interface PolicyRuleDeps {
  /** Absolute path. */
  readonly workspace: string;
  readonly trust: {
    judge(path: string, text: string | null): { readonly waits: boolean };
    sayYes(
      files: readonly { readonly path: string; readonly text: string }[],
      by: { readonly actor: string; readonly surface: string },
    ): Promise<void>;
  };
  /** What a question asks for; undefined: there is no such question here; null: it is nothing that the policy decides. */
  readonly actionOf: (approvalId: string) => Promise<PolicyAction | null | undefined>;
  /** What the questions that wait here ask for, where the policy decides it. */
  readonly asked: () => Promise<readonly Asked[]>;
}

const byHand = `Answer it each time, or write a rule into ${policyFile} yourself.`;

export function policyRuleRoutes({ workspace, trust, actionOf, asked }: PolicyRuleDeps): BoundRoute[] {
  const path = join(workspace, policyFile);

  async function actionsOf(approvalIds: readonly string[]): Promise<PolicyAction[]> {
    const actions: PolicyAction[] = [];
    for (const id of approvalIds) {
      const action = await actionOf(id);
      if (action === undefined) {
        throw new AppError(
          'not_found',
          `There is no approval ${id} on this computer.`,
          'List them with `gantry workspace approvals`.',
        );
      }
      if (action === null) throw new AppError('refused', 'No rule of the policy decides about this question.', byHand);
      actions.push(action);
    }
    return actions;
  }

  /** The file as it is now, if its rules can be changed here. */
  function readFile(): { readonly text: string | null } | { readonly fact: string; readonly action: string } {
    const found = readTextWithin(workspace, path, largestPolicyFile);
    if (typeof found !== 'string' && found.is === 'unfit') {
      return { fact: `${policyFile} cannot be changed here. ${found.why}`, action: byHand };
    }
    const text = typeof found === 'string' ? found : null;
    if (!trust.judge(path, text).waits) return { text };
    return {
      fact: `${policyFile} has changed since you last agreed to it, so its rules stay as they are.`,
      action: 'Review the change first, with `gantry trust` or in the web interface.',
    };
  }

  async function plan(approvalIds: readonly string[], reach: Reach | undefined) {
    const actions = await actionsOf(approvalIds);
    const found = readFile();
    if ('fact' in found) throw new AppError('refused', found.fact, found.action);
    const added = addRule(found.text, actions as [PolicyAction, ...PolicyAction[]], reach);
    if (!added.ok) throw new AppError('refused', added.why, byHand);
    return { ...added, sha256: hashOf(added.file) };
  }

  async function save(text: string, { userId }: Principal): Promise<void> {
    writeWithin(workspace, policyFile, text);
    await trust.sayYes([{ path, text }], { actor: userId, surface: 'browser' });
  }

  return [
    bind(addPolicyRule, async ({ principal, body }) => {
      demandPage(principal);
      const { rule, line, file, sha256 } = await plan([body.approvalId, ...(body.also ?? [])], body.for);
      const shown = { path: policyFile, line, rule, sha256 };
      if (body.dryRun === true) return { body: { dryRun: true as const, plan: shown } };
      if (body.sha256 !== sha256) {
        throw new AppError('refused', `${policyFile} is not as it was shown.`, 'Look at the rule again.', {
          status: 409,
        });
      }
      await save(file, principal);
      return { body: shown };
    }),
    bind(removeAddedRule, async ({ principal, query }) => {
      demandPage(principal);
      const found = readFile();
      if ('fact' in found) throw new AppError('refused', found.fact, found.action);
      const removed = found.text === null || hashOf(found.text) !== query.sha256 ? null : removeLastRule(found.text);
      if (removed === null) {
        throw new AppError(
          'refused',
          `${policyFile} has changed since the rule was added, so it stays.`,
          `Remove it from ${policyFile} yourself.`,
          { status: 409 },
        );
      }
      await save(removed.file, principal);
      return { body: { path: policyFile, removed: removed.rule } };
    }),
    bind(proposePolicyRules, async ({ principal }) => {
      demandPage(principal);
      const found = readFile();
      const proposals = 'fact' in found ? [] : proposeRules(found.text, await asked());
      return {
        body: {
          proposals: proposals.map(({ rule, line, file, covers }) => ({
            path: policyFile,
            line,
            rule,
            sha256: hashOf(file),
            approvalIds: [...covers],
          })),
        },
      };
    }),
  ];
}

/** A key of the keyboard, a text, a notification or a program must not widen what runs unseen. */
function demandPage(principal: Principal): void {
  if (surfaceOf(principal) === 'browser') return;
  throw new AppError('refused', 'Rules are changed only from a signed-in page.', 'Open Gantry in a browser.');
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
