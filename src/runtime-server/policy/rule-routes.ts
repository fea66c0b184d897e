/**
 * "Always allow this": a person at a signed-in page turns a question of a bot into a rule of the workspace's policy. What is shown first is written
 * letter for letter. Must not know how questions are kept.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { addPolicyRule } from '../../contracts/factory/policy-routes.ts';
import { readTextWithin, writeWithin } from '../../kit/files/within.ts';
import { surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import { largestPolicyFile, policyFile } from './file.ts';
import { addRule } from './new-rule.ts';
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
}

const byHand = `Answer it each time, or write a rule into ${policyFile} yourself.`;

export function policyRuleRoutes({ workspace, trust, actionOf }: PolicyRuleDeps): BoundRoute[] {
  const path = join(workspace, policyFile);

  async function plan(approvalId: string) {
    const action = await actionOf(approvalId);
    if (action === undefined) {
      throw new AppError('not_found', `This computer knows no approval ${approvalId}.`, 'See `gantry approvals`.');
    }
    if (action === null) throw new AppError('refused', 'No rule of the policy decides about this question.', byHand);
    const found = readTextWithin(workspace, path, largestPolicyFile);
    if (typeof found !== 'string' && found.is === 'unfit') {
      throw new AppError('refused', `${policyFile} cannot be added to. ${found.why}`, byHand);
    }
    const text = typeof found === 'string' ? found : null;
    if (trust.judge(path, text).waits) {
      throw new AppError(
        'refused',
        `${policyFile} has changed since you last agreed to it, so nothing is added.`,
        'Review the change first, with `gantry trust` or in the web interface.',
      );
    }
    const added = addRule(text, action);
    if (!added.ok) throw new AppError('refused', added.why, byHand);
    return { ...added, sha256: createHash('sha256').update(added.file).digest('hex') };
  }

  return [
    bind(addPolicyRule, async ({ principal, body }) => {
      // A key of the keyboard, a text, a notification or a program must not widen what runs unseen.
      if (surfaceOf(principal) !== 'browser') {
        throw new AppError('refused', 'A rule is added only from a signed-in page.', 'Open Gantry in a browser.');
      }
      const { rule, line, file, sha256 } = await plan(body.approvalId);
      const shown = { path: policyFile, line, rule, sha256 };
      if (body.dryRun === true) return { body: { dryRun: true as const, plan: shown } };
      if (body.sha256 !== sha256) {
        throw new AppError('refused', `${policyFile} is not as it was shown.`, 'Look at the rule again.', {
          status: 409,
        });
      }
      writeWithin(workspace, policyFile, file);
      await trust.sayYes([{ path, text: file }], { actor: principal.userId, surface: 'browser' });
      return { body: shown };
    }),
  ];
}
