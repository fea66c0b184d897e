/**
 * The interface of the policy. It is the only one: gates, tools, the executor, hosted bots and automation all ask it. Each declares `Pick<Policy,
 * 'decide'>` and gets it from the host. Must not know who asks.
 */
import type { SandboxMode } from '../../contracts/factory/team-file.ts';

const policyModes = ['REQUIRE_APPROVAL', 'PLAN_ONLY', 'ACCEPT_EDITS', 'BYPASS_PERMISSIONS'] as const;
export type PolicyMode = (typeof policyModes)[number];

export type Verdict = 'allow' | 'ask' | 'deny';

export interface PolicyAction {
  /** `file`, `shell`, `http`, `system`, `time`, `document`, `computer`, `browser`, an attached server's name, … or `file.write`. */
  readonly tool: string;
  /** `write` of `file`, where `tool` names only the family. */
  readonly member?: string;
  /** Address or slug of the bot that acts; null: a person or the engine. */
  readonly bot: string | null;
  /** Relative to the workspace where it lies in it, else absolute. */
  readonly path?: string;
  readonly host?: string;
  /** Allowed unless a rule says otherwise, because the person's team file names this group of destinations; in words. */
  readonly preset?: string;
  /** The host is no public address: only a rule that names it opens it. */
  readonly privateHost?: true;
  readonly command?: string;
  /** A tool of an attached server, whatever that is called: it acts. */
  readonly attached?: true;
  /** It types into a password or another credential field: that cannot be taken back. */
  readonly credential?: true;
  /** A model chose it, and has not been let onto this site yet. */
  readonly newOrigin?: true;
}

export interface PolicyVerdict {
  readonly verdict: Verdict;
  /** The rule that decided, as text for a person: `.gantry/policy.yaml line 4: no pushes`, `default: actions need approval`. */
  readonly rule: string;
}

export interface PolicyProblem {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

export interface Policy {
  decide(action: PolicyAction, mode: PolicyMode | null): PolicyVerdict;
  /** Current problems of the file; while there are any, none of its rules allows anything. */
  problems(): readonly PolicyProblem[];
  /** What the workspace wants every bot in a terminal to run in. */
  sandbox(): SandboxMode;
}

const strictness: Readonly<Record<Verdict, number>> = { allow: 0, ask: 1, deny: 2 };

/** Of several verdicts about one action: deny over ask over allow, the first among equals. */
export function strictest(verdicts: readonly [PolicyVerdict, ...PolicyVerdict[]]): PolicyVerdict {
  return verdicts.reduce((one, other) => (strictness[other.verdict] > strictness[one.verdict] ? other : one));
}
