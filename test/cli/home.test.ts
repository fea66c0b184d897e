/** `gantry` alone, `gantry open <thing>` and completion: what a person types first. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { agent, run, scratchHome, startEngine } from './support.ts';

const campaign = {
  id: 'campaign_1',
  projectId: null,
  title: 'Shop',
  intent: 'Ship',
  status: 'active',
  proven: 0,
  total: 1,
  needsYou: 0,
};
const board = {
  campaign,
  summary: { proven: { k: 0, n: 1 }, needsYou: [], now: [], next: [] },
  runs: [
    { dagId: 'dag_1', title: 'Add a search field', status: 'failed' },
    { dagId: 'dag_2', title: 'Went well', status: 'done' },
  ],
  waves: [],
};

test('gantry alone shows the bots and runs that need a person, and the command to go on with', async () => {
  const engine = await startEngine({
    agents: [agent('web', { state: 'needs_you', stateReason: 'asks: may I push?' }), agent('idle')],
    answers: {
      listCampaigns: () => ({ campaigns: [campaign] }),
      getBoard: () => board,
      listApprovals: () => ({ approvals: [] }),
    },
  });
  const shown = await run(engine.env, []);
  expect(shown).toMatchObject({ code: 0, err: '' });
  expect(shown.out).toContain('1 bot waiting for you');
  expect(shown.out).toContain('may I push?');
  expect(shown.out).toMatch(
    /1 run stopped\n {2}RUN +STATUS +TITLE\n {2}dag_1 +failed +Add a search field\n {2}See why: .*gantry why dag_1/,
  );
  expect(shown.out).not.toContain('Went well');
  expect((await run(engine.env, ['--json'])).json()).toMatchObject({
    running: true,
    bots: [{ slug: 'web' }],
    runs: [{ dagId: 'dag_1' }],
  });
});

test('gantry alone says how to start where nothing runs', async () => {
  const shown = await run({ GANTRY_HOME: scratchHome().home }, []);
  expect(shown).toMatchObject({ code: 0, err: '' });
  expect(shown.out).toMatch(/^Gantry is not running for .*\nStart it: .*\nAll commands: .* --help\n$/);
});

test('help shows the commands in groups', async () => {
  const { out } = await run({}, ['--help']);
  expect(out.indexOf('Every day:')).toBeGreaterThan(0);
  expect(out.indexOf('Every day:')).toBeLessThan(out.indexOf('Start and stop:'));
  expect(out).not.toContain('Other commands:');
});

const templates = { templates: [], invalid: [] };

test('names for completion are those of this Gantry, and never words that a shell would expand', async () => {
  const teams = { teams: [], invalid: [], note: null };
  const engine = await startEngine({
    agents: [agent('web'), agent('evil', { address: '$(touch /tmp/x)@demo' }), agent('flag', { address: '--all' })],
    answers: { listTeams: () => teams, listTemplates: () => templates },
  });
  expect((await run(engine.env, ['completion', '--names', 'bots'])).out).toBe('web@demo\n');
  const { home } = scratchHome();
  expect((await run({ GANTRY_HOME: home }, ['completion', '--names', 'bots'])).out).toBe('');
  expect((await run({ GANTRY_HOME: home }, ['completion', '--names', 'shells'])).out).toBe('bash\nzsh\nfish\n');
});

test('the bash script completes commands, options and names', async () => {
  const { out: script } = await run({}, ['completion', 'bash']);
  const complete = (line: string) => {
    const words = line.split(' ');
    const ask = `command() { shift 2; echo "named-$2"; }\n${script}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _gantry; echo "\${COMPREPLY[*]}"`;
    return spawnSync('bash', ['-c', ask], { encoding: 'utf8' }).stdout.trim().split(' ');
  };
  expect(complete('gantry ag')).toEqual(['agents']);
  expect(complete('gantry agents at')).toEqual(['attach']);
  expect(complete('gantry agents attach --w')).toEqual(['--watch']);
  expect(complete('gantry agents attach n')).toEqual(['named-bots']);
  expect(complete('gantry workflows run x --team n')).toEqual(['named-teams']);
  expect(complete('gantry open n')).toEqual(['named-things']);
  expect(complete('gantry wait n')).toEqual(['named-subjects']);
  expect(complete('gantry completion n')).toEqual(['named-shells']);
  expect(complete('gantry stop --a')).toEqual(['--all']);
});

test('the fish script names every command with its description', async () => {
  const { out: script } = await run({}, ['completion', 'fish']);
  expect(script).toContain(
    "complete -c gantry -f -n __fish_use_subcommand -a agents -d 'List, inspect and control bots'",
  );
  expect(script).toContain("-a '(__gantry_names bots)'");
  for (const line of script.split('\n').filter((one) => one.startsWith('complete '))) {
    expect(line.replaceAll(/\\./g, '').split("'").length % 2, line).toBe(1);
  }
});
