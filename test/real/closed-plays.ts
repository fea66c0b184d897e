/**
 * The programs that `closed.ts` plays: the agents over ACP, and the same programs in terminals, where they differ in little. opencode is not among them,
 * because Gantry drives it through a server in it, which a closed sandbox would hide.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AcpPlay, plays as acpPlays } from './acp-plays.ts';
import { claudeEnv } from './claude-install.ts';
import { plays as panePlays } from './harness-plays.ts';

interface Place {
  readonly home: string;
  readonly work: string;
}

/** The one header in which the program sends its key. */
interface Key {
  readonly variable: string;
  readonly header: string;
  readonly form: 'raw' | 'bearer';
}

interface ClosedPlay extends Pick<AcpPlay, 'package' | 'version' | 'program' | 'tools'> {
  readonly name: string;
  readonly megabytes?: number;
  readonly afterInstall?: string;
  /** Its lines of a bot in a team file. */
  readonly bot: string;
  readonly key: Key;
  /** Its other variables. */
  readonly env: (model: { readonly url: string }) => Readonly<Record<string, string>>;
  readonly furnish: (place: Place, model: { readonly url: string }) => void;
  /** Where its own question is answered: by its approval, or by Enter in its pane. */
  readonly answered: 'inbox' | 'pane';
}

const keys: Readonly<Record<string, Key>> = {
  gemini: { variable: 'GEMINI_API_KEY', header: 'x-goog-api-key', form: 'raw' },
  qwen: { variable: 'OPENAI_API_KEY', header: 'authorization', form: 'bearer' },
  claude: { variable: 'ANTHROPIC_API_KEY', header: 'x-api-key', form: 'raw' },
  codex: { variable: 'SCRIPTED_KEY', header: 'authorization', form: 'bearer' },
  copilot: { variable: 'COPILOT_PROVIDER_API_KEY', header: 'authorization', form: 'bearer' },
};

function keyOf(agent: string): Key {
  const key = keys[agent];
  if (key === undefined) throw new Error(`It is not known where ${agent} sends its key.`);
  return key;
}

/** As a person left it after the first start, so that the scene is about its work. */
const trusting: Readonly<Record<string, (place: Place) => void>> = {
  claude({ home, work }) {
    const projects = { [work]: { hasTrustDialogAccepted: true } };
    writeFileSync(
      join(home, '.claude.json'),
      JSON.stringify({ hasCompletedOnboarding: true, theme: 'dark', projects }),
    );
  },
  copilot({ home, work }) {
    mkdirSync(join(home, '.copilot'));
    writeFileSync(join(home, '.copilot', 'config.json'), JSON.stringify({ trustedFolders: [work] }));
  },
  gemini({ home, work }) {
    writeFileSync(join(home, '.gemini', 'trustedFolders.json'), JSON.stringify({ [work]: 'TRUST_FOLDER' }));
  },
};

const overAcp = acpPlays.map(
  ({ agent, setUp, ...play }): ClosedPlay => ({
    ...play,
    name: `acp-${agent}`,
    bot: `harness: acp, command: ${agent}`,
    key: keyOf(agent),
    furnish: (place, model) => setUp?.({ ...place, model }),
    answered: 'inbox',
  }),
);

const inPanes = panePlays.flatMap(({ harness, version, megabytes, afterInstall, package: name }): ClosedPlay[] => {
  const likeAcp = acpPlays.find(({ agent }) => agent === harness);
  if (likeAcp === undefined) return [];
  const { tools, setUp, env } = likeAcp;
  return [
    {
      ...{ tools, version, megabytes, package: name, program: harness, name: harness },
      ...(afterInstall === undefined ? {} : { afterInstall }),
      bot: `harness: ${harness}`,
      // A key in its own variable it would ask about at its first start.
      key:
        harness === 'claude'
          ? { variable: 'ANTHROPIC_AUTH_TOKEN', header: 'authorization', form: 'bearer' }
          : keyOf(harness),
      env: harness === 'claude' ? ({ url }) => claudeEnv(url) : env,
      furnish(place, model) {
        setUp?.({ ...place, model });
        trusting[harness]?.(place);
      },
      answered: harness === 'gemini' ? 'pane' : 'inbox',
    },
  ];
});

export const plays: readonly ClosedPlay[] = [...inPanes, ...overAcp];
