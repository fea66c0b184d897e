/** The routes that turn questions into a rule of the workspace's policy. */
import { z } from 'zod';
import { ApprovalId } from '../approvals/approval.ts';
import { defineRoute } from '../common/route.ts';
import { area, base, errors } from './route-parts.ts';

const Shown = {
  path: z.string().meta({ description: 'The file, relative to the workspace.' }),
  line: z.number().int().min(1).meta({ description: 'Where the rule begins.' }),
  rule: z.string().meta({ description: 'The rule, letter for letter as it is written, without its indentation.' }),
  sha256: z.string().meta({ description: 'Hash of the whole file with the rule in it.' }),
} as const;

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'the hash that Gantry returned');

/** Questions of one rule. */
const maxCovered = 1000;

/** Only a person at a signed-in page: no bot, key, program, text or notification widens what runs without asking. */
export const addPolicyRule = defineRoute({
  op: 'addPolicyRule',
  area,
  errors,
  summary: 'Adds a rule that always allows what a bot asked for; only from a signed-in page',
  method: 'POST',
  path: `${base}/policy/rules`,
  auth: ['owner', 'user', 'link'],
  scope: null,
  owner: { none: 'one workspace an engine; a question of another one is unknown here' },
  body: z.strictObject({
    approvalId: ApprovalId,
    also: z
      .array(ApprovalId)
      .min(1)
      .max(maxCovered - 1)
      .optional()
      .meta({ description: 'Further questions that the same rule is to allow; refused if one rule cannot.' }),
    for: z.enum(['bot', 'team', 'workspace']).optional().meta({
      description: 'Whose rule it is: of the bot that asked, of every bot of its team, or of every bot. Default: bot.',
    }),
    sha256: Sha256.optional().meta({
      description: 'From the dry run; refused if the file would be another one by now.',
    }),
    dryRun: z.boolean().optional().meta({ description: 'Returns the rule as it would be written.' }),
  }),
  answers: {
    200: z.union([z.strictObject({ dryRun: z.literal(true), plan: z.strictObject(Shown) }), z.strictObject(Shown)]),
  },
});

/** The way back of `addPolicyRule`. It takes out no rule that a person wrote, and none from a file that has changed since. */
export const removeAddedRule = defineRoute({
  op: 'removeAddedRule',
  area,
  errors,
  summary: 'Removes the rule that was last added from a question; only from a signed-in page',
  method: 'DELETE',
  path: `${base}/policy/rules/last`,
  auth: ['owner', 'user', 'link'],
  scope: null,
  owner: { none: 'one workspace an engine' },
  query: z.strictObject({
    sha256: Sha256.meta({ description: 'From adding it; refused if the file is another one by now.' }),
  }),
  answers: { 200: z.strictObject({ path: Shown.path, removed: Shown.rule }) },
});

export const proposePolicyRules = defineRoute({
  op: 'proposePolicyRules',
  area,
  errors,
  summary: 'Lists rules that each would allow several of the questions that wait; only from a signed-in page',
  method: 'GET',
  path: `${base}/policy/rule-proposals`,
  auth: ['owner', 'user', 'link'],
  scope: null,
  owner: { none: 'one workspace an engine, and only the questions that wait there' },
  answers: {
    200: z.strictObject({
      proposals: z
        .array(
          z.strictObject({
            ...Shown,
            approvalIds: z
              .array(ApprovalId)
              .min(2)
              .max(maxCovered)
              .meta({ description: 'The questions that the rule would allow.' }),
          }),
        )
        .meta({ description: 'The rule for most questions first; no question is in two.' }),
    }),
  },
});
